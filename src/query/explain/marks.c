// SPDX-License-Identifier: Apache-2.0
#include "query/explain/marks.h"

#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "base/search.h"
#include "query/explain/peers.h"
#include "query/objects.h"

/*
 * A thread that looks whether it has to wait on, takes the lock of its condition again or that of
 * its interpreter, and searches for deadlocks, as databases do then, takes less.
 */
#define BETWEEN_NS 1000000ull
/* Or, on a slow machine, less than that part of a long wait. */
#define BETWEEN_PART_LONG 100
/* And less than that part of the wait: with a short timeout, such a time may be work. */
#define BETWEEN_PART 10

/* What a retry takes over from the wait that follows. */
#define TAKEN (FILM_WAIT_OPEN | HISTORY_HELD | HISTORY_PEER | HISTORY_ASKED | HISTORY_NAMES)

/* -- waits that begin anew --------------------------------------------------------------------- */

/* Whether a wait ended since its time was over, or a timer's signal came. */
static bool is_timed_out(const struct slice *slice)
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
static bool are_alike(const struct explain_stacks *stacks, const struct slice *a,
		      const struct slice *b)
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
static bool is_turn(const struct slice *slice, uint64_t limit)
{
	return slice->kind == SLICE_WAIT + WAIT_LOCK && slice->end - slice->start <= limit;
}

/* For how long its thread runs at most between a wait and the next one, if both are one. */
static uint64_t between_at_most(uint64_t wait)
{
	uint64_t most = wait / BETWEEN_PART_LONG;

	if (most < BETWEEN_NS)
		most = BETWEEN_NS;
	return most < wait / BETWEEN_PART ? most : wait / BETWEEN_PART;
}

/*
 * The wait that follows one, in the same thread, if it did nothing between; null: there is none.
 */
static struct slice *next_wait(const struct histories *histories, struct slice *slice)
{
	const struct slice *last = &histories->slices[histories->first[slice->thread + 1]];
	uint64_t wait = slice->end - slice->start, ran = 0;
	struct slice *next = slice + 1;

	for (; next < last && (!slice_is_wait(next->kind) || is_turn(next, wait / BETWEEN_PART));
	     next++) {
		if (next->kind == SLICE_HOLE)
			return NULL;
		if (next->kind == SLICE_ON_CPU)
			ran += next->end - next->start;
	}
	return next < last && ran <= between_at_most(wait) ? next : NULL;
}

/* Takes over how the wait that follows ended; which thread had the lock meanwhile is known. */
static void retry(struct slice *slice, const struct slice *next)
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
		struct slice *slice = &histories->slices[i], *next;

		if (!is_timed_out(slice))
			continue;
		next = next_wait(histories, slice);
		if (next && are_alike(stacks, slice, next))
			retry(slice, next);
	}
}

/* -- uploads ----------------------------------------------------------------------------------- */

/* Whether all of a wait lies between a request's first byte and the first one of its answer. */
static bool is_before_answer(const struct explain_served *served, const struct slice *slice)
{
	uint64_t until = served->first ? served->start + served->first : served->end;

	return slice->start >= served->start && slice->end <= until;
}

static bool is_of_upload(const struct explain_requests *requests, const struct film *film,
			 const struct slice *slice)
{
	const struct explain_served *served = requests->served.at;
	size_t count = requests->served.count;
	uint64_t ends = explain_ends_of_object(object_name(film, slice->object));
	size_t at = search_first(
		count, i,
		served[i].answerer < slice->thread ||
			(served[i].answerer == slice->thread && served[i].end <= slice->start));

	return ends && at < count && served[at].answerer == slice->thread &&
	       served[at].ends == ends && is_before_answer(&served[at], slice);
}

void explain_uploads_mark(const struct explain_requests *requests, struct histories *histories)
{
	for (size_t i = 0; requests->served.count && i < histories->count; i++) {
		struct slice *slice = &histories->slices[i];

		if ((slice->kind == SLICE_WAIT + WAIT_RECEIVE ||
		     slice->kind == SLICE_WAIT + WAIT_POLL) &&
		    slice->object && slice->descriptor == FILM_FD_SOCKET &&
		    is_of_upload(requests, histories->film, slice))
			slice->flags |= HISTORY_UPLOAD;
	}
}

/* -- children ---------------------------------------------------------------------------------- */

/* Whether a process lives at a time, as far as the film knows. */
static bool lives(const struct film_process *process, uint64_t time)
{
	return process->start < time && (!process->end || process->end >= time);
}

/* The only process that a wait may be for; 0: there is none, or there are several. */
static uint32_t child_of(const struct film *film, const struct slice *slice)
{
	const char *call = wait_call_name(film->info.arch, slice->state, slice->call);
	const struct film_process *own = &film->processes[film->threads[slice->thread].process];
	int32_t pid = !strcmp(call, "wait4") ? (int32_t)slice->address : -1;
	uint32_t found = 0;

	for (uint32_t id = 1; id < film->process_count; id++) {
		const struct film_process *process = &film->processes[id];

		if (process->parent != own->pid || !lives(process, slice->end) ||
		    (pid > 0 && process->pid != (uint32_t)pid))
			continue;
		/* what has executed another program stands there more than once */
		if (found && film->processes[found].pid != process->pid)
			return 0;
		found = id;
	}
	return found;
}

/* The thread by which a process is known; 0: the film has none that does anything. */
static uint32_t main_thread(const struct histories *histories, uint32_t process)
{
	const struct film *film = histories->film;

	for (uint32_t thread = 1; thread < film->thread_count; thread++)
		if (film->threads[thread].process == process &&
		    film->threads[thread].tid == film->processes[process].pid &&
		    histories->first[thread] < histories->first[thread + 1])
			return thread;
	return 0;
}

void explain_children_mark(struct histories *histories)
{
	for (size_t i = 0; i < histories->count; i++) {
		struct slice *slice = &histories->slices[i];
		uint32_t child;

		if (slice->kind != SLICE_WAIT + WAIT_CHILD || !(slice->flags & FILM_WAIT_OPEN))
			continue;
		child = child_of(histories->film, slice);
		slice->waker = child ? main_thread(histories, child) : 0;
		if (slice->waker)
			slice->flags |= HISTORY_HELD;
	}
}

/* -- locks of those that accept connections ---------------------------------------------------- */

static uint64_t key_of(const struct slice_lock *lock)
{
	uint64_t key[] = {lock->address, (uint64_t)lock->place << 8 | lock->kind};

	return hash_bytes(key, sizeof(key));
}

/* The lock that a slice waited for; null: none, or not known. */
static const struct slice_lock *lock_of(const struct explain_locks *locks,
					const struct slice *slice)
{
	return slice->kind == SLICE_WAIT + WAIT_LOCK && slice->state != FILM_WAIT_GOROUTINE &&
			       slice->waker
		       ? explain_lock_of(locks, slice)
		       : NULL;
}

/* The last wait of the holder before it released the lock, or that goes on; null: none. */
static const struct slice *last_of_holder(const struct histories *histories,
					  const struct slice *slice)
{
	size_t at = histories_find(histories, slice->waker, slice->end - 1);

	while (at != HISTORY_NONE && at >= histories->first[slice->waker]) {
		const struct slice *its = &histories->slices[at];

		if (its->kind == SLICE_HOLE || its->end <= slice->start)
			return NULL;
		if (slice_is_wait(its->kind))
			return its;
		at = at ? at - 1 : HISTORY_NONE;
	}
	return NULL;
}

static bool is_for_connection(const struct film *film, const struct slice *slice)
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
static bool held_idly(const struct histories *histories, const struct slice *slice, bool is_sure)
{
	size_t at = histories_find(histories, slice->waker, slice->end - 1);
	uint64_t sum = 0;

	for (; at != HISTORY_NONE && at >= histories->first[slice->waker];
	     at = at ? at - 1 : HISTORY_NONE) {
		const struct slice *its = &histories->slices[at];
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
static bool shows_it(const struct histories *histories, const struct slice *slice,
		     const struct slice_lock *lock)
{
	return lock->sure == FILM_HOLDER_OWNER && lock->holder == slice->waker &&
	       held_idly(histories, slice, true);
}

/*
 * Of a wait for such a lock: whether its holder waited for a connection, or had one as soon as it
 * had the lock. Of an epoll that still waits it is not known for what.
 */
static bool is_for_turn(const struct explain_locks *locks, const struct histories *histories,
			const struct slice *slice, const struct slice_lock *lock)
{
	const struct slice *its = last_of_holder(histories, slice);
	const struct slice_lock *before;

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
		const struct slice_lock *lock = lock_of(locks, &histories->slices[i]);

		if (lock && shows_it(histories, &histories->slices[i], lock) &&
		    !map_put(&known, key_of(lock), 1))
			err = -ENOMEM;
	}
	for (size_t i = 0; !err && known.count && i < histories->count; i++) {
		struct slice *slice = &histories->slices[i];
		const struct slice_lock *lock = lock_of(locks, slice);

		if (lock && map_get(&known, key_of(lock)) &&
		    is_for_turn(locks, histories, slice, lock))
			slice->flags |= HISTORY_ACCEPTS;
	}
	map_free(&known);
	return err;
}
