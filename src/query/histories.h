/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_HISTORIES_H
#define QUERY_HISTORIES_H

#include "base/vec.h"
#include "query/slices.h"

/* Flags in addition to enum film_wait_flag and enum film_turn_flag. */
enum history_flag {
	/* a wait for a lock that its holder did not end: the waker here is the holder */
	HISTORY_HELD = 1u << 31,
	/* the waker's process has the other end of the awaited connection */
	HISTORY_PEER = 1u << 30,
	/* a poll of one connection while the thread served a request, or awaited an answer */
	HISTORY_ASKED = 1u << 29,
	/* a wait for a name server's answer on one connection */
	HISTORY_NAMES = 1u << 28,
	/* a wait for a lock whose holder waits for the next connection: for the right to accept */
	HISTORY_ACCEPTS = 1u << 27,
	/* a wait that timed out and was repeated: the waker is that of the last repetition */
	HISTORY_RETRIED = 1u << 26,
	/* looks like a wait for a disk, but another process ended it, as a FUSE daemon does */
	HISTORY_BY_PROCESS = 1u << 25,
	/*
	 * the rest is from the roles of functions (query/explain/by_roles.h); a wait for a FUSE
	 * daemon
	 */
	HISTORY_FUSE = 1u << 19,
	/* a wait for a database's lock of a row, or of a table */
	HISTORY_ROW = 1u << 24,
	HISTORY_TABLE = 1u << 23,
	/* a wait for a client: for its next command, or until it reads the answer */
	HISTORY_CLIENT_READ = 1u << 22,
	HISTORY_CLIENT_WRITE = 1u << 21,
	/* the thread stops all others of its process: the waker is the last one that stopped */
	HISTORY_SAFEPOINT = 1u << 20,
	/* a wait for the rest of a request whose answer has not begun */
	HISTORY_UPLOAD = 1u << 18,
};

/* Whether the thread waited for new work, or was stopped. */
static inline bool history_is_idle(const struct slice *slice)
{
	if (slice->flags & HISTORY_ACCEPTS)
		return true;
	return slice_is_wait(slice->kind) &&
	       !(slice->flags & (HISTORY_ASKED | HISTORY_NAMES | HISTORY_ROW | HISTORY_TABLE |
				 HISTORY_CLIENT_WRITE | HISTORY_UPLOAD)) &&
	       wait_class_is_idle(slice_wait_class(slice->kind));
}

enum {
	HISTORIES_MAX = 1 << 25 /* slices; they take 2 GiB */
};

/*
 * The slices of all threads in memory, so that a walk can jump from a thread to its waker. The
 * object of an epoll is here the one that was ready, if it is known. FILM_WAIT_OPEN, and not
 * goes_on, says that a wait had not ended.
 */
struct histories {
	const struct film *film;
	uint64_t from, to;
	struct slice *slices; /* sorted by thread, then time */
	/* by thread: index of its first slice; its last one precedes the next thread's first */
	size_t *first;
	uint8_t *lanes; /* by thread: 1 for a goroutine; null: there are none */
	size_t count;
	vec(struct slice_lock) locks; /* for slices whose lock is known, unsorted */
};

/*
 * Reads the slices of an event of turns, and of the film's events of goroutines, that overlap
 * [from, to). Returns 0 or a negative errno with *why filled; -E2BIG: more than HISTORIES_MAX
 * slices. Call histories_free() in both cases.
 */
int histories_load(struct histories *histories, struct film *film, uint32_t event, uint64_t from,
		   uint64_t to, struct fail *why);
void histories_free(struct histories *histories);

/* Whether a thread of the film is a goroutine with slices here. */
static inline bool histories_is_lane(const struct histories *histories, uint32_t thread)
{
	return histories->lanes && histories->lanes[thread];
}

#define HISTORY_NONE SIZE_MAX

/*
 * The index of the slice of a thread that covers a time, or else of the last one before it;
 * HISTORY_NONE: the thread has no slice that begins by then.
 */
size_t histories_find(const struct histories *histories, uint32_t thread, uint64_t time);

#endif
