// SPDX-License-Identifier: Apache-2.0
/*
 * Locks that threads waited for: the films have the waits one by one, the index their stacks alone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturated.h"
#include "film/events.h"
#include "query/view.h"
#include "store/ask_private.h"
#include "store/locks.h"

struct adder {
	struct store_locks *locks;
	struct fail *why;
};

static uint64_t key_of(const char *lock, const char *holder)
{
	const uint64_t parts[] = {hash_bytes(lock, strlen(lock)),
				  holder ? hash_bytes(holder, strlen(holder)) : 0};

	return hash_bytes(parts, sizeof(parts));
}

/* Whether there is room to keep one more apart. */
static bool has_room(struct store_locks *locks)
{
	locks->is_cut |= locks->known.count >= LOCKS_MAX;
	return !locks->is_cut;
}

/* 0: there is no room; negative: no memory. */
static int find_lock(struct store_locks *locks, const char *name, struct store_lock **found)
{
	uint64_t key = key_of(name, NULL);
	const uint64_t *known = map_get(&locks->known, key);
	struct store_lock one = {0};

	*found = known ? &locks->all.at[*known] : NULL;
	if (known || !has_room(locks))
		return 0;
	one.name = name_pool_add(&locks->names, name);
	if (!one.name || !vec_push(&locks->all, one) ||
	    !map_put(&locks->known, key, locks->all.count - 1))
		return -ENOMEM;
	*found = vec_last(&locks->all);
	return 0;
}

static int find_holder(struct store_locks *locks, struct store_lock *lock, const char *name,
		       struct store_holder **found)
{
	uint64_t key = key_of(lock->name, name);
	const uint64_t *known = map_get(&locks->known, key);
	struct store_holder one = {0};

	*found = known ? &lock->holders.at[*known] : NULL;
	if (known || !has_room(locks))
		return 0;
	one.name = name_pool_add(&locks->names, name);
	if (!one.name || !vec_push(&lock->holders, one) ||
	    !map_put(&locks->known, key, lock->holders.count - 1))
		return -ENOMEM;
	*found = vec_last(&lock->holders);
	return 0;
}

static int add_row(struct store_locks *locks, const struct view *view, const struct lock_row *row)
{
	struct store_holder *holder = NULL;
	struct store_lock *lock;
	int err = find_lock(locks, view->marks.at[row->lock], &lock);

	if (err || !lock)
		return err;
	lock->waits += row->waits;
	lock->total = add_saturated(lock->total, row->total);
	lock->longest = row->longest > lock->longest ? row->longest : lock->longest;
	err = find_holder(locks, lock, view->marks.at[row->holder], &holder);
	if (err || !holder)
		return err;
	holder->waits += row->waits;
	holder->total = add_saturated(holder->total, row->total);
	return 0;
}

static int add_film(void *context, const struct ask_film *of)
{
	struct adder *t = context;
	struct question question = *of->question;
	uint64_t samples, total;
	struct view view;
	int err;

	question.shape = (struct shape){.by_lock = true};
	err = view_open(of->film, &question, VIEW_WHOLE, &view, t->why);
	for (size_t i = 0; !err && i < view.locks.count; i++)
		if (add_row(t->locks, &view, &view.locks.at[i]))
			err = fail_errno(t->why, -ENOMEM, NULL, "cannot answer");
	samples = view.samples;
	total = view.total;
	view_free(&view);
	return err ? err : sum_add(&t->locks->sum, samples, total, t->why);
}

static int by_total(uint64_t a, uint64_t b, const char *a_name, const char *b_name)
{
	return a != b ? (a > b ? -1 : 1) : strcmp(a_name, b_name);
}

static int locks_in_order(const void *left, const void *right)
{
	const struct store_lock *a = left, *b = right;

	return by_total(a->total, b->total, a->name, b->name);
}

static int holders_in_order(const void *left, const void *right)
{
	const struct store_holder *a = left, *b = right;

	return by_total(a->total, b->total, a->name, b->name);
}

int store_locks(struct store *store, const struct store_ask *ask, struct store_locks *locks,
		struct fail *why)
{
	struct adder t = {locks, why};
	struct store_ask own = *ask;
	struct asked asked = {0};
	int err;

	*locks = (struct store_locks){0};
	own.event = event_type(EVENT_LOCK)->name;
	err = asked_begin(&asked, store, &own, why);
	if (!err)
		err = ask_films(&asked, film_open, &locks->sum, add_film, &t, why);
	vec_foreach (&locks->all, lock)
		if (lock->holders.count)
			qsort(lock->holders.at, lock->holders.count, sizeof(*lock->holders.at),
			      holders_in_order);
	if (locks->all.count)
		qsort(locks->all.at, locks->all.count, sizeof(*locks->all.at), locks_in_order);
	asked_free(&asked);
	return err;
}

void store_locks_free(struct store_locks *locks)
{
	vec_foreach (&locks->all, lock)
		vec_free(&lock->holders);
	vec_free(&locks->all);
	map_free(&locks->known);
	name_pool_free(&locks->names);
}
