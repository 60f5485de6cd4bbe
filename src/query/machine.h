/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_MACHINE_H
#define QUERY_MACHINE_H

#include "base/fail.h"
#include "base/map.h"
#include "film/reader.h"
#include "query/names.h"

/*
 * What machines did beside their threads (film/gauges.h), of one film or of several that follow
 * each other: each gauge in steps of time. Times are ns since 1970.
 */
struct machine_gauge {
	const struct gauge_type *type;
	unsigned int kind;	   /* enum film_gauge_kind */
	const char *host, *object; /* object "": of all */
	const char *comm;	   /* of the thread that did it; null: it is of no thread */
	uint32_t pid, tid;	   /* of that */
	uint64_t rows;
	uint64_t covered; /* ns of which something is known */
	uint64_t total;	  /* of what flows; of a level 0 */
	uint64_t count, time, longest;
	/* per second of what flows: the least, the most and the last; of a level itself */
	double least, most, last, average;
	/*
	 * by step: the sum of what flows, and of a level of its values times the ns that they
	 * were so
	 */
	double *sums;
	double *spans; /* by step: ns of which something is known */
};

struct machine {
	/* what is wanted; set before machine_add() */
	uint64_t from, to;
	size_t steps; /* at most MACHINE_STEPS_MAX; 0: none */

	uint64_t step; /* ns */
	vec(struct machine_gauge) all;
	vec(const char *) notes; /* sentences on what is not known, each once */
	bool is_cut;		 /* there was no room for all gauges */
	struct map known;
	struct name_pool names;
};

enum {
	MACHINE_STEPS_MAX = 4000,
	MACHINE_GAUGES_MAX = 4096,
};

/* The film's event of the machine; 0: there is none. */
uint32_t machine_event(const struct film *film);

/* Adds what a film has. 0 or a negative errno with *why filled. */
int machine_add(struct machine *machine, struct film *film, const char *host, struct fail *why);

/*
 * Afterwards, once: averages; what disks did for threads that are not known, so that those of a
 * disk add up to it; and the order: by kind and object, then by thread, the one that did most
 * first.
 */
void machine_end(struct machine *machine);
void machine_free(struct machine *machine);

/*
 * The value of a step: of a level its average, else how much a second. False: nothing is known of
 * that time.
 */
bool machine_step(const struct machine_gauge *gauge, size_t step, double *value);

#endif
