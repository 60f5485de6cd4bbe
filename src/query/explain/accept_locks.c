// SPDX-License-Identifier: Apache-2.0
#include "query/explain/accept_locks.h"

#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "query/objects.h"

static uint64_t key_of(const struct history_lock *lock)
{
	uint64_t key[] = {lock->address, (uint64_t)lock->place << 8 | lock->kind};

	return hash_bytes(key, sizeof(key));
}

/* The lock that a slice waited for; null: none, or not known. */
static const struct history_lock *lock_of(const struct explain_locks *locks,
					  const struct history_slice *slice)
{
	return slice->kind == SLICE_WAIT + WAIT_LOCK && slice->state != FILM_WAIT_GOROUTINE &&
			       slice->waker
		       ? explain_lock_of(locks, slice)
		       : NULL;
}

/* The last wait of the holder before it released the lock, or that goes on; null: none. */
static const struct history_slice *last_of_holder(const struct histories *histories,
						  const struct history_slice *slice)
{
	size_t at = histories_find(histories, slice->waker, slice->end - 1);

	while (at != HISTORY_NONE && at >= histories->first[slice->waker]) {
		const struct history_slice *its = &histories->slices[at];

		if (its->kind == SLICE_HOLE || its->end <= slice->start)
			return NULL;
		if (slice_is_wait(its->kind))
			return its;
		at = at ? at - 1 : HISTORY_NONE;
	}
	return NULL;
}

static bool is_for_connection(const struct film *film, const struct history_slice *slice)
{
	const char *name;
	size_t length;

	if (slice->kind == SLICE_WAIT + WAIT_ACCEPT)
		return true;
	if (slice->kind != SLICE_WAIT + WAIT_POLL || !slice->object)
		return false;
	name = object_name(film, slice->object);
	length = strlen(name);
	return length > 9 && !strcmp(name + length - 9, "(listens)");
}

/*
 * Whether the holder waited for a connection for most of the wait for the lock; is_sure false: for
 * one, or for something else that is not known.
 */
static bool held_idly(const struct histories *histories, const struct history_slice *slice,
		      bool is_sure)
{
	size_t at = histories_find(histories, slice->waker, slice->end - 1);
	uint64_t sum = 0;

	for (; at != HISTORY_NONE && at >= histories->first[slice->waker];
	     at = at ? at - 1 : HISTORY_NONE) {
		const struct history_slice *its = &histories->slices[at];
		uint64_t start = its->start > slice->start ? its->start : slice->start;
		uint64_t end = its->end < slice->end ? its->end : slice->end;

		if (its->end <= slice->start)
			break;
		if (its->kind == SLICE_WAIT + WAIT_ACCEPT ||
		    (its->kind == SLICE_WAIT + WAIT_POLL &&
		     (!is_sure || is_for_connection(histories->film, its))))
			sum += end - start;
	}
	return sum > (slice->end - slice->start) / 2;
}

/* Whether the wait shows that its lock is one, which the holder has as it waits for connections. */
static bool shows_it(const struct histories *histories, const struct history_slice *slice,
		     const struct history_lock *lock)
{
	return lock->sure == FILM_HOLDER_OWNER && lock->holder == slice->waker &&
	       held_idly(histories, slice, true);
}

/*
 * Of a wait for such a lock: whether its holder waited for a connection, or had one as soon as it
 * had the lock. Of an epoll that still waits it is not known for what.
 */
static bool is_for_turn(const struct explain_locks *locks, const struct histories *histories,
			const struct history_slice *slice, const struct history_lock *lock)
{
	const struct history_slice *its = last_of_holder(histories, slice);
	const struct history_lock *before;

	if (held_idly(histories, slice, false))
		return true;
	if (!its)
		return false;
	if (its->kind == SLICE_WAIT + WAIT_POLL || its->kind == SLICE_WAIT + WAIT_ACCEPT)
		return true;
	before = lock_of(locks, its);
	return before && key_of(before) == key_of(lock);
}

int explain_accept_locks_mark(const struct explain_locks *locks, struct histories *histories)
{
	struct map known = {0};
	int err = 0;

	for (size_t i = 0; !err && i < histories->count; i++) {
		const struct history_lock *lock = lock_of(locks, &histories->slices[i]);

		if (lock && shows_it(histories, &histories->slices[i], lock) &&
		    !map_put(&known, key_of(lock), 1))
			err = -ENOMEM;
	}
	for (size_t i = 0; !err && known.count && i < histories->count; i++) {
		struct history_slice *slice = &histories->slices[i];
		const struct history_lock *lock = lock_of(locks, slice);

		if (lock && map_get(&known, key_of(lock)) &&
		    is_for_turn(locks, histories, slice, lock))
			slice->flags |= HISTORY_ACCEPTS;
	}
	map_free(&known);
	return err;
}
