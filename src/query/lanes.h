/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_LANES_H
#define QUERY_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/map.h"
#include "base/vec.h"
#include "query/device_works.h"
#include "query/filter.h"
#include "query/latency.h"
#include "query/names.h"
#include "query/slices.h"
#include "query/unlinked.h"

/*
 * A lane for drawing. A slice of at least a pixel is an exact run. Shorter slices that follow each
 * other are merged into runs of at most a pixel, which have their number and the kind with the most
 * time; none is dropped, and there are at most about two runs per pixel.
 */
struct lane_run {
	uint64_t start, end;
	uint64_t dominant; /* ns of kind in the run; for one slice its length */
	uint32_t count;	   /* number of slices */
	uint8_t kind;	   /* enum slice_kind */
};

/* All zero is empty. */
struct lane_runs {
	vec(struct lane_run) all;
	/* the run that may still get slices, and its ns by kind */
	struct lane_run open;
	uint64_t *spent;
};

/* Adds a slice that begins at the end of the last one or later. False: no memory. */
bool lane_runs_add(struct lane_runs *runs, uint64_t pixel, uint64_t start, uint64_t end,
		   uint8_t kind);
/* Closes the open run; call it after the last slice. False: no memory. */
bool lane_runs_end(struct lane_runs *runs);
void lane_runs_free(struct lane_runs *runs);

/*
 * The threads that ran on each CPU, for drawing. A stay of a thread on a CPU of at least a pixel is
 * an exact run. Shorter stays that begin in the same pixel are merged into one run, which has their
 * number and the thread with the most time; none is dropped. Between runs the CPU was idle, or ran
 * something that was not recorded.
 */
struct cpu_run {
	uint64_t start, end;
	uint64_t dominant; /* ns of thread in the run; for one stay its length */
	uint32_t cpu;
	uint32_t thread; /* index of a lane */
	uint32_t count;	 /* number of stays */
};

enum {
	LANE_CPUS_RUNS_MAX = 1 << 20, /* including shares of threads in pixels */
	LANE_CPUS_PIXELS_MAX = 1 << 14,
};

/* All zero is empty. Set from and pixel first. */
struct lane_cpus {
	uint64_t from, pixel; /* ns; pixel 0: not wanted */
	vec(struct cpu_run) runs;
	bool is_cut; /* there was no room for all runs */

	/* while stays are added: the time of each thread in each pixel with short stays */
	vec(struct cpu_run) shares;
	struct map known;
};

/* Adds a stay of a lane's thread, in any order. False: no memory. */
bool lane_cpus_add(struct lane_cpus *cpus, uint32_t cpu, uint32_t thread, uint64_t start,
		   uint64_t end);
/* Builds the runs, sorted by CPU, then time. */
bool lane_cpus_end(struct lane_cpus *cpus);
void lane_cpus_free(struct lane_cpus *cpus);

/*
 * Lanes: one per thread or goroutine, with its slices, from one film or from consecutive films. A
 * lane is identified by host, pid and tid, so a thread that reuses both numbers continues in the
 * same lane. Times are ns since 1970.
 */
struct lane {
	const char *host, *comm, *process, *command;
	const char *service; /* of the process; "": not asked for */
	uint32_t pid, tid;   /* tid: for a goroutine the low bits of its number */
	bool is_goroutine;
	const char *kind;     /* "thread", "goroutine", "task" */
	uint8_t unlinked;     /* the process's set of enum film_task_kind */
	uint64_t first, last; /* start of its first slice, end of its last one */
	uint64_t ns[SLICE_KINDS];
	uint64_t slices[SLICE_KINDS];
	struct lane_runs runs;
};

struct lane_id {
	uint32_t pid, tid;
	bool is_goroutine;
};

/* The sums of one kind of slice over all lanes. */
struct lane_state {
	uint64_t count, sum, longest;
	struct latency lengths;
};

enum {
	LANES_MAX = 1 << 17,
	LANE_SERVICE_SIZE = 256,
	LANES_STEPS_MAX = 2000, /* steps of the load */
	LANES_RUNS_MAX = 1 << 22,
};

struct lanes {
	/* the request; set it before lanes_add() */
	uint64_t pixel;		  /* ns per pixel of the runs; 0: no runs */
	bool wants_states;	  /* fill states below */
	const struct lane_id *of; /* only these lanes; null: all */
	size_t of_count;
	/* writes a process's service, at most LANE_SERVICE_SIZE bytes with its 0; may be null */
	void (*service_of)(void *context, const struct film_process *process, char *service);
	void *context;
	uint64_t from, to; /* range of the load */
	size_t steps;	   /* number of its steps; 0: no load */

	vec(struct lane) all;
	struct lane_state states[SLICE_KINDS];
	/* by step: ns of all lanes on a CPU, and in the run queue */
	uint64_t *running, *ready;
	uint64_t step;	       /* ns */
	struct lane_cpus cpus; /* if wanted, set its pixel before lanes_add() */
	uint64_t slices;       /* of all lanes */
	uint64_t run_count;    /* so far */
	bool is_cut;	       /* there was no room for all lanes */
	bool are_runs_cut;     /* there was no room for all runs */

	struct map known;
	struct name_pool names;
};

/*
 * Adds the slices of an event of turns in [from, to), by the film's clock, for threads that the
 * filter keeps. Returns 0 or a negative errno with *why filled; -EINVAL: the filter selects stacks.
 */
int lanes_add(struct lanes *lanes, struct film *film, uint32_t event, const char *host,
	      const struct filter *filter, uint64_t from, uint64_t to, struct fail *why);

/* Closes all runs and sorts those of each lane by time. Returns 0 or -ENOMEM. */
int lanes_end(struct lanes *lanes);
void lanes_free(struct lanes *lanes);

/*
 * All lanes, grouped by process: processes and the threads in them are sorted by time on CPUs,
 * longest first. The caller frees the array. Null: no memory.
 */
const struct lane **lanes_in_order(const struct lanes *lanes);

/* A slice with its evidence, if found. */
struct lane_slice {
	struct slice slice;
	struct slice_evidence evidence;
	struct device_share works[DEVICE_SHARES]; /* that it waited for */
	bool is_found;
};

/*
 * Finds the slice of a thread at a time of the film's clock, with its whole length, as far as the
 * film has it. *found says whether there is one. Returns 0 or a negative errno with *why filled.
 */
int lanes_slice_at(struct film *film, uint32_t event, const struct lane_id *lane, uint64_t at,
		   struct lane_slice *found, struct fail *why);

#endif
