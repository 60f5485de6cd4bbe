// SPDX-License-Identifier: Apache-2.0
/*
 * Waits for locks: which lock it was, who held it, and who ended the wait, as marks at the root of
 * their stacks.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "query/lock_words.h"
#include "query/view_fill.h"
#include "query/view_paths.h"
#include "query/wait_class.h"

struct collector {
	struct view_paths paths;
	const struct question *q;
	const struct filter_kept *kept;
	struct map of_row;  /* a hash of a row's group and marks: place in view->locks */
	struct map of_open; /* a thread: place in open */
	vec(struct open_wait) open;
	int err;
};

/* The last wait of a thread: the next row may go on with it. */
struct open_wait {
	uint64_t end, duration;
};

/* "[mutex guard in app]", "[mutex 0x7f10 of app (12)]" */
static void mark_of_lock(const struct film *film, const struct film_locks *locks, size_t i,
			 char *words, size_t size)
{
	const struct lock_shown lock = {
		.address = locks->address[i],
		.place = locks->place[i],
		.process = film->threads[locks->thread[i]].process,
		.kind = locks->kind[i],
	};
	char name[300];

	lock_words(film, &lock, name, sizeof(name));
	snprintf(words, size, "[%s]", name);
}

/* "[owner: flusher (12)]" */
static void mark_of_holder(const struct film *film, const struct film_locks *locks, size_t i,
			   char *words, size_t size)
{
	const struct film_thread *holder = &film->threads[locks->holder[i]];
	const char *sure = lock_sure_words(locks->sure[i]);

	if (locks->holder[i] && *sure)
		snprintf(words, size, "[%s: %.200s (%u)]", sure, holder->comm, holder->tid);
	else
		snprintf(words, size, "[holder not known]");
}

/* Whether a row is a wait of its own, and not a part of the one before it; and how long that is. */
static bool begins(struct collector *c, const struct film_locks *locks, size_t i, uint64_t *length)
{
	uint32_t thread = locks->thread[i];
	const uint64_t *known = map_get(&c->of_open, thread);
	struct open_wait *open = known ? &c->open.at[*known] : NULL;
	bool goes_on = open && open->end == locks->end[i] - locks->duration[i];

	*length = locks->duration[i] + (goes_on ? open->duration : 0);
	if (open)
		*open = (struct open_wait){locks->end[i], *length};
	else if (!vec_push(&c->open, (struct open_wait){locks->end[i], *length}) ||
		 !map_put(&c->of_open, thread, c->open.count - 1))
		c->err = -ENOMEM;
	return !goes_on;
}

static struct lock_row *row_of(struct collector *c, const struct lock_row *wanted)
{
	const uint64_t what[] = {wanted->group, wanted->lock, wanted->holder, wanted->waker};
	uint64_t key = hash_bytes(what, sizeof(what));
	const uint64_t *known = map_get(&c->of_row, key);
	struct view *view = c->paths.view;

	if (known)
		return &view->locks.at[*known];
	if (!vec_push(&view->locks, *wanted) || !map_put(&c->of_row, key, view->locks.count - 1))
		return NULL;
	return vec_last(&view->locks);
}

/* waker: "" if that is not asked for. */
static int count(struct collector *c, const struct film_locks *locks, size_t i, const char *lock,
		 const char *holder, const char *waker)
{
	const struct lock_row wanted = {
		.group = view_paths_group(&c->paths, locks->thread[i]),
		.lock = view_paths_mark(&c->paths, lock),
		.holder = view_paths_mark(&c->paths, holder),
		.waker = *waker ? view_paths_mark(&c->paths, waker) : 0,
	};
	struct lock_row *row = NULL;
	uint64_t length;

	if (wanted.lock != VIEW_NO_MEMORY && wanted.holder != VIEW_NO_MEMORY &&
	    wanted.waker != VIEW_NO_MEMORY)
		row = row_of(c, &wanted);
	if (!row)
		return -ENOMEM;
	row->waits += begins(c, locks, i, &length);
	row->total += locks->duration[i];
	if (length > row->longest)
		row->longest = length;
	return c->err;
}

static int add_lock(struct collector *c, const struct film_locks *locks, size_t i)
{
	const struct film *film = c->paths.view->film;
	const struct shape *shape = &c->q->shape;
	const struct view_waker waker = {locks->waker[i], locks->waker_stack[i], locks->context[i],
					 locks->flags[i]};
	char lock[320], holder[256], by[256] = "";
	uint32_t path = 0;
	int err;

	mark_of_lock(film, locks, i, lock, sizeof(lock));
	mark_of_holder(film, locks, i, holder, sizeof(holder));
	if (shape->by_waker)
		view_waker_words(film, &waker, by, sizeof(by));
	err = count(c, locks, i, lock, holder, by);
	if (err)
		return err;
	if (shape->by_wait)
		path = view_paths_below_mark(&c->paths, path, "[lock]");
	if (shape->by_lock)
		path = view_paths_below_mark(&c->paths, path, lock);
	if (shape->by_holder)
		path = view_paths_below_mark(&c->paths, path, holder);
	if (shape->by_waker)
		path = view_paths_below_waker(&c->paths, path, &waker);
	path = view_paths_below_stack(&c->paths, path, locks->stack[i]);
	return view_paths_add(&c->paths, path, locks->thread[i], locks->stack[i],
			      locks->duration[i]);
}

static int add_locks(void *context, const struct film_locks *locks)
{
	struct collector *c = context;
	uint64_t classes = c->q->filter.waits;

	if (classes && !(classes >> WAIT_LOCK & 1))
		return 0;
	for (size_t i = 0; !c->err && i < locks->count; i++)
		if (c->kept->threads[locks->thread[i]] && c->kept->stacks[locks->stack[i]])
			c->err = add_lock(c, locks, i);
	return c->err;
}

bool view_asks_of_locks(const struct view *view, const struct question *q)
{
	uint32_t event = (uint32_t)(view->event - view->film->events);

	return q->shape.by_lock || q->shape.by_holder ||
	       (view_asks_of_waits(q) && film_has_locks(view->film, event));
}

int view_fill_locks(struct view *view, const struct question *q, const struct filter_kept *kept,
		    uint64_t from, uint64_t to, struct fail *why)
{
	struct collector c = {.q = q, .kept = kept};
	uint32_t event = (uint32_t)(view->event - view->film->events);
	int err;

	if (view_is_calls(view->event) ||
	    (!film_has_locks(view->film, event) && view->film_samples))
		return fail(
			why, -EINVAL, "ask for an event of locks: -e lock",
			"%s has no waits for locks: --by lock and --by holder say nothing there",
			view->event->name);
	err = c.err = view_paths_begin(&c.paths, view, &q->shape);
	if (!err)
		err = film_each_locks(view->film, event, from, to, add_locks, &c, why);
	if (view_paths_end(&c.paths) && !err)
		err = c.err = -ENOMEM;
	map_free(&c.of_row);
	map_free(&c.of_open);
	vec_free(&c.open);
	if (c.err == -EOVERFLOW)
		return fail(why, err, NULL, "the waits of the film add up to more than 64 bits");
	return c.err ? fail_errno(why, err, NULL, "cannot add up the waits") : err;
}
