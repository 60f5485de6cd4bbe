// SPDX-License-Identifier: Apache-2.0
#include "query/explain/pool.h"

#include <errno.h>
#include <stdlib.h>

struct looking {
	const struct explainer *e;
	const struct slice *wait; /* that is explained */
	uint8_t *members;	  /* by thread */
	struct explain_pool *pool;
	uint64_t last; /* when its worker ended the last of the others' waits; 0: it ended none */
};

/* Whether a thread of the worker's process ended a wait at the same place. */
static bool is_alike(const struct looking *l, const struct slice *slice)
{
	const struct film_thread *threads = l->e->film->threads;
	const struct slice *wait = l->wait;

	return slice->kind == wait->kind && slice->call == wait->call &&
	       slice->state == wait->state && slice->context == FILM_WAIT_BY_THREAD &&
	       slice->waker && slice->waker != slice->thread && slice->stack &&
	       !(slice->flags & (FILM_WAIT_OPEN | HISTORY_HELD)) &&
	       threads[slice->waker].process == threads[wait->waker].process &&
	       (slice->stack == wait->stack ||
		explain_stacks_are_alike(&l->e->stacks, slice->stack, wait->stack));
}

static void add_wait(struct looking *l, const struct slice *slice)
{
	l->pool->threads += !l->members[slice->waker];
	l->members[slice->waker] = 1;
	if (slice->waker != l->wait->waker || slice->thread == l->wait->thread ||
	    slice->end <= l->wait->start || slice->end >= l->wait->end)
		return;
	l->pool->before++;
	l->last = slice->end > l->last ? slice->end : l->last;
}

/* A wait for a lock of a runtime may be that long, and no work is missing. */
#define IDLE_NS 1000000ull

/* Whether a thread waited for work, or for another thread, which may be the same. */
static bool is_idle(const struct looking *l, const struct slice *slice)
{
	return slice->end - slice->start > IDLE_NS &&
	       (history_is_idle(slice) ||
		(slice_is_for_condition(slice) && !explain_lock_of(&l->e->locks, slice)));
}

/* Whether a thread was idle at some time in [from, to). */
static bool was_idle(const struct looking *l, uint32_t thread, uint64_t from, uint64_t to)
{
	const struct histories *h = &l->e->histories;
	size_t i = histories_find(h, thread, from);

	for (i = i == HISTORY_NONE ? h->first[thread] : i;
	     i < h->first[thread + 1] && h->slices[i].start < to; i++)
		if (h->slices[i].end > from && is_idle(l, &h->slices[i]))
			return true;
	return false;
}

static bool had_time(const struct looking *l)
{
	for (uint32_t thread = 1; thread < l->e->film->thread_count; thread++)
		if (l->members[thread] && was_idle(l, thread, l->wait->start, l->last))
			return true;
	return false;
}

int explain_pool_of(const struct explainer *e, const struct explain_part *part,
		    struct explain_pool *pool)
{
	const struct histories *h = &e->histories;
	struct looking l = {.e = e, .pool = pool};

	*pool = (struct explain_pool){0};
	if (part->slice == HISTORY_NONE || !part->is_followed || !part->stack)
		return 0;
	l.wait = &h->slices[part->slice];
	if (part->lock || !slice_is_for_condition(l.wait) || !l.wait->stack ||
	    !is_alike(&l, l.wait))
		return 0;
	l.members = calloc(e->film->thread_count + 1ull, 1);
	if (!l.members)
		return -ENOMEM;
	for (size_t i = 0; i < h->count; i++)
		if (is_alike(&l, &h->slices[i]))
			add_wait(&l, &h->slices[i]);
	if (!pool->before || had_time(&l))
		*pool = (struct explain_pool){0};
	free(l.members);
	return 0;
}
