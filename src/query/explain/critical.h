/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_CRITICAL_H
#define QUERY_EXPLAIN_CRITICAL_H

#include "base/vec.h"
#include "query/histories.h"

/*
 * The critical path of a thread over some time: for each moment, the thread for which it waited,
 * directly or through other threads, and what that thread did.
 *
 * The walk goes backwards from the end. If another thread (the waker) ended a wait, the walk
 * continues in the waker at the time of the wakeup, and returns to the waiting thread at the time
 * when the wait began, because what the waker did earlier is not the cause. If the waker itself had
 * waited for new work (epoll_wait, accept), the cause is outside of the threads, and what the waker
 * did before that work arrived belongs to something else: the walk ends there. A wakeup by an
 * interrupt is not caused by a thread: the interrupted thread is unrelated.
 *
 * Goroutines are threads, too: their waits lead to the goroutines that made them ready. While a
 * goroutine runs, it does what its thread does. If the thread of an event loop ended the wait of
 * its task because another thread of the process had woken the loop, the walk continues in that
 * other thread for all of the task's wait: the loop only forwarded the result.
 *
 * A waker runs at the time of the wakeup. If the film does not show that, a record is wrong or
 * missing, and the waker is not followed. So a walk always goes back in time, also through cycles.
 */

/* The kind of a step. */
enum critical_end {
	CRITICAL_CPU,
	CRITICAL_READY,	   /* in the run queue */
	CRITICAL_HOLE,	   /* unknown: records were lost */
	CRITICAL_DEVICE,   /* a wait for a disk */
	CRITICAL_NETWORK,  /* a wait that a network interrupt ended: for another machine */
	CRITICAL_SENT,	   /* a request was sent, and its server had not received it yet */
	CRITICAL_ANSWERED, /* the server had answered, and the answer was not received yet */
	CRITICAL_TIMER,	   /* a wait that a timer ended */
	CRITICAL_IDLE,	   /* the thread waited for new work, or was stopped */
	CRITICAL_OPEN,	   /* the wait had not ended at the end of the requested time */
	CRITICAL_CYCLE,	   /* a wait for a lock whose holder waits for this thread */
	CRITICAL_UNFILMED, /* the waker is known, but not what it did */
	CRITICAL_UNKNOWN,  /* the waker is not known */
	CRITICAL_EARLIER,  /* the waker's time before its new work arrived: not the cause */
	CRITICAL_ABSENT,   /* the waker did not exist yet, or was not recorded yet */
	CRITICAL_RUNNING,  /* a goroutine ran, but what its thread did is not recorded */
	CRITICAL_UNLINKED, /* not distinguishable from its threads' work for others */
	/* a wait for the next event of any request that the thread served then */
	CRITICAL_SHARED,
	CRITICAL_ENDS,
};

/* "cpu", "ready" … */
const char *critical_end_name(enum critical_end end);

/* query/explain/requests.h */
struct explain_made;
struct explain_served;

/* A wait from which the walk continued in the waker. */
struct critical_wait {
	size_t slice;	     /* index in the histories; HISTORY_NONE: none */
	uint64_t start, end; /* the part that counts */
	uint64_t woken;	     /* end of the last of the slices that form one wait */
	uint32_t parent;     /* index + 1 of the wait that led to it; 0: the first thread's own */
	uint32_t depth;	     /* 0: a wait of the first thread */
	uint32_t thread;     /* thread that waited; a goroutine itself, not its thread */
	uint32_t waker;	     /* thread in which the walk continues */
	bool is_likely;	     /* a guess: an interrupt may have ended the wait instead */
	/* a wait of an event loop: since before, the waker has had what a task waited for */
	bool is_passed_on;
	bool is_made; /* a wait until the waker created the thread */
	bool is_call; /* a wait for the waker to serve the request */
	/* the request whose answer the thread waited for; or null */
	const struct explain_made *made;
	/* another request that the waker served before it received this one; or null */
	const struct explain_served *before;
	/* before came over the connection of the request that the waker served at the wakeup */
	bool is_of_connection;
};

/* A part of the path. Steps follow each other without a gap and cover the whole time. */
struct critical_step {
	uint64_t start, end;
	size_t slice; /* index in the histories; HISTORY_NONE: none */
	/* thread or goroutine of the step; the slice may be that of the thread that ran it */
	uint32_t thread;
	uint32_t wait; /* index + 1 of the wait that led to it; 0: the first thread's own */
	enum critical_end ended;
	const struct explain_made *made; /* as in a critical_wait */
};

struct critical_path {
	vec(struct critical_step) steps; /* in order of time */
	vec(struct critical_wait) waits;
	/* number of waits that were not followed because the chain was too long */
	uint64_t too_deep;
};

enum {
	CRITICAL_DEPTH_MAX = 64 /* length of a chain of waiting threads */
};

/*
 * Finds the path of a thread over [from, to), which must be within the histories. idle: also follow
 * the first thread's waits for new work, because it works for a request. A wait that is open at to
 * is followed from its end. Returns 0 or -ENOMEM; call critical_free() in both cases.
 */
int critical_find(struct critical_path *path, const struct histories *histories, uint32_t thread,
		  uint64_t from, uint64_t to, bool idle);
void critical_free(struct critical_path *path);

#endif
