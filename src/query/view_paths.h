/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_VIEW_PATHS_H
#define QUERY_VIEW_PATHS_H

#include "base/map.h"
#include "base/vec.h"
#include "query/view.h"

/*
 * Builds a view whose stacks have marks at their roots for data of some events: the cause of a
 * wait, its waker, its lock. Its paths are therefore not stacks of the film.
 */
struct view_paths {
	struct view *view;
	const struct film_stack *stacks; /* the displayed stacks, folded or not */
	vec(struct film_stack) paths;
	struct map of_step;   /* path << 32 | stack -> the path with that stack below it */
	struct map of_mark;   /* path << 32 | mark -> the path with that mark below it */
	struct map of_weight; /* group << 32 | path -> index in view->weights */
	struct map of_name;   /* hash of a mark's name -> its number */
	struct map of_cpu;    /* path << 32 | CPU -> the path with that CPU below it */
	vec(uint32_t) line;
	vec(uint64_t) by_stack; /* number of observations by the film's stack */
};

/* Returned without memory. */
#define VIEW_NO_MEMORY UINT32_MAX

/* Returns 0 or -ENOMEM; call view_paths_end() in both cases. */
int view_paths_begin(struct view_paths *p, struct view *view, const struct shape *shape);
/* Moves the paths to the view. Returns 0 or -ENOMEM. */
int view_paths_end(struct view_paths *p);

/* The number in view->marks of the mark with that name; or VIEW_NO_MEMORY. */
uint32_t view_paths_mark(struct view_paths *p, const char *name);

/*
 * The path of a mark, or of a whole stack, below another path (0: the root; VIEW_NO_MEMORY is
 * returned as it is). Stack 0: the root, or a mark that says so.
 */
uint32_t view_paths_below_mark(struct view_paths *p, uint32_t path, const char *name);
uint32_t view_paths_below_stack(struct view_paths *p, uint32_t path, uint32_t stack);

/* The path of a CPU below another one. cpu: as of struct film_sample; 0: a mark that says so. */
uint32_t view_paths_below_cpu(struct view_paths *p, uint32_t path, uint32_t cpu);

/* The waker of a wait, as in struct film_wait. Its path is a mark, its stack, and a mark. */
struct view_waker {
	uint32_t thread, stack, context, flags;
};
uint32_t view_paths_below_waker(struct view_paths *p, uint32_t path,
				const struct view_waker *waker);

/* Formats the first mark: "[woken by redis-server (12)]". */
void view_waker_words(const struct film *film, const struct view_waker *waker, char *words,
		      size_t size);

/* The view's group for a thread. */
uint32_t view_paths_group(const struct view_paths *p, uint32_t thread);

/*
 * Adds an observation of a thread with that path and stack of the film. Returns 0, -ENOMEM or
 * -EOVERFLOW.
 */
int view_paths_add(struct view_paths *p, uint32_t path, uint32_t thread, uint32_t stack,
		   uint64_t value);

#endif
