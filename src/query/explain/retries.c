// SPDX-License-Identifier: Apache-2.0
#include "query/explain/retries.h"

/*
 * A thread that looks whether it has to wait on, takes the lock of its condition again or that of
 * its interpreter, and searches for deadlocks, as databases do then, takes less.
 */
#define BETWEEN_NS 1000000ull
/* And less than that part of the wait: with a short timeout, such a time may be work. */
#define BETWEEN_PART 10

/* What a retry takes over from the wait that follows. */
#define TAKEN (FILM_WAIT_OPEN | HISTORY_HELD | HISTORY_PEER | HISTORY_ASKED | HISTORY_NAMES)

/* Whether a wait ended since its time was over, or a timer's signal came. */
static bool is_timed_out(const struct history_slice *slice)
{
	enum wait_class class = slice_wait_class(slice->kind);

	if (!slice_is_wait(slice->kind) || slice->state == FILM_WAIT_GOROUTINE ||
	    slice->flags & FILM_WAIT_OPEN || class == WAIT_SLEEP || class == WAIT_STOPPED ||
	    class == WAIT_DISK || class == WAIT_FAULT)
		return false;
	if (slice->context == FILM_WAIT_BY_TIMER)
		return true;
	/* a disk may end a wait for events, by an eventfd; of a poll the time is over so, too */
	if (class == WAIT_POLL)
		return slice->context == FILM_WAIT_BY_INTERRUPT &&
		       slice->descriptor != FILM_FD_EVENT;
	/* no other interrupt ends a wait for a futex */
	return class == WAIT_LOCK &&
	       (slice->context == FILM_WAIT_BY_INTERRUPT || slice->context == FILM_WAIT_BY_SOFTIRQ);
}

/*
 * Whether both are waits for the same object by the same functions. A condition is waited for by
 * words in turn, and Python's are new each time: there the functions tell. Of what a poll waits for
 * only one that was ready is known. A wait without a stack is known by its first argument.
 */
static bool are_alike(const struct explain_stacks *stacks, const struct history_slice *a,
		      const struct history_slice *b)
{
	enum wait_class class = slice_wait_class(a->kind);

	if (a->kind != b->kind || a->call != b->call || a->state != b->state ||
	    (a->object && b->object && a->object != b->object))
		return false;
	if (a->stack && b->stack && !explain_stacks_are_alike(stacks, a->stack, b->stack))
		return false;
	return a->address == b->address ||
	       (a->stack && b->stack && (class == WAIT_LOCK || class == WAIT_POLL));
}

/* A turn for the lock of a condition, or of an interpreter. */
static bool is_turn(const struct history_slice *slice, uint64_t limit)
{
	return slice->kind == SLICE_WAIT + WAIT_LOCK && slice->end - slice->start <= limit;
}

/*
 * The wait that follows one, in the same thread, if it did nothing between; null: there is none.
 */
static struct history_slice *next_wait(const struct histories *histories,
				       struct history_slice *slice)
{
	const struct history_slice *last = &histories->slices[histories->first[slice->thread + 1]];
	uint64_t limit = (slice->end - slice->start) / BETWEEN_PART, ran = 0;
	struct history_slice *next = slice + 1;

	for (; next < last && (!slice_is_wait(next->kind) || is_turn(next, limit)); next++) {
		if (next->kind == SLICE_HOLE)
			return NULL;
		if (next->kind == SLICE_ON_CPU)
			ran += next->end - next->start;
	}
	return next < last && ran <= BETWEEN_NS && ran <= limit ? next : NULL;
}

/* Takes over how the wait that follows ended; which thread had the lock meanwhile is known. */
static void retry(struct history_slice *slice, const struct history_slice *next)
{
	if (slice->flags & HISTORY_HELD) {
		slice->flags |= HISTORY_RETRIED;
		return;
	}
	slice->stack = slice->stack ? slice->stack : next->stack;
	slice->waker = next->waker;
	slice->context = next->context;
	slice->flags = (slice->flags & ~(uint32_t)TAKEN) | (next->flags & TAKEN) | HISTORY_RETRIED;
	if (next->object) {
		slice->object = next->object;
		slice->descriptor = next->descriptor;
	}
}

void explain_retries_mark(struct histories *histories, struct explain_stacks *stacks)
{
	/* the last one of several is met first */
	for (size_t i = histories->count; i--;) {
		struct history_slice *slice = &histories->slices[i], *next;

		if (!is_timed_out(slice))
			continue;
		next = next_wait(histories, slice);
		if (next && are_alike(stacks, slice, next))
			retry(slice, next);
	}
}
