/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_SLICES_H
#define QUERY_SLICES_H

#include <stdbool.h>

#include "film/reader.h"
#include "film/wait_rules.h"

/*
 * The lives of threads as slices: what each thread did, from its first to its last ns in the film.
 * Slices of one thread follow each other without a gap and without overlap; what is not
 * known is a slice of its own.
 */
enum slice_kind {
	SLICE_ON_CPU,
	SLICE_WOKEN,	 /* in the run queue, after it was woken, or made */
	SLICE_PREEMPTED, /* in the run queue, though it could have run on */
	SLICE_HOLE,	 /* nothing is known: records were lost */
	SLICE_RUNNING,	 /* of a goroutine: a thread works for it, which need not be on a CPU */
	SLICE_WAIT,	 /* and an enum wait_class: what it waited for */
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
 * What shows why, as of a struct film_turn. Of a hole there is none, of a stay on a CPU the CPU, of
 * a time in the run queue what it waited for before.
 */
struct slice_evidence {
	uint64_t arguments[FILM_WAIT_ARGUMENTS];
	uint64_t lock;		     /* 0: it waited for none, or that is not known */
	uint32_t holder, lock_place; /* as of a struct film_lock */
	uint32_t stack, waker;
	uint32_t object;       /* a frame, whose name it is: slice_object() */
	uint32_t ready_object; /* the same, of what of an epoll, or of several, was ready; 0 */
	uint32_t on;	       /* of a goroutine: the thread that it ran on before; 0 */
	uint32_t flags;	       /* enum film_wait_flag, enum film_turn_flag */
	uint16_t call, cpu;
	uint8_t state, context, descriptor;
	uint8_t lock_kind, holder_sure;
};

struct slice {
	uint64_t start, end; /* end is behind start; both within the range that was asked for */
	uint32_t thread;     /* id of a film_thread */
	uint8_t kind;	     /* enum slice_kind */
	bool began_before, goes_on; /* it is a part: the range, or the film, begins or ends in it */
	bool is_last;		    /* the thread ended with it */
	struct slice_evidence evidence;
};

/*
 * Gives take() all slices of an event of turns that have a part in [from, to), those of one thread
 * in order of time. What lasts longer than a row of the film is one slice. A value of take() other
 * than 0 ends the walk and is returned. take() must not walk through the same film. Returns 0 or a
 * negative errno with *why filled.
 */
int slices_each(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		int (*take)(void *context, const struct slice *slice), void *context,
		struct fail *why);

/* With that many parts, a film's threads share what takes longer than to unpack it. */
#define SLICES_PARTS_MAX 4

/*
 * The same in several threads at a time: the film's threads are divided into parts, each with a
 * context of its own, and take() is called with those of one part by one thread at a time. parts: 1
 * to SLICES_PARTS_MAX.
 */
int slices_each_part(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		     int (*take)(void *context, const struct slice *slice), unsigned int parts,
		     void *const *contexts, struct fail *why);

/* How many parts make it fastest here: 1 where there are few turns, or one CPU. */
unsigned int slices_parts(struct film *film, uint32_t event);

/* The film's event that has turns, that of threads if it is there; 0: there is none. */
uint32_t slices_event(const struct film *film);

/*
 * Whether the threads of an event of turns are goroutines, or tasks of asyncio, which are as those
 * are to all that reads them.
 */
bool slices_are_of_goroutines(const struct film *film, uint32_t event);

/* "thread", "goroutine", "task" */
const char *slices_lane(const struct film *film, uint32_t event);

/* The next event of goroutines behind last (0: the first one) beside one of threads; 0: no more. */
uint32_t slices_beside(const struct film *film, uint32_t event, uint32_t last);

/*
 * The words for a slice's kind: slice_kind_name(); for WAIT_OTHER the system call and what the
 * kernel did, "ioctl, tty_wait".
 */
void slice_words(const struct film *film, const struct slice *slice, char *words, size_t size);

#endif
