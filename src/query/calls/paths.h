/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_CALLS_PATHS_H
#define QUERY_CALLS_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"

/*
 * Calls merged by the way that leads to them: a tree of functions by who called them, with the sums
 * of the calls. at[0] is unused, so that a path's number can be the id of a stack; parents come
 * before their children. The outermost nodes are roots, one per group (a process or a thread); they
 * stand for no call.
 */
struct call_path {
	uint32_t parent; /* 0: it is a root */
	uint32_t frame; /* of the film, or beyond its frames: enum call_mark; of a root its group */
	uint32_t last;	/* the child that was asked for last; 0: it has none … */
	uint32_t last_frame;	      /* … and its frame */
	uint8_t is_focus, is_ignored; /* it, or one that leads to it, matches what is asked for */
	bool is_kept;		      /* it counts */
	bool is_guess;		      /* it has calls whose end was not seen */
	bool is_bound; /* more was to be subtracted than it took: its 0 ns of self are a bound */
	uint64_t calls;
	uint64_t raw;	 /* ns, as measured */
	uint64_t waited; /* of raw: on no CPU */
	/*
	 * without the tracer's cost, once call_paths_sum() was called: total is self and its
	 * children
	 */
	uint64_t total, self;
};

/* Frames that no film has: calls that must have been there. */
enum call_mark {
	CALL_MARK_LOST,	    /* records of that thread were lost */
	CALL_MARK_NOT_KEPT, /* its record was not wanted, or lies beyond what the film holds */
	/* not known: which of the calls around it was still open, and has made it */
	CALL_MARK_UNKNOWN,
	CALL_MARKS
};

extern const char *const call_mark_names[CALL_MARKS];

/*
 * Paths that can be told apart. A call that would need one more gets no node: its time is its
 * caller's, and it is counted. The last of them are for what has no caller.
 */
enum {
	CALL_PATHS_MAX = 1 << 20,
	CALL_PATHS_RESERVED = 1 << 16
};

struct call_paths {
	vec(struct call_path) all;
	struct map child_of; /* by parent and frame */
	uint32_t max;	     /* CALL_PATHS_MAX, less in tests */
};

/* Returns 0 or -ENOMEM. */
int call_paths_init(struct call_paths *paths);
void call_paths_free(struct call_paths *paths);

/* A new root; 0: no memory. */
uint32_t call_paths_root(struct call_paths *paths, uint32_t group);

/*
 * The child of that frame, made if it is not there: then *is_new, and its is_focus and is_ignored
 * are its parent's. 0: no memory, or with *is_full there is no room.
 */
uint32_t call_paths_child(struct call_paths *paths, uint32_t parent, uint32_t frame, bool *is_new,
			  bool *is_full);

/* ns that each call of a frame takes of its own duration, and of its callers'. */
struct call_cost {
	uint32_t own, outer;
	uint32_t error; /* to which these are known */
};

/*
 * Fills total and self: what was measured, less the cost of the call and of those below it, and at
 * least what those below it have. costs: per frame; null: nothing is subtracted. Returns 0 or
 * -ENOMEM.
 */
int call_paths_sum(struct call_paths *paths, const struct call_cost *costs, uint32_t frame_count);

/*
 * Walks all paths but the roots depth first: enter() before those below one, leave() behind them.
 * Returns 0 or -ENOMEM.
 */
int call_paths_walk(const struct call_paths *paths, void (*enter)(void *context, uint32_t path),
		    void (*leave)(void *context, uint32_t path), void *context);

#endif
