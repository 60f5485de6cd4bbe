/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_CRITICAL_H
#define QUERY_CRITICAL_H

#include "base/vec.h"
#include "query/histories.h"

/*
 * The critical path of a thread over some time: for each moment the thread that the first one
 * waited for, directly or through others, and what that one did.
 *
 * The walk goes from the end backwards. Where a thread waited and another one ended the wait, it
 * goes on in that one, the waker, at the moment of the wake, and comes back at the moment when the
 * wait began: what the waker did earlier is not the cause. Where the waker itself had waited for
 * new work (epoll_wait, accept), the cause lies outside of what threads show, and what the waker
 * did before that work came belongs to something else: there the walk ends. Wakes by interrupts
 * have no thread as their cause; the current thread is an innocent one.
 *
 * Goroutines are threads, too: their waits lead to the goroutines that made them ready. While one
 * runs, it does what the thread does that works for it. Where the thread of an event loop ended the
 * wait of its task, and another thread of the process had woken the loop for that, the walk goes on
 * in that other one, over all of the task's wait: the loop only passed its result on.
 *
 * A waker ran at the moment of the wake. If it is not seen to, its record is wrong or missing, and
 * it is not followed: so a walk always goes back in time, also through cycles.
 */

/* What a step is. */
enum critical_end {
	CRITICAL_CPU,
	CRITICAL_READY,	   /* in the run queue */
	CRITICAL_HOLE,	   /* nothing is known: records were lost */
	CRITICAL_DEVICE,   /* a wait for a disk */
	CRITICAL_NETWORK,  /* ended by an interrupt of the network: a peer elsewhere */
	CRITICAL_SENT,	   /* a request was sent, and not received yet by the one that served it */
	CRITICAL_ANSWERED, /* that one has answered, and the answer was not received yet */
	CRITICAL_TIMER,	   /* ended by the clock */
	CRITICAL_IDLE,	   /* it waited for new work, or was stopped */
	CRITICAL_OPEN,	   /* it waited still when the time that was asked for ended */
	CRITICAL_CYCLE,	   /* a lock whose holder waits for this thread */
	CRITICAL_UNFILMED, /* the thread that ended it is known, but not what that one did */
	CRITICAL_UNKNOWN,  /* it is not known what ended it */
	CRITICAL_EARLIER,  /* what the waker did before its new work came: not the cause */
	CRITICAL_ABSENT,   /* the waker was not there yet, or is not filmed so early */
	CRITICAL_RUNNING,  /* a thread worked for a goroutine, and what it did is not filmed */
	CRITICAL_UNLINKED, /* not told apart from what its threads did for others */
	CRITICAL_SHARED,   /* it waited for the next event, of all that it served then */
	CRITICAL_ENDS,
};

/* "cpu", "ready" … */
const char *critical_end_name(enum critical_end end);

/* query/explain/requests.h */
struct explain_made;
struct explain_served;

/* A wait that the walk followed to its waker. */
struct critical_wait {
	size_t slice;	     /* of the histories; HISTORY_NONE: of none */
	uint64_t start, end; /* the part that counts */
	uint64_t woken;	     /* when the last one of those that are one wait ended */
	uint32_t parent;     /* place of the wait that led to it, and 1; 0: of the thread itself */
	uint32_t depth;	     /* 0: of the thread itself */
	uint32_t thread;     /* that waited; of a goroutine it is that one, not its thread */
	uint32_t waker;	     /* that it leads to */
	bool is_likely;	     /* an interrupt may have ended it instead */
	/* of an event loop: its waker has what a task waited for, since before the loop waited */
	bool is_passed_on;
	bool is_made;			 /* until the waker made the thread */
	bool is_call;			 /* the waker served the request */
	const struct explain_made *made; /* the request whose answer was waited for; null */
	/* another request, which the waker served before it received this one; null */
	const struct explain_served *before;
	/* that one came by the connection of the request that the waker served as it woke */
	bool is_of_connection;
};

/* A part of the path. Steps follow each other without a gap and are all of the time. */
struct critical_step {
	uint64_t start, end;
	size_t slice;	 /* of histories; HISTORY_NONE: of none */
	uint32_t thread; /* that it is of; the slice may be of the thread that ran this goroutine */
	uint32_t wait;	 /* place of the wait that led to it, and 1; 0: of the thread itself */
	enum critical_end ended;
	const struct explain_made *made; /* as of a wait */
};

struct critical_path {
	vec(struct critical_step) steps; /* in order of time */
	vec(struct critical_wait) waits;
	uint64_t too_deep; /* waits that were not followed as the chain was too long already */
};

enum {
	CRITICAL_DEPTH_MAX = 64 /* threads that wait for each other */
};

/*
 * Finds the path of a thread over [from, to), which lie within what the histories have. 0 or
 * -ENOMEM; critical_free() is needed in either case. idle: waits for new work of the thread itself
 * are followed, too, as of one that works for a request. A wait that goes on at to is followed from
 * its end.
 */
int critical_find(struct critical_path *path, const struct histories *histories, uint32_t thread,
		  uint64_t from, uint64_t to, bool idle);
void critical_free(struct critical_path *path);

#endif
