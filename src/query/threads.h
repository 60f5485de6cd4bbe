/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_THREADS_H
#define QUERY_THREADS_H

#include <stdbool.h>

#include "film/reader.h"
#include "query/fold.h"
#include "query/labels.h"
#include "query/reasons.h"
#include "query/wait_class.h"

/* What a thread waits for at the end of a film with turns of threads. */
struct thread_wait {
	char *object;	 /* "mutex guard in app", "/var/lib/wal", "pid 412"; null: not known */
	uint32_t holder; /* thread that holds the lock; 0: not known */
	uint32_t peer;	 /* process at the other end of the connection; 0: not known */
	/* a deadlock: the holder waits for this thread, directly or through others */
	bool is_dead;
};

struct thread_waits {
	struct thread_wait *all; /* by thread; null: the film has no turns of threads */
	uint32_t count;
};

/* Returns 0 or a negative errno with *why filled; call thread_waits_free() in both cases. */
int thread_waits_load(struct film *film, struct thread_waits *waits, struct fail *why);
void thread_waits_free(struct thread_waits *waits);

/*
 * A dump of threads: what each thread of a film did at the moment of the film's event dump, and its
 * stack. A thread that was on a CPU has the stack of that CPU's sample nearest to the moment.
 */
struct thread_state {
	uint32_t thread, process; /* ids in the film */
	uint32_t stack;		  /* id in paths; 0: none */
	uint64_t time;		  /* the moment */
	uint64_t since;		  /* ns since it last ran, accurate to some ms; 0: not known */
	uint8_t state;		  /* enum film_wait_state */
	uint16_t number;	  /* system call number + 1; 0: in none */
	const char *call;	  /* the system call's name; "": in none, or no name */
	enum wait_class class;
	struct thread_wait wait; /* all zero: not known */
	size_t group;		 /* index of the first of the threads that are alike */
};

struct thread_dump {
	const struct film *film;
	uint32_t event;
	const struct film_stack *paths; /* the stacks, in the requested shape */
	struct frame_labels frames;	/* names of their frames */
	/*
	 * Sorted by pid. Within a process, threads that are alike (state, system call and stack)
	 * are adjacent; the group with the lowest tid comes first.
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
 * Returns 0 or a negative errno with *why filled, e.g. if the film has no dump; call
 * thread_dump_free() in both cases. film and shape must outlive the dump.
 */
int thread_dump_make(struct film *film, const struct shape *shape, struct thread_dump *dump,
		     struct fail *why);
void thread_dump_free(struct thread_dump *dump);

#endif
