/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_SCHED_LIVES_H
#define SOURCES_SCHED_LIVES_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/capture/abi.h"
#include "sources/sched/threads_logs.h"
#include "film/film.h"

/*
 * The lives of threads, made of the switches of all CPUs: turns, which follow each other without a
 * gap. What is not known, as a record was lost, is in them as such. All that is given must come in
 * order of time.
 */
struct lives;

/*
 * A lock that a thread waited for, as of a struct film_turn. Without an address it may have a
 * holder still: that is at the other end of the pipe for which it waits.
 */
struct lives_lock {
	uint64_t address; /* 0: it waited for none, or that is not known */
	uint32_t holder, place;
	uint8_t kind, sure;
	/* what ended the wait, if that is a thread: it released a lock, by a call of futex(2); */
	bool is_released;
	bool is_unreleased; /* it did something else */
};

struct lives_to {
	/* The film's row for a thread; 0: it has no room. */
	uint32_t (*thread)(void *context, const struct capture_identity *identity);
	/*
	 * The stack of the wait after which a thread (by its number) came in at a time; 0. The lock
	 * that it was for, too, if that is known: else it stays as it is.
	 */
	uint32_t (*stack)(void *context, uint32_t number, uint64_t in, struct lives_lock *lock);
	/*
	 * The film's row for an object, by its number (bpf/sched/object_abi.h); 0: it is not known.
	 */
	uint32_t (*object)(void *context, uint32_t number);
	/* A turn that is complete, or a part of one, up to a moment that was asked for. */
	void (*turn)(void *context, const struct film_turn *turn);
	void *context;
};

/* The most threads whose lives are followed at a time. */
#define LIVES_MAX (1u << 17)

/* Null: no memory. */
struct lives *lives_new(const struct lives_to *to);
void lives_free(struct lives *lives); /* null is allowed */

/* All switches from then on are given: so the life of what has lived before begins there. */
void lives_begin(struct lives *lives, uint64_t time);

/*
 * A thread with this number, or another name for it. meant: its life is to be told. executed: when
 * it executed its program, if that was seen. The life of one that was not meant until then begins
 * there: of what it did before, the probes report nothing.
 */
void lives_meet(struct lives *lives, uint32_t number, const struct capture_identity *identity,
		bool meant, uint64_t executed);

void lives_handle(struct lives *lives, const struct threads_event *event);

/* What the list of tasks says of a thread. */
struct lives_listed {
	uint64_t time;
	uint32_t number;
	uint16_t cpu;  /* that it runs on, or ran on last */
	uint8_t count; /* of its switches */
	bool runs;
	bool moved;		   /* it has run meanwhile: it is there, and nothing else counts */
	uint32_t object;	   /* its number; 0: none */
	uint32_t ready;		   /* the same, of an entry of io_uring that is in flight */
	struct film_wait evidence; /* if it does not: state, call and so on, and the stack */
	struct lives_lock lock;	   /* if that was looked for */
};
void lives_list(struct lives *lives, const struct lives_listed *listed);

/*
 * The same of a list that was read when all had been given, up to a moment before: only what it
 * says of threads that still wait as they did at that moment counts.
 */
void lives_list_late(struct lives *lives, const struct lives_listed *listed);

/* The list that was begun at that time is complete: all others have ended by then. */
void lives_list_done(struct lives *lives, uint64_t begun);

/* Reports the lives of all of which nothing was reported for least ns (at most) up to a time. */
void lives_cut(struct lives *lives, uint64_t time, uint64_t least);

/* How long a thread may be ready before it is reported without what ended its wait. */
#define LIVES_WOKEN_MAX_NS 700000000ull

/*
 * The same, while switches follow: of a thread that was woken, what comes behind the wake waits
 * for the switch to it, which says what ended its wait.
 */
void lifetimes_cut_known(struct lives *lives, uint64_t time, uint64_t least);

/*
 * Goes on in another film, in which nothing has a row. All was reported up to a time: lives_cut().
 */
void lives_turn(struct lives *lives);

/*
 * Calls emit() with each wait of a thread that has gone on for least ns or more at a time, once:
 * with the thread, since when, and its evidence.
 */
void lives_each_long(struct lives *lives, uint64_t time, uint64_t least,
		     void (*emit)(void *context, const struct capture_identity *identity,
				  uint64_t since, const struct film_wait *evidence),
		     void *context);

struct lives_counts {
	uint64_t refused; /* threads: too many, or no memory */
	uint64_t unknown; /* switches of threads of which nothing was reported before */
	uint64_t holes;	  /* times of which nothing is known */
	uint64_t stacks_missed;
	uint64_t wakers_missed; /* of waits */
	uint64_t objects_missed;
	size_t now; /* of those that have not ended */
};
struct lives_counts lives_counts(const struct lives *lives);

#endif
