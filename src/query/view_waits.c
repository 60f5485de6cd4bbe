// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "query/view_fill.h"
#include "query/wait_class.h"

/*
 * Waits seen through what only they have: what they were for, and who ended them. Both stand at the
 * root of their stacks: a mark for the class; a mark for the waker, its stack, and a mark behind
 * which the waiter's stack begins. So the paths of such a view are none of the film's.
 */
struct collector {
	struct view *view;
	const struct question *q;
	const struct filter_kept *kept;
	const struct film_stack *stacks; /* as they are shown, folded or not */
	struct wait_classes classes;
	vec(struct film_stack) paths;
	struct map of_step;   /* path << 32 | stack: the path and that stack below it */
	struct map of_mark;   /* path << 32 | mark: the same */
	struct map of_weight; /* group << 32 | path: place in view->weights */
	struct map of_name;   /* hash of a mark's name: its number */
	vec(uint32_t) line;
	vec(uint64_t) by_stack; /* waits by the film's stack */
	int err;
};

#define NO_MEMORY UINT32_MAX

/* The number of the mark of that name. */
static uint32_t mark_named(struct collector *c, const char *name)
{
	struct view *view = c->view;
	uint64_t hash = hash_bytes(name, strlen(name));
	const uint64_t *known;

	/* names whose hashes are the same stand beside each other */
	for (; (known = map_get(&c->of_name, hash)); hash = hash_u64(hash))
		if (!strcmp(view->marks.at[*known], name))
			return (uint32_t)*known;
	name = name_pool_add(&view->mark_names, name);
	if (!name || !vec_push(&view->marks, name) ||
	    !map_put(&c->of_name, hash, view->marks.count - 1))
		return NO_MEMORY;
	return (uint32_t)view->marks.count - 1;
}

static uint32_t add_path(struct collector *c, struct map *of, uint64_t key, struct film_stack path)
{
	if (c->paths.count >= NO_MEMORY || !vec_push(&c->paths, path) ||
	    !map_put(of, key, c->paths.count - 1))
		return NO_MEMORY;
	return (uint32_t)c->paths.count - 1;
}

/* The path of a mark below another one. */
static uint32_t below_mark(struct collector *c, uint32_t path, const char *name)
{
	uint32_t mark = mark_named(c, name);
	uint64_t key = (uint64_t)path << 32 | mark;
	const uint64_t *known = map_get(&c->of_mark, key);
	struct film_stack step = {path, c->view->film->frame_count + mark, FILM_HOW_EXACT};

	if (mark == NO_MEMORY)
		return mark;
	return known ? (uint32_t)*known : add_path(c, &c->of_mark, key, step);
}

/* The path of a whole stack below another one; of no stack: that one. */
static uint32_t below_stack(struct collector *c, uint32_t path, uint32_t stack)
{
	const uint64_t *known = NULL;
	uint32_t root = path;

	if (c->view->fold.into)
		stack = c->view->fold.into[stack];
	c->line.count = 0;
	for (; stack; stack = c->stacks[stack].parent) {
		known = map_get(&c->of_step, (uint64_t)root << 32 | stack);
		if (known)
			break;
		if (!vec_push(&c->line, stack))
			return NO_MEMORY;
	}
	if (known)
		path = (uint32_t)*known;
	while (path != NO_MEMORY && c->line.count) {
		struct film_stack step;

		stack = c->line.at[--c->line.count];
		step = c->stacks[stack];
		step.parent = path;
		path = add_path(c, &c->of_step, (uint64_t)root << 32 | stack, step);
	}
	return path;
}

/* "[woken by redis-server (12)]"; in an interrupt the current thread has nothing to do with it. */
static void waker_words(const struct film *film, const struct film_waits *waits, size_t i,
			char *words, size_t size)
{
	static const char *const contexts[] = {
		[FILM_WAIT_BY_SOFTIRQ] = "a soft interrupt",
		[FILM_WAIT_BY_INTERRUPT] = "an interrupt",
		[FILM_WAIT_BY_TIMER] = "a timer",
		[FILM_WAIT_BY_EITHER] = "a thread or an interrupt",
	};
	const struct film_thread *waker = &film->threads[waits->waker[i]];
	uint32_t context = waits->context[i];

	if (waits->flags[i] & FILM_WAIT_OPEN)
		snprintf(words, size, "[not woken yet]");
	else if (waits->flags[i] & FILM_WAIT_SAMPLED)
		snprintf(words, size, "[woken by several: shorter waits]");
	else if (context < sizeof(contexts) / sizeof(contexts[0]) && contexts[context])
		snprintf(words, size, "[woken by %s]", contexts[context]);
	else if (waits->waker[i])
		snprintf(words, size, "[woken by %.200s (%u)]", waker->comm, waker->tid);
	else
		snprintf(words, size, "[woken by: not known]");
}

static uint32_t path_of(struct collector *c, const struct film_waits *waits, size_t i)
{
	const struct shape *shape = &c->q->shape;
	char words[256];
	uint32_t path = 0;

	if (shape->by_wait) {
		words[0] = '[';
		wait_class_words(&c->classes, waits, i, words + 1, sizeof(words) - 2);
		strcat(words, "]");
		path = below_mark(c, path, words);
	}
	if (path != NO_MEMORY && shape->by_waker) {
		waker_words(c->view->film, waits, i, words, sizeof(words));
		path = below_mark(c, path, words);
		if (path != NO_MEMORY && waits->waker_stack[i] &&
		    waits->context[i] == FILM_WAIT_BY_THREAD) {
			path = below_stack(c, path, waits->waker_stack[i]);
			if (path != NO_MEMORY)
				path = below_mark(c, path, "[wakes]");
		}
	}
	if (path == NO_MEMORY)
		return path;
	if (path && !waits->stack[i])
		return below_mark(c, path, NAME_UNKNOWN);
	return below_stack(c, path, waits->stack[i]);
}

static struct weight *weight_of(struct collector *c, uint32_t group, uint32_t path)
{
	uint64_t key = (uint64_t)group << 32 | path;
	const uint64_t *known = map_get(&c->of_weight, key);
	struct view *view = c->view;

	if (known)
		return &view->weights.at[*known];
	if (!vec_push(&view->weights, (struct weight){.group = group, .stack = path}) ||
	    !map_put(&c->of_weight, key, view->weights.count - 1))
		return NULL;
	return vec_last(&view->weights);
}

static int take_wait(struct collector *c, const struct film_waits *waits, size_t i)
{
	struct view *view = c->view;
	uint32_t thread = waits->thread[i], process = view->film->threads[thread].process;
	uint32_t group = view->group == VIEW_THREAD    ? thread
			 : view->group == VIEW_PROCESS ? process
						       : 0;
	uint32_t path = path_of(c, waits, i);
	struct weight *weight = path == NO_MEMORY ? NULL : weight_of(c, group, path);

	if (!weight)
		return -ENOMEM;
	/* no part can overflow where the whole does not */
	if (__builtin_add_overflow(view->total, waits->duration[i], &view->total))
		return -EOVERFLOW;
	view->processes[process] += waits->duration[i];
	weight->value += waits->duration[i];
	weight->samples++;
	view->samples++;
	c->by_stack.at[view->fold.into ? view->fold.into[waits->stack[i]] : waits->stack[i]]++;
	return 0;
}

static int take_waits(void *context, const struct film_waits *waits)
{
	struct collector *c = context;
	uint64_t classes = c->q->filter.waits;

	for (size_t i = 0; !c->err && i < waits->count; i++) {
		if (!c->kept->threads[waits->thread[i]] || !c->kept->stacks[waits->stack[i]])
			continue;
		if (classes && !(classes >> wait_class_of(&c->classes, waits, i) & 1))
			continue;
		c->err = take_wait(c, waits, i);
	}
	return c->err;
}

bool view_asks_of_waits(const struct question *q)
{
	return q->filter.waits || q->shape.by_wait || q->shape.by_waker;
}

static int begin(struct collector *c, struct fail *why)
{
	struct film *film = c->view->film;

	if (fold_stacks(film, &c->q->shape, &c->view->fold) ||
	    wait_classes_init(&c->classes, film) ||
	    !vec_reserve(&c->by_stack, film->stack_count + 1ull) ||
	    !vec_push(&c->paths, (struct film_stack){0}))
		return fail_errno(why, -ENOMEM, NULL, "cannot add up the waits");
	memset(c->by_stack.at, 0, (film->stack_count + 1ull) * sizeof(*c->by_stack.at));
	c->stacks = c->view->fold.paths ? c->view->fold.paths : film->stacks;
	c->view->processes = calloc(film->process_count + 1ull, sizeof(*c->view->processes));
	return c->view->processes ? 0 : fail_errno(why, -ENOMEM, NULL, "cannot add up the waits");
}

int view_fill_waits(struct view *view, const struct question *q, const struct filter_kept *kept,
		    uint64_t from, uint64_t to, struct fail *why)
{
	struct collector c = {.view = view, .q = q, .kept = kept};
	uint32_t event = (uint32_t)(view->event - view->film->events);
	int err;

	if (view_is_calls(view->event) ||
	    (!film_has_waits(view->film, event) && view->film_samples))
		return fail(why, -EINVAL, "ask for an event of waits: -e off-cpu",
			    "%s has no waits: --wait, --by wait and --by waker say nothing there",
			    view->event->name);
	err = begin(&c, why);
	if (!err)
		err = film_each_waits(view->film, event, from, to, take_waits, &c, why);
	if (c.err == -EOVERFLOW)
		fail(why, err, NULL, "the waits of the film add up to more than 64 bits");
	else if (c.err)
		fail_errno(why, err, NULL, "cannot add up the waits");
	if (!err && view_account_stacks(view, c.by_stack.at))
		err = fail_errno(why, -ENOMEM, NULL, "cannot count the stacks");
	view->own_paths = c.paths.at;
	view->paths = c.paths.at;
	view->path_count = (uint32_t)c.paths.count;
	wait_classes_free(&c.classes);
	map_free(&c.of_step);
	map_free(&c.of_mark);
	map_free(&c.of_weight);
	map_free(&c.of_name);
	vec_free(&c.line);
	vec_free(&c.by_stack);
	return err;
}
