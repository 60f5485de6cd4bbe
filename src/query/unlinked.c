// SPDX-License-Identifier: Apache-2.0
#include "query/unlinked.h"

#include <errno.h>
#include <stdlib.h>

#include "query/roles.h"

#define ALL_KINDS ((1u << FILM_TASK_KINDS) - 1)

uint8_t unlinked_lanes(const struct film *film)
{
	uint8_t kinds = 0;

	for (unsigned int kind = 0; kind < FILM_TASK_KINDS; kind++) {
		const char *name = film_task_kind_event(kind);
		uint32_t event = name ? film_find_event(film, name) : 0;

		if (event && film_has_any(film, event))
			kinds |= (uint8_t)(1u << kind);
	}
	return kinds;
}

/* The set of kinds that are not among the film's lanes, from a set of roles. */
static uint8_t kinds_of(uint32_t roles, uint8_t lanes)
{
	return (uint8_t)(roles >> FILM_ROLE_RUNS & ALL_KINDS & ~lanes);
}

int unlinked_begin(const struct film *film, struct unlinked *unlinked)
{
	const uint32_t roles = (uint32_t)ALL_KINDS << FILM_ROLE_RUNS;
	uint32_t *frames = NULL, *threads = NULL;
	uint8_t lanes = unlinked_lanes(film);

	unlinked->of_stack = calloc(film->stack_count + 1ull, 1);
	unlinked->of_process = calloc(film->process_count + 1ull, 1);
	if (!unlinked->of_stack || !unlinked->of_process || roles_of_frames(film, roles, &frames) ||
	    roles_of_threads(film, roles, &threads)) {
		free(frames);
		return -ENOMEM;
	}
	/* a stack's parent stands before it */
	for (uint32_t i = 1; i < film->stack_count; i++) {
		const struct film_stack *stack = &film->stacks[i];

		unlinked->of_stack[i] =
			unlinked->of_stack[stack->parent] | kinds_of(frames[stack->frame], lanes);
	}
	for (uint32_t i = 1; i < film->thread_count; i++)
		unlinked->of_process[film->threads[i].process] |= kinds_of(threads[i], lanes);
	free(frames);
	free(threads);
	return 0;
}

void unlinked_free(struct unlinked *unlinked)
{
	free(unlinked->of_stack);
	free(unlinked->of_process);
	*unlinked = (struct unlinked){0};
}

void unlinked_add(struct unlinked *unlinked, const struct film *film, uint32_t thread,
		  uint32_t stack)
{
	unlinked->of_process[film->threads[thread].process] |= unlinked->of_stack[stack];
}
