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
 * How long threads were in which state, and how often: of each thread, of each process, and of all.
 * The sums of a thread's states are its life, as far as the film, or the question, has it.
 */
struct state {
	uint8_t kind;	    /* enum slice_kind */
	uint16_t call;	    /* of WAIT_OTHER: the system call and 1, else 0 */
	uint8_t of;	    /* the same: enum film_wait_state, which says what the call is */
	bool for_condition; /* of WAIT_LOCK: wait_is_for_condition() */
	uint64_t total, longest;
	uint64_t parts; /* of those counted: the range, or the film, begins or ends in them */
	struct latency times;
};

struct state_list {
	uint32_t process, thread; /* of the film; thread 0: all of the process; both 0: all */
	uint64_t life;		  /* the sum of all; of a process: of its threads */
	uint64_t on_cpu, threads; /* on_cpu: of goroutines, on threads */
	uint8_t unlinked;	  /* of a thread: unlinked_of() of its slices */
	vec(struct state) states; /* the longest first */
	/* while they are summed up: by kind, the place of its state, and 1; 0: it has none */
	uint32_t places[SLICE_KINDS];
};

struct state_lists {
	struct state_list *at;
	size_t count, room;
};

struct states {
	struct film *film;
	uint32_t event;
	bool are_goroutines; /* and no threads */
	uint64_t from, to;   /* what of the film's time was asked for */
	struct state_list all;
	struct state_lists processes; /* those with the most time on CPUs first */
	struct state_lists threads;   /* the same of all processes */
	struct state_objects objects; /* what was waited for, with the longest waits first */
	struct unlinked unlinked;     /* of threads: of which processes the lanes do not say all */
	uint64_t slices;
	struct view_reasons losses;
};

/*
 * Sums up an event of turns, of the threads and the time that a question asks for. 0 or a negative
 * errno with *why filled; states_free() is needed in either case.
 */
int states_make(struct film *film, uint32_t event, const struct filter *filter,
		struct states *states, struct fail *why);
void states_free(struct states *states);

/* As latency_quantile(), and at most the longest. */
uint64_t state_quantile(const struct state *state, unsigned int of_thousand);

/* "lock", "lock (condition)", "other (ioctl)". */
void state_words(const struct film *film, const struct state *state, char *words, size_t size);
/* The same of the state that a slice is in. */
void state_words_of(const struct film *film, const struct slice *slice, char *words, size_t size);

#endif
