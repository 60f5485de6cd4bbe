/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_UNLINKED_H
#define QUERY_UNLINKED_H

#include "film/task_kinds.h"
#include "query/slices.h"

/*
 * Detects processes whose tasks share threads and have no lanes of their own: the lane of such a
 * thread shows what all of its tasks did, not which of them did it. They are detected by a function
 * on a thread's stack, or by a thread name that their runtime sets, which the film has the roles
 * of; a process without either in the slices is not detected.
 */
struct unlinked {
	uint8_t *of_stack, *of_process; /* sets of enum film_task_kind */
};

/* Returns 0 or -ENOMEM; call unlinked_free() in both cases. */
int unlinked_begin(const struct film *film, struct unlinked *unlinked);
void unlinked_free(struct unlinked *unlinked);

/* The set of kinds that a slice shows. */
static inline uint8_t unlinked_of(const struct unlinked *unlinked, const struct slice *slice)
{
	return unlinked->of_stack[slice->evidence.stack];
}

void unlinked_take(struct unlinked *unlinked, const struct film *film, const struct slice *slice);

/* The set of kinds that have lanes in the film. */
uint8_t unlinked_lanes(const struct film *film);

#endif
