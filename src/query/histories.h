/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_HISTORIES_H
#define QUERY_HISTORIES_H

#include "base/vec.h"
#include "query/slices.h"

/*
 * The slices of all threads in memory, so that a walk can jump from a thread to the one that woke
 * it. A slice takes one line of the cache: of its evidence it keeps what a walk and its words need.
 */
struct history_slice {
	uint64_t start, end;	   /* of the film's clock */
	uint64_t address;	   /* the system call's first argument; of a futex its word */
	uint32_t operation, value; /* its second and its third argument, of which the low bits */
	uint32_t thread, waker, stack, flags;
	uint32_t object; /* as of a struct slice_evidence; of an epoll what was ready, if known */
	uint32_t on;	 /* of a goroutine: the thread that worked for it; 0 */
	uint16_t call, cpu; /* of a time in the run queue: the CPU on which it ran then */
	uint8_t kind;	    /* enum slice_kind */
	uint8_t state, context, descriptor;
};

/* Beside enum film_wait_flag and enum film_turn_flag: */
enum history_flag {
	/* a wait for a lock whose holder has not ended it: that is its waker here */
	HISTORY_HELD = 1u << 31,
	/* the waker's process has the other end of the connection that was waited for */
	HISTORY_PEER = 1u << 30,
	/* a poll of one connection, while its thread served a request, or waited for an answer */
	HISTORY_ASKED = 1u << 29,
	/* for the answer of a name server, by one connection */
	HISTORY_NAMES = 1u << 28,
	/* for a lock whose holder waits for the next connection: for its turn to do so */
	HISTORY_ACCEPTS = 1u << 27,
	/* its time was over, and its thread waited on: its waker is that of the last such wait */
	HISTORY_RETRIED = 1u << 26,
	/* as for a disk, but another process ended it, as the daemon of a file system does */
	HISTORY_BY_PROCESS = 1u << 25,
	/* by the roles of functions (query/explain/by_roles.h): for the daemon of a file system, */
	HISTORY_FUSE = 1u << 19,
	/* for a lock of a database: of a row, or of a table, */
	HISTORY_ROW = 1u << 24,
	HISTORY_TABLE = 1u << 23,
	/* for a client: for its next command, or until it takes an answer */
	HISTORY_CLIENT_READ = 1u << 22,
	HISTORY_CLIENT_WRITE = 1u << 21,
	/* its thread stops all others of its process: the waker is the one that stopped last */
	HISTORY_SAFEPOINT = 1u << 20,
	/* for more of a request that its thread serves, of whose answer nothing was sent yet */
	HISTORY_UPLOAD = 1u << 18,
};

/* Whether the thread waited for new work, or was stopped. */
static inline bool history_is_idle(const struct history_slice *slice)
{
	if (slice->flags & HISTORY_ACCEPTS)
		return true;
	return slice_is_wait(slice->kind) &&
	       !(slice->flags & (HISTORY_ASKED | HISTORY_NAMES | HISTORY_ROW | HISTORY_TABLE |
				 HISTORY_CLIENT_WRITE | HISTORY_UPLOAD)) &&
	       wait_class_is_idle(slice_wait_class(slice->kind));
}

/*
 * A wait for a lock, or a part of one; without an address: for what the process of the holder does
 * with the other end of a pipe.
 */
struct history_lock {
	uint64_t start, end, address;
	uint32_t thread, holder, place; /* as of a struct film_lock */
	uint8_t kind, sure;
};

enum {
	HISTORIES_MAX = 1 << 25 /* slices, which is 2 GiB */
};

struct histories {
	const struct film *film;
	uint64_t from, to;
	struct history_slice *slices; /* by thread, those of one thread in order of time */
	size_t *first; /* by thread: its first one; its last one is in front of the next thread's */
	uint8_t *goroutines; /* by thread: 1 where it is one; null: there are none */
	size_t count;
	vec(struct history_lock) locks; /* of slices of which the lock is known, in any order */
};

/*
 * Reads the slices of an event of turns, and of goroutines beside it (0: none), that have a part in
 * [from, to). 0, or a negative errno with *why filled: -E2BIG where they are more than
 * HISTORIES_MAX. histories_free() is needed in either case.
 */
int histories_load(struct histories *histories, struct film *film, uint32_t event, uint64_t from,
		   uint64_t to, struct fail *why);
void histories_free(struct histories *histories);

/* Whether the film's thread is a goroutine, of which these are slices. */
static inline bool histories_is_goroutine(const struct histories *histories, uint32_t thread)
{
	return histories->goroutines && histories->goroutines[thread];
}

#define HISTORY_NONE SIZE_MAX

/*
 * The slice of a thread that covers the ns at a time, or, where none does, the last one before it;
 * HISTORY_NONE: the thread has none that begins by then.
 */
size_t histories_find(const struct histories *histories, uint32_t thread, uint64_t time);

#endif
