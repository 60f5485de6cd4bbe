// SPDX-License-Identifier: Apache-2.0
#include "query/view_paths.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "query/view_fill.h"

uint32_t view_paths_mark(struct view_paths *p, const char *name)
{
	struct view *view = p->view;
	uint64_t hash = hash_bytes(name, strlen(name));
	const uint64_t *known;

	/* names whose hashes are the same stand beside each other */
	for (; (known = map_get(&p->of_name, hash)); hash = hash_u64(hash))
		if (!strcmp(view->marks.at[*known], name))
			return (uint32_t)*known;
	name = name_pool_add(&view->mark_names, name);
	if (!name || !vec_push(&view->marks, name) ||
	    !map_put(&p->of_name, hash, view->marks.count - 1))
		return VIEW_NO_MEMORY;
	return (uint32_t)view->marks.count - 1;
}

static uint32_t add_path(struct view_paths *p, struct map *of, uint64_t key, struct film_stack path)
{
	if (p->paths.count >= VIEW_NO_MEMORY || !vec_push(&p->paths, path) ||
	    !map_put(of, key, p->paths.count - 1))
		return VIEW_NO_MEMORY;
	return (uint32_t)p->paths.count - 1;
}

uint32_t view_paths_below_mark(struct view_paths *p, uint32_t path, const char *name)
{
	uint32_t mark = view_paths_mark(p, name);
	uint64_t key = (uint64_t)path << 32 | mark;
	const uint64_t *known = map_get(&p->of_mark, key);
	struct film_stack step = {path, p->view->film->frame_count + mark, FILM_HOW_EXACT};

	if (path == VIEW_NO_MEMORY || mark == VIEW_NO_MEMORY)
		return VIEW_NO_MEMORY;
	return known ? (uint32_t)*known : add_path(p, &p->of_mark, key, step);
}

uint32_t view_paths_below_cpu(struct view_paths *p, uint32_t path, uint32_t cpu)
{
	uint64_t key = (uint64_t)path << 32 | cpu;
	const uint64_t *known = map_get(&p->of_cpu, key);
	char name[NAME_CPU_SIZE];

	p->view->has_cpus |= cpu != 0;
	if (known)
		return (uint32_t)*known;
	path = view_paths_below_mark(p, path, name_of_cpu(cpu, name));
	if (path == VIEW_NO_MEMORY || !map_put(&p->of_cpu, key, path))
		return VIEW_NO_MEMORY;
	return path;
}

uint32_t view_paths_below_stack(struct view_paths *p, uint32_t path, uint32_t stack)
{
	const uint64_t *known = NULL;
	uint32_t root = path;

	if (path == VIEW_NO_MEMORY)
		return path;
	if (path && !stack)
		return view_paths_below_mark(p, path, NAME_UNKNOWN);
	if (p->view->fold.into)
		stack = p->view->fold.into[stack];
	p->line.count = 0;
	for (; stack; stack = p->stacks[stack].parent) {
		known = map_get(&p->of_step, (uint64_t)root << 32 | stack);
		if (known)
			break;
		if (!vec_push(&p->line, stack))
			return VIEW_NO_MEMORY;
	}
	if (known)
		path = (uint32_t)*known;
	while (path != VIEW_NO_MEMORY && p->line.count) {
		struct film_stack step;

		stack = p->line.at[--p->line.count];
		step = p->stacks[stack];
		step.parent = path;
		path = add_path(p, &p->of_step, (uint64_t)root << 32 | stack, step);
	}
	return path;
}

static struct weight *weight_of(struct view_paths *p, uint32_t group, uint32_t path)
{
	uint64_t key = (uint64_t)group << 32 | path;
	const uint64_t *known = map_get(&p->of_weight, key);
	struct view *view = p->view;

	if (known)
		return &view->weights.at[*known];
	if (!vec_push(&view->weights, (struct weight){.group = group, .stack = path}) ||
	    !map_put(&p->of_weight, key, view->weights.count - 1))
		return NULL;
	return vec_last(&view->weights);
}

/* In an interrupt the current thread has nothing to do with it. */
void view_waker_words(const struct film *film, const struct view_waker *waker, char *words,
		      size_t size)
{
	static const char *const contexts[] = {
		[FILM_WAIT_BY_SOFTIRQ] = "a soft interrupt",
		[FILM_WAIT_BY_INTERRUPT] = "an interrupt",
		[FILM_WAIT_BY_TIMER] = "a timer",
		[FILM_WAIT_BY_EITHER] = "a thread or an interrupt",
	};
	const struct film_thread *thread = &film->threads[waker->thread];
	uint32_t context = waker->context;

	/* a part of a wait that is over has the waker of the whole */
	if (waker->flags & FILM_WAIT_OPEN && !waker->thread && context == FILM_WAIT_BY_NONE)
		snprintf(words, size, "[not woken yet]");
	else if (waker->flags & FILM_WAIT_SAMPLED)
		snprintf(words, size, "[woken by several: waits summed up]");
	else if (context < sizeof(contexts) / sizeof(contexts[0]) && contexts[context])
		snprintf(words, size, "[woken by %s]", contexts[context]);
	else if (waker->thread)
		snprintf(words, size, "[woken by %.200s (%u)]", thread->comm, thread->tid);
	else
		snprintf(words, size, "[woken by: not known]");
}

uint32_t view_paths_below_waker(struct view_paths *p, uint32_t path, const struct view_waker *waker)
{
	char words[256];

	view_waker_words(p->view->film, waker, words, sizeof(words));
	path = view_paths_below_mark(p, path, words);
	if (!waker->stack || waker->context != FILM_WAIT_BY_THREAD)
		return path;
	path = view_paths_below_stack(p, path, waker->stack);
	return view_paths_below_mark(p, path, "[wakes]");
}

uint32_t view_paths_group(const struct view_paths *p, uint32_t thread)
{
	const struct view *view = p->view;

	return view->group == VIEW_THREAD    ? thread
	       : view->group == VIEW_PROCESS ? view->film->threads[thread].process
					     : 0;
}

int view_paths_add(struct view_paths *p, uint32_t path, uint32_t thread, uint32_t stack,
		   uint64_t value)
{
	struct view *view = p->view;
	struct weight *weight =
		path == VIEW_NO_MEMORY ? NULL : weight_of(p, view_paths_group(p, thread), path);

	if (!weight)
		return -ENOMEM;
	/* no part can overflow where the whole does not */
	if (__builtin_add_overflow(view->total, value, &view->total))
		return -EOVERFLOW;
	view->processes[view->film->threads[thread].process] += value;
	weight->value += value;
	weight->samples++;
	view->samples++;
	p->by_stack.at[view->fold.into ? view->fold.into[stack] : stack]++;
	return 0;
}

int view_paths_begin(struct view_paths *p, struct view *view, const struct shape *shape)
{
	struct film *film = view->film;

	*p = (struct view_paths){.view = view};
	if (fold_stacks(film, shape, &view->fold) ||
	    !vec_reserve(&p->by_stack, film->stack_count + 1ull) ||
	    !vec_push(&p->paths, (struct film_stack){0}))
		return -ENOMEM;
	memset(p->by_stack.at, 0, (film->stack_count + 1ull) * sizeof(*p->by_stack.at));
	p->stacks = view->fold.paths ? view->fold.paths : film->stacks;
	view->processes = calloc(film->process_count + 1ull, sizeof(*view->processes));
	return view->processes ? 0 : -ENOMEM;
}

int view_paths_end(struct view_paths *p)
{
	int err = p->by_stack.at ? view_account_stacks(p->view, p->by_stack.at) : 0;

	p->view->own_paths = p->paths.at;
	p->view->paths = p->paths.at;
	p->view->path_count = (uint32_t)p->paths.count;
	map_free(&p->of_step);
	map_free(&p->of_mark);
	map_free(&p->of_cpu);
	map_free(&p->of_weight);
	map_free(&p->of_name);
	vec_free(&p->line);
	vec_free(&p->by_stack);
	return err;
}
