// SPDX-License-Identifier: Apache-2.0
#include "query/explain/stack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "film/frame_kinds.h"
#include "film/names.h"
#include "query/roles.h"

static bool is_of_library(uint32_t roles)
{
	return roles >> FILM_ROLE_LIBRARY & 1 && !(roles >> FILM_ROLE_PROGRAM & 1);
}

/* Whether a function is of a language's library, or what a runtime makes. */
static bool is_of_runtime(const struct explain_stacks *stacks, uint32_t function)
{
	return *stacks->film->functions[function].name == '[' ||
	       is_of_library(stacks->functions[function]);
}

/*
 * The function of a frame that says most: its own one; where that is of a language's library and
 * was inlined, as Go's sync.(*Mutex).Lock is, the innermost one around it that is not.
 */
static uint32_t function_of(const struct explain_stacks *stacks, const struct film_frame *frame)
{
	const struct film *film = stacks->film;
	uint32_t id = (uint32_t)(frame - film->frames);
	size_t count = 0;
	const struct film_inline *outer;

	if (!is_of_runtime(stacks, frame->function))
		return frame->function;
	outer = film_inlines_of(film, id, &count);
	for (size_t i = 0; i < count; i++)
		if (!is_of_runtime(stacks, outer[i].function))
			return outer[i].function;
	return frame->function;
}

static bool says_much(const struct explain_stacks *stacks, const struct film_frame *frame)
{
	const struct film_image *image = &stacks->film->images[frame->image];

	/* a runtime's frames are of its image, but what a library of files has is native */
	if ((frame->kind == FILM_FRAME_NATIVE || image->kind == FILM_IMAGE_SCRIPT) &&
	    is_of_library(stacks->images[frame->image]))
		return false;
	return !is_of_runtime(stacks, function_of(stacks, frame));
}

int explain_stacks_init(struct explain_stacks *stacks, const struct film *film)
{
	const uint32_t roles = roles_bit(FILM_ROLE_LIBRARY) | roles_bit(FILM_ROLE_PROGRAM);
	static const struct shape plain;

	*stacks = (struct explain_stacks){.film = film};
	stacks->own = calloc(film->stack_count + 1ull, sizeof(*stacks->own));
	if (!stacks->own || fold_stacks(film, &plain, &stacks->fold) ||
	    roles_of_functions(film, roles, &stacks->functions) ||
	    roles_of_images(film, roles, &stacks->images))
		return -ENOMEM;
	stacks->paths = stacks->fold.paths ? stacks->fold.paths : film->stacks;
	return 0;
}

void explain_stacks_free(struct explain_stacks *stacks)
{
	fold_free(&stacks->fold);
	free(stacks->own);
	free(stacks->functions);
	free(stacks->images);
	*stacks = (struct explain_stacks){0};
}

/* The innermost frame of the user's that says much, or else the innermost one of the user's. */
static uint32_t find_own(const struct explain_stacks *stacks, uint32_t stack)
{
	const struct film *film = stacks->film;
	uint32_t any = 0;

	if (stacks->fold.into)
		stack = stacks->fold.into[stack];
	for (uint32_t at = stack; at; at = stacks->paths[at].parent) {
		const struct film_frame *frame = &film->frames[stacks->paths[at].frame];

		if (frame->kind == FILM_FRAME_KERNEL || frame->kind == FILM_FRAME_MARK ||
		    frame->kind == FILM_FRAME_LABEL)
			continue;
		if (says_much(stacks, frame))
			return at;
		any = any ? any : at;
	}
	return any;
}

uint32_t explain_stack_own(struct explain_stacks *stacks, uint32_t stack)
{
	if (!stacks->own[stack])
		stacks->own[stack] = find_own(stacks, stack) + 1;
	return stacks->own[stack] - 1;
}

uint32_t explain_stack_function(const struct explain_stacks *stacks, uint32_t stack)
{
	return function_of(stacks, &stacks->film->frames[stacks->paths[stack].frame]);
}

/* The innermost frame of a stack that is not one of the kernel; 0: none. */
static uint32_t of_user(const struct explain_stacks *stacks, uint32_t stack)
{
	const struct film *film = stacks->film;

	while (stack && film->frames[stacks->paths[stack].frame].kind == FILM_FRAME_KERNEL)
		stack = stacks->paths[stack].parent;
	return stack;
}

static bool are_of_a_function(const struct film_frame *a, const struct film_frame *b)
{
	if (a->function || b->function)
		return a->function == b->function;
	return a->image == b->image && (a->start ? a->start == b->start : a->address == b->address);
}

bool explain_stacks_are_alike(const struct explain_stacks *stacks, uint32_t a, uint32_t b)
{
	const struct film_frame *frames = stacks->film->frames;
	const struct film_stack *paths = stacks->paths;

	if (stacks->fold.into) {
		a = stacks->fold.into[a];
		b = stacks->fold.into[b];
	}
	a = of_user(stacks, a);
	b = of_user(stacks, b);
	while (a != b && a && b &&
	       are_of_a_function(&frames[paths[a].frame], &frames[paths[b].frame])) {
		a = paths[a].parent;
		b = paths[b].parent;
	}
	return a == b;
}

const char *explain_stack_image(const struct explain_stacks *stacks, uint32_t stack)
{
	const struct film *film = stacks->film;

	return film->images[film->frames[stacks->paths[stack].frame].image].path;
}

/* Null: it is of none. */
static const char *library_of(const struct explain_stacks *stacks, const struct film_frame *frame)
{
	const char *name = name_of_image(stacks->film->images[frame->image].path);

	return frame->kind == FILM_FRAME_NATIVE && strstr(name, ".so") ? name : NULL;
}

const char *explain_stack_library(const struct explain_stacks *stacks, uint32_t stack)
{
	const struct film_frame *frame = &stacks->film->frames[stacks->paths[stack].frame];

	/* a frame without a function is named by its file */
	return frame->function ? library_of(stacks, frame) : NULL;
}

uint32_t explain_stack_caller(const struct explain_stacks *stacks, uint32_t stack)
{
	const struct film *film = stacks->film;
	uint32_t at;

	if (!stack || !library_of(stacks, &film->frames[stacks->paths[stack].frame]))
		return 0;
	for (at = stacks->paths[stack].parent; at; at = stacks->paths[at].parent) {
		const struct film_frame *frame = &film->frames[stacks->paths[at].frame];

		if (film_frame_kind_of(frame->kind)->is_language && says_much(stacks, frame))
			break;
	}
	return at;
}

const char *explain_stack_name(const struct explain_stacks *stacks, uint32_t stack, char *to,
			       size_t size)
{
	const struct film *film = stacks->film;
	const struct film_frame *frame = &film->frames[stacks->paths[stack].frame];

	if (!stack)
		snprintf(to, size, "%s", "");
	else if (frame->function)
		snprintf(to, size, "%s", film->functions[function_of(stacks, frame)].name);
	else
		name_of_place(film, frame, to, size);
	return to;
}
