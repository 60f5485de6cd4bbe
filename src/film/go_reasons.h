/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_GO_REASONS_H
#define FILM_GO_REASONS_H

#include <stdint.h>

/*
 * Why a goroutine waits, as films have it (struct film_wait, call). New ones come at the end. The
 * runtime's own words stand in the stack.
 */
enum film_go_reason {
	FILM_GO_OTHER,
	FILM_GO_CHAN_RECEIVE,
	FILM_GO_CHAN_SEND,
	FILM_GO_CHAN_NIL, /* for ever */
	FILM_GO_SELECT,
	FILM_GO_MUTEX,
	FILM_GO_RWMUTEX,
	FILM_GO_SEMACQUIRE, /* up to Go 1.19 that of mutexes and wait groups, too */
	FILM_GO_COND,
	FILM_GO_WAITGROUP,
	FILM_GO_IO,
	FILM_GO_SLEEP,
	FILM_GO_GC,   /* for the garbage collector */
	FILM_GO_IDLE, /* the runtime's own goroutines, without work */
	/* of tasks of asyncio: */
	FILM_GO_FUTURE, /* for a future */
	FILM_GO_TASK,	/* for another task to end */
	/* of virtual threads of Java; for monitors they wait as for a mutex and a condition: */
	FILM_GO_PARK,	    /* until it is unparked: a lock, a queue, a socket, … */
	FILM_GO_TIMED_PARK, /* the same, for a time at most: as it sleeps, too */
	FILM_GO_REASONS,
};

/* "chan-receive"; null: not known. */
const char *go_reason_name(uint32_t reason);

#endif
