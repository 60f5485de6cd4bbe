/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_THREADS_H
#define QUERY_THREADS_H

#include "film/reader.h"
#include "query/fold.h"
#include "query/labels.h"
#include "query/reasons.h"
#include "query/thread_waits.h"
#include "query/wait_class.h"

/*
 * A dump of threads: what each thread of a film did at the moment for which the film has the event
 * threads, and its stack then. A thread that ran has the stack of the sample of its CPU that is
 * next to that moment.
 */
struct thread_state {
	uint32_t thread, process; /* of the film */
	uint32_t stack;		  /* of paths; 0: none */
	uint64_t time;		  /* of the moment */
	uint64_t since;		  /* ns for which it has not run, to within some ms; 0: not known */
	uint8_t state;		  /* enum film_wait_state */
	uint16_t number;	  /* of the system call, and 1; 0: in none */
	const char *call;	  /* its name; "": in none, or it has none */
	enum wait_class class;
	struct thread_wait wait; /* all zero: what it waits for is not known */
	size_t group;		 /* those that are alike have the place of the first of them */
};

struct thread_dump {
	const struct film *film;
	uint32_t event;
	const struct film_stack *paths; /* the stacks, as shape wants them shown */
	struct frame_labels frames;	/* what to call their frames */
	/*
	 * By pid; in a process those that are alike (state, system call and stack) beside each
	 * other, the group of the lowest tid first.
	 */
	struct thread_state *threads;
	size_t count;
	uint64_t from, to; /* the first and the last moment */
	struct view_reasons losses;
	/* private */
	struct thread_waits waits;
	struct fold fold;
	struct labels labels;
};

/*
 * 0, or a negative errno with *why filled: the film has no dump, say. thread_dump_free() is needed
 * in either case. film and shape must outlive it.
 */
int thread_dump_make(struct film *film, const struct shape *shape, struct thread_dump *dump,
		     struct fail *why);
void thread_dump_free(struct thread_dump *dump);

#endif
