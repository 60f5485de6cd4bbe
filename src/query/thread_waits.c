// SPDX-License-Identifier: Apache-2.0
#include "query/thread_waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/explain/explain.h"

/* The wait with which the history of a thread ends; null: it has none. */
static const struct history_slice *last_wait(const struct histories *histories, uint32_t thread)
{
	size_t next = histories->first[thread + 1];
	const struct history_slice *slice =
		next > histories->first[thread] ? &histories->slices[next - 1] : NULL;

	return slice && slice_is_wait(slice->kind) ? slice : NULL;
}

static const struct history_lock *lock_of(const struct explainer *e,
					  const struct history_slice *slice)
{
	return slice->kind == SLICE_WAIT + WAIT_LOCK ? explain_lock_of(&e->locks, slice) : NULL;
}

static void put_object(const struct explainer *e, const struct history_slice *slice,
		       const struct history_lock *lock, char *words, size_t size)
{
	const struct slice of = explain_slice(slice);

	*words = 0;
	if (lock)
		lock_words(e->film,
			   &(struct lock_shown){.address = lock->address,
						.place = lock->place,
						.kind = lock->kind},
			   words, size);
	else if (slice_object(e->film, &of, words, size) != OBJECT_KNOWN)
		*words = 0;
}

static int take(const struct explainer *e, uint32_t thread, struct thread_wait *wait)
{
	const struct history_slice *slice = last_wait(&e->histories, thread);
	const struct history_lock *lock = slice ? lock_of(e, slice) : NULL;
	char words[512];

	if (!slice)
		return 0;
	put_object(e, slice, lock, words, sizeof(words));
	wait->object = *words ? strdup(words) : NULL;
	wait->holder = lock && lock->holder != thread ? lock->holder : 0;
	wait->peer = slice->object ? e->peers[slice->object] : 0;
	return *words && !wait->object ? -ENOMEM : 0;
}

/* Holders are followed, up to as many as there are threads: a cycle that is met does not end. */
static bool is_dead(const struct thread_waits *waits, uint32_t thread)
{
	uint32_t at = waits->all[thread].holder;

	for (uint32_t i = 0; at && at != thread && i < waits->count; i++)
		at = waits->all[at].holder;
	return at == thread;
}

int thread_waits_load(struct film *film, struct thread_waits *waits, struct fail *why)
{
	const struct filter all = {0};
	struct explainer e;
	int err;

	*waits = (struct thread_waits){0};
	if (!slices_event(film))
		return 0;
	err = explainer_init(&e, film, &all, NULL, why);
	if (!err) {
		waits->count = film->thread_count;
		waits->all = calloc(waits->count + 1ull, sizeof(*waits->all));
		err = waits->all ? 0 : -ENOMEM;
		for (uint32_t thread = 1; !err && thread < waits->count; thread++)
			err = take(&e, thread, &waits->all[thread]);
		if (err)
			fail_errno(why, err, NULL, "cannot list the threads");
	} else if (err == -ENOENT) {
		/* no thread was seen long enough: what is known without it is shown */
		err = 0;
	}
	explainer_free(&e);
	for (uint32_t thread = 1; !err && waits->all && thread < waits->count; thread++)
		waits->all[thread].is_dead = is_dead(waits, thread);
	return err;
}

void thread_waits_free(struct thread_waits *waits)
{
	for (uint32_t thread = 0; waits->all && thread < waits->count; thread++)
		free(waits->all[thread].object);
	free(waits->all);
	*waits = (struct thread_waits){0};
}
