/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_MACHINE_H
#define QUERY_MACHINE_H

#include "base/fail.h"
#include "base/map.h"
#include "film/reader.h"
#include "query/names.h"

/*
 * The gauges of machines (film/gauges.h), from one film or from consecutive films, each in steps of
 * time. Times are ns since 1970.
 */
struct machine_gauge {
	const struct gauge_type *type;
	unsigned int kind;	   /* enum film_gauge_kind */
	const char *host, *object; /* object "": all objects */
	const char *comm;	   /* thread that caused it; null: no thread */
	uint32_t pid, tid;	   /* of that thread */
	uint64_t rows;
	uint64_t covered; /* ns that have data */
	uint64_t total;	  /* for a flow; 0 for a level */
	uint64_t count, time, longest;
	/* rates per second of a flow, or values of a level */
	double least, most, last, average;
	/* by step: the sum of a flow; for a level the sum of value times ns */
	double *sums;
	double *spans; /* by step: ns that have data */
};

struct machine {
	/* the request; set it before machine_add() */
	uint64_t from, to;
	size_t steps; /* at most MACHINE_STEPS_MAX; 0: no steps */

	uint64_t step; /* ns */
	vec(struct machine_gauge) all;
	vec(const char *) notes; /* sentences on what is not known, without duplicates */
	bool is_cut;		 /* there was no room for all gauges */
	struct map known;
	struct name_pool names;
};

enum {
	MACHINE_STEPS_MAX = 4000,
	MACHINE_GAUGES_MAX = 4096,
};

/* The id of the film's event of gauges; 0: none. */
uint32_t machine_event(const struct film *film);

/* Adds the gauges of a film. Returns 0 or a negative errno with *why filled. */
int machine_add(struct machine *machine, struct film *film, const char *host, struct fail *why);

/*
 * Call it once after the last machine_add(). Computes averages; adds the disks' activity for
 * unknown threads, so that the threads of a disk add up to its total; and sorts by kind and object,
 * then by the threads' totals, largest first.
 */
void machine_end(struct machine *machine);
void machine_free(struct machine *machine);

/*
 * The value of a step: the average of a level, or the rate per second of a flow. False: no data for
 * that time.
 */
bool machine_step(const struct machine_gauge *gauge, size_t step, double *value);

#endif
