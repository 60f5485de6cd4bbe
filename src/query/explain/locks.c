// SPDX-License-Identifier: Apache-2.0
#include "query/explain/locks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/saturated.h"

struct loading {
	struct explain_locks *locks;
	uint64_t to;
};

static int add_locks(void *context, const struct film_locks *rows)
{
	struct loading *loading = context;

	for (size_t i = 0; i < rows->count; i++) {
		const struct slice_lock lock = {
			.start = rows->end[i] - rows->duration[i],
			.end = rows->end[i],
			.address = rows->address[i],
			.thread = rows->thread[i],
			.holder = rows->holder[i],
			.place = rows->place[i],
			.kind = (uint8_t)rows->kind[i],
			.sure = (uint8_t)rows->sure[i],
		};

		if (lock.start < loading->to && !vec_push(&loading->locks->all, lock))
			return -ENOMEM;
	}
	return 0;
}

static int by_thread_and_end(const void *left, const void *right)
{
	const struct slice_lock *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

int explain_locks_load(struct explain_locks *locks, const struct histories *histories,
		       struct film *film, uint32_t event, uint64_t from, uint64_t to,
		       struct fail *why)
{
	struct loading loading = {locks, to};
	int err = 0;

	for (size_t i = 0; !err && i < histories->locks.count; i++)
		if (!vec_push(&locks->all, histories->locks.at[i]))
			err = -ENOMEM;
	/* a row ends when the thread runs again, or, of a wait that lasts, each second */
	if (!err && event)
		err = film_each_locks(film, event, from, add_saturated(to, FILM_TURN_MAX + 1),
				      add_locks, &loading, why);
	if (locks->all.count)
		qsort(locks->all.at, locks->all.count, sizeof(*locks->all.at), by_thread_and_end);
	for (size_t i = 0; !err && i < locks->all.count; i++)
		if ((!i || locks->all.at[i].thread != locks->all.at[i - 1].thread) &&
		    !map_put(&locks->first, locks->all.at[i].thread, i))
			err = -ENOMEM;
	return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot read the waits for locks") : err;
}

void explain_locks_free(struct explain_locks *locks)
{
	vec_free(&locks->all);
	map_free(&locks->first);
}

const struct slice_lock *explain_lock_of(const struct explain_locks *locks,
					 const struct slice *slice)
{
	const uint64_t *first = map_get(&locks->first, slice->thread);
	size_t low = first ? *first : 0, high = locks->all.count;

	if (!first)
		return NULL;
	/* the first one of the thread that ends behind the slice's start */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct slice_lock *lock = &locks->all.at[middle];

		if (lock->thread == slice->thread && lock->end <= slice->start)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == locks->all.count || locks->all.at[low].thread != slice->thread ||
	    locks->all.at[low].start >= slice->end)
		return NULL;
	return &locks->all.at[low];
}

/* It has not ended, its time was over, or what ended it did not release the lock. */
static bool is_without_waker(const struct slice *slice)
{
	return slice->flags & (FILM_WAIT_OPEN | FILM_TURN_UNRELEASED) || !slice->waker ||
	       (slice->context != FILM_WAIT_BY_THREAD && slice->context != FILM_WAIT_BY_EITHER);
}

void explain_locks_hold(const struct explain_locks *locks, struct histories *histories)
{
	for (size_t i = 0; i < histories->count; i++) {
		struct slice *slice = &histories->slices[i];
		const struct slice_lock *lock;

		if ((slice->kind != SLICE_WAIT + WAIT_LOCK &&
		     slice->kind != SLICE_WAIT + WAIT_IPC) ||
		    !is_without_waker(slice))
			continue;
		lock = explain_lock_of(locks, slice);
		if (lock && lock->holder && lock->holder != slice->thread &&
		    (lock->sure == FILM_HOLDER_OWNER || lock->sure == FILM_HOLDER_LAST)) {
			slice->waker = lock->holder;
			slice->flags |= HISTORY_HELD;
		}
	}
}
