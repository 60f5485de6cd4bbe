/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_LANE_CPUS_H
#define QUERY_LANE_CPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"

/*
 * The threads that ran on each CPU, as they are drawn. A stay of a thread on a CPU that lasts a
 * pixel or more is a run of its own, exactly as it is. Shorter ones that begin in the same pixel
 * become one run, which counts them and has the thread that spent most time in it; so none is
 * dropped. Between runs the CPU was idle, or ran what was not filmed.
 */
struct cpu_run {
	uint64_t start, end;
	uint64_t dominant; /* ns of thread; of one stay, its length */
	uint32_t cpu;
	uint32_t thread; /* index of a lane */
	uint32_t count;	 /* of stays */
};

enum {
	LANE_CPUS_RUNS_MAX = 1 << 20, /* shares of threads in pixels included */
	LANE_CPUS_PIXELS_MAX = 1 << 14,
};

/* All zero is empty: set from and pixel first. */
struct lane_cpus {
	uint64_t from, pixel; /* ns; pixel 0: none are wanted */
	vec(struct cpu_run) runs;
	bool is_cut; /* there was no room for all */

	/* while stays are added: of each thread in each pixel where its stays are short */
	vec(struct cpu_run) shares;
	struct map known;
};

/* Adds a stay of a lane's thread; in any order. False: no memory. */
bool lane_cpus_add(struct lane_cpus *cpus, uint32_t cpu, uint32_t thread, uint64_t start,
		   uint64_t end);
/* Makes runs of all, those of each CPU in the order of time, one CPU behind the other. */
bool lane_cpus_end(struct lane_cpus *cpus);
void lane_cpus_free(struct lane_cpus *cpus);

#endif
