/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_FOLD_H
#define QUERY_FOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "film/reader.h"
#include "query/question.h"

/*
 * Stacks as people want to see them. What an interpreter does to run a function is part of that
 * function, and what a program says of its work (labels) is not a function: neither is shown as a
 * frame, unless asked for.
 */
struct fold {
	struct film_stack
		*paths; /* by stack, without the frames that are folded; null: none is, all stay */
	uint32_t *into; /* by stack: the one that it is shown as */
};

/* Returns 0 or -ENOMEM; fold_free() is needed in either case. */
int fold_stacks(const struct film *film, const struct shape *shape, struct fold *fold);
void fold_free(struct fold *fold);

/* Whether the last frame of a stack is not shown: it counts as its parent, then. */
bool fold_leaves_out(const struct film *film, const struct film_stack *stack,
		     const struct shape *shape);

#endif
