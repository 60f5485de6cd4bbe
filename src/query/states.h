/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_STATES_H
#define QUERY_STATES_H

#include "base/vec.h"
#include "query/latency.h"
#include "query/question.h"
#include "query/reasons.h"
#include "query/slices.h"
#include "query/state_objects.h"
#include "query/unlinked.h"

/*
 * The time that threads spent in each state, and how often: per thread, per process, and in total.
 * A thread's states add up to its lifetime, as far as the film, or the question, covers it.
 */
struct state {
	uint8_t kind;	    /* enum slice_kind */
	uint16_t call;	    /* for WAIT_OTHER: system call number + 1; else 0 */
	uint8_t of;	    /* for WAIT_OTHER: enum film_wait_state, by which call is interpreted */
	bool for_condition; /* for WAIT_LOCK: wait_is_for_condition() */
	uint64_t total, longest;
	uint64_t parts; /* number of slices that the range or the film truncates */
	struct latency times;
};

struct state_list {
	/* ids in the film; thread 0: all threads of the process; both 0: all */
	uint32_t process, thread;
	uint64_t life;		  /* ns: the sum of all states; for a process over its threads */
	uint64_t on_cpu, threads; /* on_cpu: for goroutines, ns on threads */
	uint8_t unlinked;	  /* for a thread: kinds of tasks that its stacks show */
	vec(struct state) states; /* largest total first */
	/* during summing: index + 1 of each kind's state; 0: none */
	uint32_t places[SLICE_KINDS];
};

struct state_lists {
	struct state_list *at;
	size_t count, room;
};

struct states {
	struct film *film;
	uint32_t event;
	bool are_lanes;	   /* the lanes are goroutines, not threads */
	uint64_t from, to; /* the requested range of the film's time */
	struct state_list all;
	struct state_lists processes; /* most time on CPUs first */
	struct state_lists threads;   /* of all processes, in the same order */
	struct state_objects objects; /* objects of waits, longest first */
	struct unlinked unlinked;     /* processes whose lanes do not show everything */
	uint64_t slices;
	struct view_reasons losses;
};

/*
 * Sums up an event of turns, for the threads and the time that a filter selects. Returns 0 or a
 * negative errno with *why filled; call states_free() in both cases.
 */
int states_make(struct film *film, uint32_t event, const struct filter *filter,
		struct states *states, struct fail *why);
void states_free(struct states *states);

/* As latency_quantile(), but at most longest. */
uint64_t state_quantile(const struct state *state, unsigned int of_thousand);

/* "lock", "lock (condition)", "other (ioctl)". */
void state_words(const struct film *film, const struct state *state, char *words, size_t size);
/* The same for the state of the waits for an object. */
void state_words_of(const struct film *film, const struct state_object *object, char *words,
		    size_t size);

#endif
