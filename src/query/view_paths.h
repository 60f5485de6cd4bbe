/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_VIEW_PATHS_H
#define QUERY_VIEW_PATHS_H

#include "base/map.h"
#include "base/vec.h"
#include "query/view.h"

/*
 * A view whose stacks have marks at their roots, for what only some events have: what a wait was
 * for, who ended it, which lock it was. So its paths are none of the film's.
 */
struct view_paths {
	struct view *view;
	const struct film_stack *stacks; /* as they are shown, folded or not */
	vec(struct film_stack) paths;
	struct map of_step;   /* path << 32 | stack: the path and that stack below it */
	struct map of_mark;   /* path << 32 | mark: the same */
	struct map of_weight; /* group << 32 | path: place in view->weights */
	struct map of_name;   /* hash of a mark's name: its number */
	vec(uint32_t) line;
	vec(uint64_t) by_stack; /* observations by the film's stack */
};

/* A path that there is no memory for. */
#define VIEW_NO_MEMORY UINT32_MAX

/* 0 or -ENOMEM; view_paths_end() is needed in either case. */
int view_paths_begin(struct view_paths *p, struct view *view, const struct shape *shape);
/* Gives the paths to the view. 0 or -ENOMEM. */
int view_paths_end(struct view_paths *p);

/* The number of the mark of that name, in view->marks; or VIEW_NO_MEMORY. */
uint32_t view_paths_mark(struct view_paths *p, const char *name);

/*
 * The path of a mark, and of a whole stack, below another path (0: the root, VIEW_NO_MEMORY: that).
 * Of no stack: the root, or a mark that says so.
 */
uint32_t view_paths_below_mark(struct view_paths *p, uint32_t path, const char *name);
uint32_t view_paths_below_stack(struct view_paths *p, uint32_t path, uint32_t stack);

/* The waker of a wait, as struct film_wait has it: a mark, its stack, and a mark. */
struct view_waker {
	uint32_t thread, stack, context, flags;
};
uint32_t view_paths_below_waker(struct view_paths *p, uint32_t path,
				const struct view_waker *waker);

/* The first mark: "[woken by redis-server (12)]". */
void view_waker_words(const struct film *film, const struct view_waker *waker, char *words,
		      size_t size);

/* The view's group of a thread. */
uint32_t view_paths_group(const struct view_paths *p, uint32_t thread);

/* Adds an observation of a thread with that path and stack of the film. 0, -ENOMEM, -EOVERFLOW. */
int view_paths_add(struct view_paths *p, uint32_t path, uint32_t thread, uint32_t stack,
		   uint64_t value);

#endif
