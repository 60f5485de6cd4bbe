// SPDX-License-Identifier: Apache-2.0
#include "query/explain_locks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/saturated.h"
#include "query/lock_words.h"

struct loading {
	struct explain_locks *locks;
	uint64_t to;
};

static int take(void *context, const struct film_locks *rows)
{
	struct loading *loading = context;

	for (size_t i = 0; i < rows->count; i++) {
		const struct explain_lock lock = {
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
	const struct explain_lock *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

int explain_locks_load(struct explain_locks *locks, struct film *film, uint32_t event,
		       uint64_t from, uint64_t to, struct fail *why)
{
	struct loading loading = {locks, to};
	/* a row ends when the thread runs again, or, of a wait that lasts, each second */
	int err = film_each_locks(film, event, from, add_saturated(to, FILM_TURN_MAX + 1), take,
				  &loading, why);

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

const struct explain_lock *explain_lock_of(const struct explain_locks *locks,
					   const struct history_slice *slice)
{
	const uint64_t *first = map_get(&locks->first, slice->thread);
	size_t low = first ? *first : 0, high = locks->all.count;

	if (!first)
		return NULL;
	/* the first one of the thread that ends behind the slice's start */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct explain_lock *lock = &locks->all.at[middle];

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

/* It has not ended, or its time was over. */
static bool is_without_waker(const struct history_slice *slice)
{
	return slice->flags & FILM_WAIT_OPEN || !slice->waker ||
	       (slice->context != FILM_WAIT_BY_THREAD && slice->context != FILM_WAIT_BY_EITHER);
}

void explain_locks_hold(const struct explain_locks *locks, struct histories *histories)
{
	for (size_t i = 0; i < histories->count; i++) {
		struct history_slice *slice = &histories->slices[i];
		const struct explain_lock *lock;

		if (slice->kind != SLICE_WAIT + WAIT_LOCK || !is_without_waker(slice))
			continue;
		lock = explain_lock_of(locks, slice);
		if (lock && lock->holder && lock->holder != slice->thread &&
		    (lock->sure == FILM_HOLDER_OWNER || lock->sure == FILM_HOLDER_LAST)) {
			slice->waker = lock->holder;
			slice->flags |= HISTORY_HELD;
		}
	}
}

void explain_lock_words(const struct film *film, const struct explain_lock *lock, char *words,
			size_t size)
{
	const struct film_frame *place = &film->frames[lock->place];
	const char *image = name_of_image(film->images[place->image].path);
	const char *what = lock_kind_words(lock->kind);

	if (lock->place && place->function)
		snprintf(words, size, "%s %.150s in %.60s", what,
			 film->functions[place->function].name, image);
	else if (lock->place)
		snprintf(words, size, "%s %.60s+0x%llx", what, image,
			 (unsigned long long)place->address);
	else if (lock_is_waiters_own(lock->kind))
		snprintf(words, size, "%s", what);
	else
		snprintf(words, size, "%s 0x%llx", what, (unsigned long long)lock->address);
}
