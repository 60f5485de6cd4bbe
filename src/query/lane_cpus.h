/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_LANE_CPUS_H
#define QUERY_LANE_CPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"

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

#endif
