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
 * The evidence of a slice, as in struct film_turn. A hole has none, a slice on a CPU the CPU, a
 * slice in the run queue that of the wait before.
 */
struct slice_evidence {
	uint64_t arguments[FILM_WAIT_ARGUMENTS];
	uint64_t lock;		     /* 0: no lock, or not known */
	uint32_t holder, lock_place; /* as in struct film_lock */
	uint32_t stack, waker;
	uint32_t object; /* id of the frame that names the object: see slice_object() */
	/* the same for the object that was ready, of an epoll or of several; 0: none */
	uint32_t ready_object;
	uint32_t on;	/* for a goroutine: the thread that it ran on before; else 0 */
	uint32_t flags; /* enum film_wait_flag, enum film_turn_flag */
	uint16_t call, cpu;
	uint8_t state, context, descriptor;
	uint8_t lock_kind, holder_sure;
};

struct slice {
	uint64_t start, end;	    /* start < end; both within the requested range */
	uint32_t thread;	    /* id of a film_thread */
	uint8_t kind;		    /* enum slice_kind */
	bool began_before, goes_on; /* truncated by the beginning or end of the range or the film */
	bool is_last;		    /* the thread ended at end */
	struct slice_evidence evidence;
};

/*
 * Calls take() with each slice of an event of turns that overlaps [from, to), in order of time for
 * each thread. Turns that the writer has cut are joined into one slice. If take() returns a value
 * other than 0, the walk ends and returns that value. take() must not walk through the same film.
 * Otherwise returns 0 or a negative errno with *why filled.
 */
int slices_each(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		int (*take)(void *context, const struct slice *slice), void *context,
		struct fail *why);

/* More parts do not help: unpacking the film then takes the longest. */
#define SLICES_PARTS_MAX 4

/*
 * The same with several threads of ours: the film's threads are divided into parts, 1 to
 * SLICES_PARTS_MAX, each with its own context. Only one thread at a time calls take() for a part.
 */
int slices_each_part(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		     int (*take)(void *context, const struct slice *slice), unsigned int parts,
		     void *const *contexts, struct fail *why);

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
