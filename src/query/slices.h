/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_SLICES_H
#define QUERY_SLICES_H

#include <stdbool.h>

#include "film/reader.h"
#include "film/wait_rules.h"

/*
 * The lifetimes of threads as slices: what each thread did, from its first to its last ns in the
 * film. The slices of a thread follow each other without gaps or overlaps; unknown time is a slice,
 * too.
 */
enum slice_kind {
	SLICE_ON_CPU,
	SLICE_WOKEN,	 /* in the run queue after a wakeup or its creation */
	SLICE_PREEMPTED, /* in the run queue after it was preempted */
	SLICE_HOLE,	 /* unknown: records were lost */
	SLICE_RUNNING,	 /* for a goroutine: a thread runs it, maybe without a CPU */
	SLICE_WAIT,	 /* plus an enum wait_class: what it waited for */
	SLICE_KINDS = SLICE_WAIT + WAIT_CLASSES
};

/* "on-cpu", "woken", "preempted", "hole", "running", or the name of a class. */
const char *slice_kind_name(unsigned int kind);

static inline bool slice_is_wait(unsigned int kind)
{
	return kind >= SLICE_WAIT;
}

static inline enum wait_class slice_wait_class(unsigned int kind)
{
	return (enum wait_class)(kind - SLICE_WAIT);
}

/*
 * A slice has the size of a cache line, as walks have all of them in memory (query/histories.h):
 * what few readers need is in struct slice_evidence.
 */
struct slice {
	uint64_t start, end; /* by the film's clock, start < end; both within the requested range */
	/* the system call's first argument; for futex(2) the address of the word */
	uint64_t address;
	uint32_t operation, value; /* low bits of its second and third argument */
	uint32_t thread;	   /* id of a film_thread */
	uint32_t waker, stack;	   /* a hole has none of these, nor what is below */
	uint32_t object;	   /* id of the frame that names the object: see slice_object() */
	uint32_t on;	/* for a goroutine: the thread that runs it, or ran it before; else 0 */
	uint32_t flags; /* enum film_wait_flag, enum film_turn_flag, enum history_flag */
	/* cpu: for a slice in the run queue that of the wait before; in histories the next one */
	uint16_t call, cpu;
	uint8_t kind; /* enum slice_kind */
	uint8_t state, descriptor;
	uint8_t context : 5;
	bool began_before : 1, goes_on : 1; /* truncated by the begin or end of range or film */
	bool is_last : 1;		    /* the thread ended at end */
};

/*
 * A wait for a lock, or a part of one. address 0: no lock, or not known; with a holder, a wait for
 * the holder's process, which has the other end of a pipe.
 */
struct slice_lock {
	uint64_t start, end, address;
	uint32_t thread, holder, place; /* as in struct film_lock */
	uint8_t kind, sure;		/* enum film_lock_kind, enum film_lock_holder */
};

/* What else is known of a slice that is read, as in struct film_turn. */
struct slice_evidence {
	uint64_t arguments[FILM_WAIT_ARGUMENTS];
	struct slice_lock lock; /* without its times and its thread, which are the slice's */
	/* as slice.object, for the object that was ready, of an epoll or of several; 0: none */
	uint32_t ready_object;
};

/* Of a slice that is read: evidence is valid during the call. Not 0 ends the walk. */
typedef int slice_emit(void *context, const struct slice *slice,
		       const struct slice_evidence *evidence);

/* Whether a wait for a lock is one for a condition, as its system call says. */
static inline bool slice_is_for_condition(const struct slice *slice)
{
	return slice->kind == SLICE_WAIT + WAIT_LOCK &&
	       wait_is_for_condition(slice->state, slice->operation, slice->value);
}

/*
 * Calls emit() with each slice of an event of turns that overlaps [from, to), in order of time for
 * each thread. Turns that the writer has cut are joined into one slice. If emit() returns a value
 * other than 0, the walk ends and returns that value. emit() must not walk through the same film.
 * Otherwise returns 0 or a negative errno with *why filled.
 */
int slices_each(struct film *film, uint32_t event, uint64_t from, uint64_t to, slice_emit *emit,
		void *context, struct fail *why);

/* More parts do not help: unpacking the film then takes the longest. */
#define SLICES_PARTS_MAX 4

/*
 * The same with several threads of ours: the film's threads are divided into parts, 1 to
 * SLICES_PARTS_MAX, each with its own context. Only one thread at a time calls emit() for a part.
 */
int slices_each_part(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		     slice_emit *emit, unsigned int parts, void *const *contexts, struct fail *why);

/* The number of parts that is fastest here: 1 if there are few turns, or one CPU. */
unsigned int slices_parts(struct film *film, uint32_t event);

/* The id of the film's event of turns, preferably that of threads; 0: none. */
uint32_t slices_event(const struct film *film);

/*
 * Whether the lanes of an event of turns are goroutines, or tasks of asyncio, which readers treat
 * alike.
 */
bool slices_are_of_lanes(const struct film *film, uint32_t event);

/* "thread", "goroutine", "task" */
const char *slices_lane(const struct film *film, uint32_t event);

/*
 * Given an event of threads, the film's next event of goroutines after last (0: the first one); 0:
 * no more.
 */
uint32_t slices_beside(const struct film *film, uint32_t event, uint32_t last);

/*
 * Formats the kind of a slice: slice_kind_name(); for WAIT_OTHER the system call and the kernel's
 * function: "ioctl, tty_wait".
 */
void slice_words(const struct film *film, const struct slice *slice, char *words, size_t size);

#endif
