// SPDX-License-Identifier: Apache-2.0
#include "query/explain/by_roles.h"

static const struct {
	enum film_role role;
	uint32_t flag;
} marks[] = {
	{FILM_ROLE_FUSE, HISTORY_FUSE},
	{FILM_ROLE_ROW_LOCK, HISTORY_ROW},
	{FILM_ROLE_TABLE_LOCK, HISTORY_TABLE},
	{FILM_ROLE_CLIENT_READ, HISTORY_CLIENT_READ},
	{FILM_ROLE_CLIENT_WRITE, HISTORY_CLIENT_WRITE},
};

/* Its waits say so: of a thread that was not recorded it is not known. */
static bool is_of_program(const struct histories *histories, uint32_t thread)
{
	for (size_t i = histories->first[thread]; i < histories->first[thread + 1]; i++)
		if (slice_is_wait(histories->slices[i].kind))
			return !(histories->slices[i].flags & FILM_WAIT_KERNEL);
	return false;
}

/*
 * A disk ends waits by interrupts, or by threads of the kernel. A process that ends one of another
 * process had read that memory itself, or it is the daemon of a file system, and has the answer.
 */
static bool is_by_process(const struct histories *histories, const struct slice *slice)
{
	const struct film_thread *threads = histories->film->threads;
	enum wait_class class = slice_wait_class(slice->kind);

	return (class == WAIT_DISK || class == WAIT_FAULT) && slice->waker &&
	       slice->context == FILM_WAIT_BY_THREAD &&
	       threads[slice->waker].process != threads[slice->thread].process &&
	       is_of_program(histories, slice->waker);
}

static void mark(const struct roles *roles, struct slice *slice)
{
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (roles_has(roles, slice->stack, marks[i].role))
			slice->flags |= marks[i].flag;
	/* the lock of a row is one of a table's locks, too */
	if (slice->flags & HISTORY_ROW)
		slice->flags &= ~(uint32_t)HISTORY_TABLE;
	/* what sleeps by waiting for events, or for a condition, sleeps */
	if (roles_has(roles, slice->stack, FILM_ROLE_SLEEP) &&
	    (slice->kind == SLICE_WAIT + WAIT_POLL || slice->kind == SLICE_WAIT + WAIT_LOCK))
		slice->kind = SLICE_WAIT + WAIT_SLEEP;
}

/* -- safepoints: --------------------------------------------------------------------------------
 *
 * The thread that stops all others looks again and again whether they have stopped, and sleeps
 * between. The one for which it waited is the last one that stopped: it ran, or was ready, all the
 * time, and waits from within the last of these sleeps on.
 */

/* The one that waits for the others looks at them that much later. */
#define SEEN_NS 200000ull

/* What it does to look, and no work with which the others have to wait. */
#define LOOK_NS 1000000ull

/* The last of the sleeps of a stop, of which the first one is given. */
static size_t last_sleep(const struct histories *histories, uint32_t stopper, size_t first)
{
	const struct slice *slices = histories->slices;
	uint64_t ran = 0;
	size_t last = first;

	for (size_t i = first + 1; i < histories->first[stopper + 1]; i++) {
		if (slices[i].kind == SLICE_WAIT + WAIT_SLEEP) {
			last = i;
			ran = 0;
			continue;
		}
		if (slices[i].kind == SLICE_ON_CPU)
			ran += slices[i].end - slices[i].start;
		if (slice_is_wait(slices[i].kind) || slices[i].kind == SLICE_HOLE || ran > LOOK_NS)
			break;
	}
	return last;
}

/* When it looks again behind a sleep: once it has a CPU. */
static uint64_t looks_at(const struct histories *histories, uint32_t stopper, size_t sleep)
{
	const struct slice *slices = histories->slices;
	size_t i = sleep + 1;

	while (i < histories->first[stopper + 1] && !slice_is_wait(slices[i].kind) &&
	       slices[i].kind != SLICE_ON_CPU)
		i++;
	return i < histories->first[stopper + 1] ? slices[i].start : slices[sleep].end;
}

/* When a thread began to wait, before a time, having run from a time on; 0: it did not. */
static uint64_t stopped(const struct histories *histories, uint32_t thread, uint64_t from,
			uint64_t to)
{
	size_t at = histories_find(histories, thread, to);
	const struct slice *slices = histories->slices;
	uint64_t start;

	if (at == HISTORY_NONE || !slice_is_wait(slices[at].kind) || slices[at].end < to)
		return 0;
	start = slices[at].start;
	while (at > histories->first[thread] && slices[at].start > from) {
		if (slice_is_wait(slices[at - 1].kind) || slices[at - 1].kind == SLICE_HOLE)
			return 0;
		at--;
	}
	return start;
}

/* The thread of a process that stopped last; 0: none is known. */
static uint32_t last_to_stop(const struct histories *histories, uint32_t stopper, uint64_t from,
			     uint64_t last, uint64_t to)
{
	const struct film *film = histories->film;
	uint64_t latest = last;
	uint32_t found = 0;

	for (uint32_t thread = 1; thread < film->thread_count; thread++) {
		uint64_t time;

		if (thread == stopper ||
		    film->threads[thread].process != film->threads[stopper].process)
			continue;
		time = stopped(histories, thread, from, to + SEEN_NS);
		if (time > latest) {
			latest = time;
			found = thread;
		}
	}
	return found;
}

/* The sleeps of a stop, of which the first one is given; returns the place behind the last. */
static size_t stop(struct histories *histories, uint32_t stopper, size_t first)
{
	struct slice *slices = histories->slices;
	size_t last = last_sleep(histories, stopper, first);
	uint32_t found = last_to_stop(histories, stopper, slices[first].end, slices[last].start,
				      looks_at(histories, stopper, last));

	for (size_t i = first; found && i <= last; i++)
		if (slice_is_wait(slices[i].kind)) {
			slices[i].waker = found;
			slices[i].flags |= HISTORY_HELD | HISTORY_SAFEPOINT;
		}
	return last + 1;
}

int explain_by_roles(struct histories *histories, const struct roles *roles)
{
	for (size_t i = 0; i < histories->count; i++) {
		struct slice *slice = &histories->slices[i];

		if (!slice_is_wait(slice->kind))
			continue;
		if (slice->stack)
			mark(roles, slice);
		if (is_by_process(histories, slice))
			slice->flags |= HISTORY_BY_PROCESS;
	}
	for (uint32_t thread = 1; thread < histories->film->thread_count; thread++) {
		if (!roles_of_thread_has(roles, thread, FILM_ROLE_SAFEPOINT))
			continue;
		for (size_t i = histories->first[thread]; i < histories->first[thread + 1];)
			i = histories->slices[i].kind == SLICE_WAIT + WAIT_SLEEP
				    ? stop(histories, thread, i)
				    : i + 1;
	}
	return 0;
}
