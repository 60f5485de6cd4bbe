/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_LANES_H
#define QUERY_EXPLAIN_LANES_H

#include "base/map.h"
#include "base/vec.h"
#include "query/explain/explain.h"

/*
 * What the goroutines of a film waited for: an explanation follows threads of the kernel, and
 * those say no more of a goroutine's wait than that Go's scheduler had no work. Waits for new
 * work are an event of their own, and not here.
 */
struct lane_wait {
	uint32_t process;
	/* of the longest: its stack, and that of what ended it; 0: not known */
	uint32_t stack, waker_stack;
	uint8_t class; /* enum wait_class */
	uint64_t total, count, longest;
};

struct explain_lanes {
	/*
	 * By process, class, and the program's own functions that waited and that ended it. First
	 * those that another goroutine ended, or ought to, most first; then sleep and the network.
	 */
	vec(struct lane_wait) all;
	struct map of_key;
};

/*
 * Reads the waits of goroutines that ended in the explainer's time, of the threads that a filter
 * keeps: none where the film has no such event. 0 or a negative errno with *why filled;
 * explain_lanes_free() is needed in either case.
 */
int explain_lanes_load(struct explain_lanes *lanes, struct explainer *e,
		       const struct filter *filter, struct fail *why);
void explain_lanes_free(struct explain_lanes *lanes);

/*
 * What a goroutine waited for: "sync.Mutex", of the function of package sync in its stack; else the
 * name of its class.
 */
void lane_wait_text(const struct film *film, enum wait_class class, uint32_t stack, char *words,
		    size_t size);

#endif
