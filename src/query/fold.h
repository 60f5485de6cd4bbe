/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_FOLD_H
#define QUERY_FOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "film/reader.h"
#include "query/question.h"

/*
 * Simplifies stacks for display. The interpreter's own frames belong to the function that it runs,
 * and a program's labels are not functions: neither is shown as a frame, unless requested.
 */
struct fold {
	/* by stack, without the folded frames; null: no frame is folded */
	struct film_stack *paths;
	uint32_t *into; /* by stack: id of the stack that is shown instead */
};

/* Returns 0 or -ENOMEM; call fold_free() in both cases. */
int fold_stacks(const struct film *film, const struct shape *shape, struct fold *fold);
void fold_free(struct fold *fold);

/* Whether the last frame of a stack is folded: the stack then counts as its parent. */
bool fold_leaves_out(const struct film *film, const struct film_stack *stack,
		     const struct shape *shape);

#endif
