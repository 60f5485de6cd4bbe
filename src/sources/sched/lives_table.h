/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_SCHED_LIVES_TABLE_H
#define SOURCES_SCHED_LIVES_TABLE_H

/* The threads that sources/sched/lives.c knows, by their numbers. */

#include "base/map.h"
#include "base/vec.h"
#include "sources/sched/lives.h"

/* Those that ended last are still known: what they have woken may come in later. */
#define LIVES_ENDED_KEPT 1024

/* Places of those that were looked for last, by the lowest bits of the number. */
#define LIVES_RECENT 256

enum life_mode {
	LIFE_NEW, /* not seen yet */
	LIFE_RUNS,
	LIFE_OFF,
	LIFE_LOST, /* it ran, but not all the time: how long is not known */
};

/*
 * A thread. Up to start all is reported. From there on nothing is known for unseen ns, then it
 * ran, and, in LIFE_OFF, does not since out; in LIFE_LOST nothing is known since start.
 */
struct life {
	struct capture_identity identity;
	struct capture_identity next_identity; /* is_renamed: from its next turn on */
	uint32_t number;		       /* 0: the place is free */
	uint32_t thread;		       /* of the film; 0: not asked for */
	uint64_t since;			       /* its life begins then, or later */
	uint64_t start, unseen, out;
	uint64_t waits;			    /* since when, however often it was cut */
	uint64_t woken;			    /* since out; 0: not */
	uint64_t listed;		    /* when the list had it last */
	struct film_wait evidence;	    /* of its wait: state, call and so on, and the stack */
	uint64_t told[FILM_WAIT_ARGUMENTS]; /* arguments that were reported last */
	uint32_t flags;			    /* of the next row */
	uint32_t object,
		object_report; /* numbers: of its wait, and the last one that was reported */
	uint32_t object_row;   /* of the film; 0: not asked for */
	uint32_t ready_object; /* number: what has the event that it waited for; 0 */
	struct lives_lock lock;
	uint16_t cpu;
	uint8_t mode, count; /* mode: enum life_mode */
	bool has_object, object_missed;
	bool is_meant, is_renamed;
	bool is_listed; /* all that is known comes from the list of tasks */
	bool has_evidence;
	bool is_long; /* lives_each_long() has told its wait */
};

struct lives {
	struct lives_to to;
	struct map places; /* by number */
	struct recent {
		uint32_t number; /* 0: none */
		uint32_t place;
	} recent[LIVES_RECENT];
	vec(struct life) all;
	vec(uint32_t) free;
	vec(uint32_t) running; /* of each CPU: the number of the thread that came in last; 0 */
	uint32_t ended[LIVES_ENDED_KEPT]; /* numbers; 0: none */
	size_t ended_next, ended_count;
	uint64_t begin;
	struct lives_counts counts;
};

/* As lives_table_find(), where it is not among the recent ones. */
struct life *lives_table_look_up(struct lives *lives, uint32_t number);

/*
 * Null: there is none. What it returns stays where it is until the next lives_table_make(). For
 * each switch of each thread, so it is not called but stands where it is needed.
 */
static inline struct life *lives_table_find(struct lives *lives, uint32_t number)
{
	const struct recent *recent = &lives->recent[number % LIVES_RECENT];

	return recent->number == number && number ? &lives->all.at[recent->place]
						  : lives_table_look_up(lives, number);
}

/* A new one; null: there is no memory, or no room but for those that are needed. */
struct life *lives_table_make(struct lives *lives, uint32_t number);
void lives_table_forget(struct lives *lives, struct life *life);

#endif
