/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_PARTS_H
#define QUERY_EXPLAIN_PARTS_H

#include "query/explain/explain.h"

/*
 * Sums up a path to parts of an explanation, which are below one of its parts (its place, and 1; 0:
 * below none). 0 or -ENOMEM.
 */
int explain_sum_up(struct explainer *e, const struct critical_path *path, uint32_t below,
		   struct explanation *x);

/* Puts the parts of each part in order, once all of them are there. 0 or -ENOMEM. */
int explain_link_parts(struct explanation *x);

/* That a thread ran on a CPU while the one of a part was ready to. */
struct explain_beside {
	uint32_t part, thread;
	uint64_t ns;
};

struct explain_besides {
	struct explain_beside *at;
	size_t count, room;
};

/* Counts a time in the run queue for explain_is_throttled(). */
void explain_throttle_add(struct explain_part *part, uint64_t start, uint64_t end);

/*
 * The goroutines of the same process that ran while one was ready to in [from, to), which is not
 * short. 0 or -ENOMEM.
 */
int explain_behind_lane(struct explainer *e, uint32_t lane, uint64_t from, uint64_t to,
			struct explain_besides *besides, uint32_t part);

/* The threads that ran on the CPU for which one waited in [from, to). 0 or -ENOMEM. */
int explain_behind(struct explainer *e, uint32_t cpu, uint64_t from, uint64_t to,
		   struct explain_besides *besides, uint32_t part);

#endif
