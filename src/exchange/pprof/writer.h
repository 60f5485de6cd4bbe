/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXCHANGE_PPROF_WRITER_H
#define EXCHANGE_PPROF_WRITER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "exchange/gather.h"
#include "query/diff.h"
#include "query/flame.h"
#include "query/report.h"

/*
 * Profiles in the format of pprof, a profile.proto packed by gzip. Each function returns 0 or
 * -ENOMEM; a caller that closes the stream sees whether writing failed. Names from films are made
 * harmless here.
 */

/* The samples of a report, which must have been made by thread. */
int pprof_write_report(const struct report *report, FILE *out);

/*
 * A comparison as "go tool pprof -diff_base" has it: the values of the film before are negative,
 * and scaled to the total of the later one.
 */
int pprof_write_diff(const struct diff *diff, FILE *out);

/* What a profile says of itself beside its samples. */
struct pprof_about {
	uint64_t from, duration; /* ns since 1970, ns */
	char *const *comments;	 /* for readers: what is missing, for example */
	size_t comment_count;
};

/* A flame, or a comparison of two, of any source. */
int pprof_write_flame(const struct flame *flame, const struct pprof_about *about, FILE *out);

/* A part of what was summed up of a film. */
int pprof_write_gathered(const struct gathered *gathered, const struct gathered_part *part,
			 FILE *out);

#endif
