// SPDX-License-Identifier: Apache-2.0
#include "query/idle_stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "film/frame_kinds.h"
#include "film/wait_rules.h"

#define GETS_WORK  (1u << FILM_ROLE_GETS_WORK)
#define LOOPS	   (1u << FILM_ROLE_WORK_LOOP)
#define BARE_LOOPS (1u << FILM_ROLE_BARE_WORK_LOOP)
#define AWAITS	   (1u << FILM_ROLE_AWAITS)

/*
 * Adds to *has what a stack has that ends with a frame. roles: of that frame; below: of the one
 * that called it; before: what this returned for the stack that ends with that one. Returns the
 * roles that go on to what the frame calls.
 */
static uint32_t go_on(const struct film *film, uint32_t frame, uint32_t roles, uint32_t below,
		      uint32_t before, uint8_t *has)
{
	uint32_t on = (before | roles) & (GETS_WORK | BARE_LOOPS);

	/* another function of the language does work */
	if (film_frame_kind_of(film->frames[frame].kind)->is_language && !(roles & BARE_LOOPS))
		on &= ~BARE_LOOPS;
	if (roles & AWAITS && (on & GETS_WORK || (roles | below) & LOOPS))
		*has |= WAIT_HAS_NO_WORK;
	if (on & BARE_LOOPS)
		*has |= WAIT_HAS_NO_WORK_UNTIMED;
	else
		*has &= (uint8_t)~WAIT_HAS_NO_WORK_UNTIMED;
	return on;
}

int idle_stacks_find(const struct film *film, const uint32_t *roles, uint8_t *stacks)
{
	uint32_t *on = calloc(film->stack_count + 1ull, sizeof(*on));

	if (!on)
		return -ENOMEM;
	/* a parent comes before its children */
	for (uint32_t i = 1; i < film->stack_count; i++) {
		const struct film_stack *stack = &film->stacks[i];
		uint32_t below = roles[film->stacks[stack->parent].frame];

		stacks[i] |= stacks[stack->parent] & WAIT_HAS_NO_WORK;
		on[i] = go_on(film, stack->frame, roles[stack->frame], below, on[stack->parent],
			      &stacks[i]);
	}
	free(on);
	return 0;
}
