/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_UNLINKED_H
#define QUERY_UNLINKED_H

#include "film/task_kinds.h"
#include "film/reader.h"

/*
 * Detects processes whose tasks share threads and have no lanes of their own: the lane of such a
 * thread shows what all of its tasks did, not which of them did it. They are detected by a function
 * on a thread's stack, or by a thread name that their runtime sets, which the film has the roles
 * of; a process without either in the slices is not detected.
 */
struct unlinked {
	/* sets of enum film_task_kind: that a stack shows, and that a process has shown */
	uint8_t *of_stack, *of_process;
};

/* Returns 0 or -ENOMEM; call unlinked_free() in both cases. */
int unlinked_begin(const struct film *film, struct unlinked *unlinked);
void unlinked_free(struct unlinked *unlinked);

/* Notes that a thread had a stack. Both are ids of the film. */
void unlinked_add(struct unlinked *unlinked, const struct film *film, uint32_t thread,
		  uint32_t stack);

/* The set of kinds that have lanes in the film. */
uint8_t unlinked_lanes(const struct film *film);

#endif
