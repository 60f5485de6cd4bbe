/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_LANES_H
#define QUERY_LANES_H

#include "base/fail.h"
#include "base/map.h"
#include "query/filter.h"
#include "query/lane_cpus.h"
#include "query/lane_runs.h"
#include "query/latency.h"
#include "query/names.h"
#include "query/unlinked.h"

/*
 * Lanes: a thread or a goroutine each, with its slices, of one film or of several that follow each
 * other. A lane is known by its host and the numbers of its process and its thread: a thread that
 * has both numbers of an earlier one goes on in its lane. Times are ns since 1970.
 */
struct lane {
	const char *host, *comm, *process, *command;
	uint32_t pid, tid; /* of a goroutine: the lowest bits of its number */
	bool is_goroutine;
	const char *kind;     /* "thread", "goroutine", "task" */
	uint8_t unlinked;     /* a bit of each enum unlinked_kind of its process */
	uint64_t first, last; /* of its first slice, and the end of its last one */
	uint64_t ns[SLICE_KINDS];
	uint64_t slices[SLICE_KINDS];
	struct lane_runs runs;
};

struct lane_id {
	uint32_t pid, tid;
	bool is_goroutine;
};

/* Of one kind, over all lanes. */
struct lane_state {
	uint64_t count, sum, longest;
	struct latency lengths;
};

enum {
	LANES_MAX = 1 << 17,
	LANES_STEPS_MAX = 2000, /* of the load */
	LANES_RUNS_MAX = 1 << 22,
};

struct lanes {
	/* what is wanted; set before lanes_add() */
	uint64_t pixel;		  /* ns, of the runs; 0: no runs */
	bool wants_states;	  /* below */
	const struct lane_id *of; /* those lanes alone; null: all */
	size_t of_count;
	uint64_t from, to; /* of the load, */
	size_t steps;	   /* and its steps; 0: none */

	vec(struct lane) all;
	struct lane_state states[SLICE_KINDS];
	/* by step: ns of all lanes on a CPU, and in the run queue */
	uint64_t *running, *ready;
	uint64_t step;	       /* ns */
	struct lane_cpus cpus; /* its pixel is set before lanes_add(), where they are wanted */
	uint64_t slices;       /* of all lanes */
	uint64_t run_count;    /* so far */
	bool is_cut;	       /* there was no room for all lanes, */
	bool are_runs_cut;     /* or for all runs */

	struct map known;
	struct name_pool names;
};

/*
 * Adds the slices of an event of turns in [from, to), both of the film's clock, of threads that the
 * filter keeps. Returns 0 or a negative errno with *why filled; -EINVAL: it chooses by stacks.
 */
int lanes_add(struct lanes *lanes, struct film *film, uint32_t event, const char *host,
	      const struct filter *filter, uint64_t from, uint64_t to, struct fail *why);

/* Ends all runs and brings those of each lane into the order of time. 0 or -ENOMEM. */
int lanes_end(struct lanes *lanes);
void lanes_free(struct lanes *lanes);

/*
 * All lanes, a process beside the other: the one whose threads ran longest first, and of each the
 * thread that did. To be freed; null: no memory.
 */
const struct lane **lanes_in_order(const struct lanes *lanes);

/* A slice, and what shows why it was what it was. */
struct lane_slice {
	struct slice slice; /* its times are of the film's clock */
	bool is_found;
};

/*
 * The slice of a thread at a moment of the film's clock, with its whole length, as far as the film
 * has it. Not found: the film has no slice there.
 */
int lanes_slice_at(struct film *film, uint32_t event, const struct lane_id *lane, uint64_t at,
		   struct lane_slice *found, struct fail *why);

#endif
