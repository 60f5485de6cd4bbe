/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_WHEN_H
#define QUERY_WHEN_H

#include <stdint.h>

#include "base/fail.h"
#include "film/film.h"

/* A point in time as a person gives it: since the film's start, or on the clock on the wall. */
struct when {
	enum {
		WHEN_OPEN,
		WHEN_SINCE_START,
		WHEN_OF_DAY,
		WHEN_DATE
	} kind;
	uint64_t ns;	  /* since the film's start, midnight (local time of the reader), or 1970 */
	const char *text; /* as it was given; null while open */
};

/*
 * Takes "2.5", "2.5s", "1500ms", "14:32", "14:32:08.5", and RFC 3339: "2026-11-21T14:32:08Z";
 * without its offset that is local time. text must outlive when. Returns 0 or -EINVAL with *why
 * filled, which says what is taken.
 */
int when_parse(const char *text, struct when *when, struct fail *why);

/*
 * That time on the film's monotonic clock, as far as it has numbers for it; open: what WHEN_OPEN
 * is.
 */
uint64_t when_resolve(const struct when *when, const struct film_info *info, uint64_t open);

#endif
