// SPDX-License-Identifier: Apache-2.0
#include "query/fold.h"

#include <errno.h>
#include <stdlib.h>

bool fold_leaves_out(const struct film *film, const struct film_stack *stack,
		     const struct shape *shape)
{
	if (stack->how == FILM_HOW_RUNTIME)
		return !shape->native;
	return film->frames[stack->frame].kind == FILM_FRAME_LABEL && !shape->by_label;
}

static bool any_folded(const struct film *film, const struct shape *shape)
{
	for (uint32_t i = 1; i < film->stack_count; i++)
		if (fold_leaves_out(film, &film->stacks[i], shape))
			return true;
	return false;
}

int fold_stacks(const struct film *film, const struct shape *shape, struct fold *fold)
{
	size_t count = film->stack_count + 1ull;

	*fold = (struct fold){0};
	if (!any_folded(film, shape))
		return 0;
	fold->paths = calloc(count, sizeof(*fold->paths));
	fold->into = calloc(count, sizeof(*fold->into));
	if (!fold->paths || !fold->into)
		return -ENOMEM;
	/* a parent stands before its children */
	for (uint32_t i = 1; i < film->stack_count; i++) {
		const struct film_stack *stack = &film->stacks[i];
		uint32_t parent = fold->into[stack->parent];

		fold->paths[i] = (struct film_stack){parent, stack->frame, stack->how};
		fold->into[i] = fold_leaves_out(film, stack, shape) ? parent : i;
	}
	return 0;
}

void fold_free(struct fold *fold)
{
	free(fold->paths);
	free(fold->into);
	*fold = (struct fold){0};
}
