/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_UNLINKED_H
#define QUERY_UNLINKED_H

#include "query/slices.h"

/*
 * Which processes run tasks that share threads, and that have no lanes of their own: the lane of
 * such a thread has what all of them did, and does not say for which. They are known by a function
 * on the stack of a thread, or by the name that their runtime gives a thread; a process without
 * either in the slices that are looked at is not known as one.
 */
enum unlinked_kind {
	UNLINKED_ASYNCIO,
	UNLINKED_NODE,
	UNLINKED_JAVA,
	UNLINKED_TOKIO,
	UNLINKED_GO,
	UNLINKED_KINDS
};

struct unlinked {
	uint8_t *of_stack, *of_process; /* a bit of each kind */
};

/* Returns 0 or -ENOMEM; unlinked_free() is needed in either case. */
int unlinked_begin(const struct film *film, struct unlinked *unlinked);
void unlinked_free(struct unlinked *unlinked);

/* The kinds, a bit each, that a slice shows. */
static inline uint8_t unlinked_of(const struct unlinked *unlinked, const struct slice *slice)
{
	return unlinked->of_stack[slice->evidence.stack];
}

void unlinked_take(struct unlinked *unlinked, const struct film *film, const struct slice *slice);

/* "tasks of asyncio", "virtual threads of Java" */
const char *unlinked_name(enum unlinked_kind kind);

/* The kinds, a bit each, that have lanes in the film. */
uint8_t unlinked_lanes(const struct film *film);

/* The event that records lanes of them, "go-lanes"; null: none does. */
const char *unlinked_event(enum unlinked_kind kind);

#endif
