/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_EXPLAIN_H
#define QUERY_EXPLAIN_EXPLAIN_H

#include "query/device_works.h"
#include "query/explain/critical.h"
#include "query/explain/limits.h"
#include "query/explain/locks.h"
#include "query/explain/requests.h"
#include "query/explain/samples.h"
#include "query/explain/stack.h"
#include "query/lock_words.h"
#include "query/log_lines.h"
#include "query/filter.h"
#include "query/objects.h"
#include "query/occupants.h"
#include "query/roles.h"
#include "query/served_lanes.h"
#include "query/unlinked.h"

/*
 * Why a thread took as long as it did: its critical path, with what is alike summed up. The parts
 * are a tree: the parts of the thread itself add up to its time, the parts below a wait, which are
 * of the threads that it waited for, to that wait.
 */

/* Threads beside which a ready one had to wait, and functions that ran, are named up to that. */
#define EXPLAIN_NAMED 4

struct explain_behind {
	uint32_t thread;
	uint64_t ns;
};

struct explain_function {
	uint32_t stack; /* of which struct explain_stacks has the frame */
	uint64_t samples;
};

struct explain_part {
	uint32_t parent; /* place of the part that it is a part of, and 1; 0: of none */
	uint32_t first,
		next;	  /* its first part and its next sibling, the longest first: also and 1 */
	uint8_t kind;	  /* enum slice_kind */
	uint8_t ended;	  /* enum critical_end; of one that is followed nothing */
	bool is_followed; /* to its waker, of which its parts are */
	bool is_queue;	  /* the request waited until its thread had served others: count of them */
	/* of such a queue: what was served before by the connection whose request ended the wait */
	bool is_of_connection;
	bool is_likely; /* an interrupt may have ended it instead, in some cases */
	/* its waker has the result, which this thread's loop passed on */
	bool is_passed_on;
	bool is_made;	  /* not a wait: until its waker made the thread */
	bool is_reclaim;  /* of time on a CPU: the kernel freed memory in it */
	bool is_call;	  /* its waker served the request that was made */
	bool holds;	  /* its parent is a wait for what its thread held */
	bool is_in_queue; /* its parent has a queue: each part there names its thread */
	bool is_in_call;  /* its parent is a call, or a queue: its thread had that work */
	/*
	 * Of a wait for a lock: the most threads that had waited for it, too, and held it one after
	 * the other before this one, and which had it when those began to wait; 0: there were none
	 */
	uint32_t queue, first_holder;
	uint32_t thread, waker; /* whose time it is, and which thread ended it; 0: not known */
	uint64_t duration, count, longest;
	/* of waits whose time was over, and that began anew for the same: how many times; */
	uint64_t retries, run; /* ns of the last ones that are one wait so */
	bool was_retried;      /* of those added last */
	size_t slice;	       /* of the histories: the longest one; HISTORY_NONE: there is none */
	/* of a wait: of the longest one that has a stack, and how long that is; 0: none has */
	uint32_t stack;
	uint64_t stack_longest;
	const struct explain_made *made; /* the request whose answer was waited for; null: none */
	const struct slice_lock *lock;	 /* null: not known */
	/* is_queue: the longest of those, and the last one counted; null: not known */
	const struct explain_served *before, *counted;
	/* of time on a CPU: what ran, most first; samples: all of them */
	struct explain_function functions[EXPLAIN_NAMED];
	uint64_t samples;
	/*
	 * of those: in which the kernel freed memory; for the limit of a control group; with swap
	 */
	uint64_t reclaiming, for_group, swapping;
	/* of time in the run queue: the threads that ran on that CPU, longest first, */
	struct explain_behind behind[EXPLAIN_NAMED];
	uint64_t beside; /* and ns in which the film has no thread there */
	/*
	 * of the long ones: how many, ns, and the sums of the directions of the phases of their
	 * ends
	 */
	uint64_t long_count, long_ns;
	double phase_x, phase_y;
	/* of a wait for a device: what that ran meanwhile */
	struct device_share works[DEVICE_SHARES];
};

struct explanation {
	const struct request *request; /* null: a time of a thread is explained */
	bool is_compared; /* with other requests of its endpoint: once for each endpoint */
	bool no_lane;	  /* the film has goroutines, but not which one served the request */
	uint32_t thread;  /* or goroutine */
	uint64_t from, to;
	vec(struct explain_part) parts;
	uint32_t first; /* the longest part of the thread itself, and 1 */
	uint64_t steps, waits, too_deep;
};

/* What all explanations of a film and a time share. */
struct explainer {
	struct film *film;
	uint32_t event;
	uint32_t lanes; /* the first event of goroutines beside it; 0: none */
	uint64_t from, to;
	struct histories histories;
	struct explain_samples samples;
	struct explain_locks locks;
	struct served_lanes served_lanes;
	struct explain_stacks stacks;
	struct roles roles; /* of functions on stacks */
	struct object_keys objects;
	struct explain_requests requests;
	struct explain_limits limits;
	bool is_whole_machine; /* threads of the kernel are in the film, so all are */
	bool has_samples;
	struct occupants occupants; /* made when they are needed */
	struct log_lines logs;	    /* of all threads */
	struct unlinked unlinked;
	struct device_works device_works;
	/* by frame: of a connection the process at its other end; 0: not known, or several */
	uint32_t *peers;
};

/*
 * Reads what a film has of the time that the filter asks for. 0, or a negative errno with *why
 * filled: -ENOENT, with what to record, where the film has no lives of threads. explainer_free()
 * is needed in either case. wanted: the requests, which e->requests.wanted then has; null: none.
 */
int explainer_init(struct explainer *e, struct film *film, const struct filter *filter,
		   const struct explain_wanted *wanted, struct fail *why);
void explainer_free(struct explainer *e);

/*
 * Explains what a thread did in [from, to), which is cut to what there is. idle: its waits for new
 * work count as waits for their cause. 0 or -ENOMEM; explanation_free() is needed in either case.
 */
int explain_thread(struct explainer *e, uint32_t thread, uint64_t from, uint64_t to, bool idle,
		   struct explanation *x);
/*
 * The same of a request, from when it was received to the end of its answer: of the goroutine that
 * answered it, where the film has that, else of the thread. request must live as long as the
 * explanation.
 */
int explain_request(struct explainer *e, const struct request *request, struct explanation *x);
/* Of explanations of requests the first one of each endpoint is compared. */
void explain_mark_compared(struct explanation *all, size_t count);
void explanation_free(struct explanation *x);

/* A thread, and how much of its life is worth to be explained. */
struct explain_choice {
	uint32_t thread;
	uint64_t life, worth;
};

/*
 * The threads that a filter keeps, those worth most first: to be freed. Waits for new work are
 * worth nothing, and neither are waits for a signal of another thread, unless there is
 * nothing else. 0 or a negative errno with *why filled.
 */
int explain_choose(struct explainer *e, const struct filter *filter,
		   struct explain_choice **choices, size_t *count, struct fail *why);

/*
 * Whether a time in the run queue is most likely one in which the CPU limit of a control group held
 * the thread back. A guess, by when such times ended.
 */
bool explain_is_throttled(const struct explain_part *part);

/* What the film has lanes of beside those of threads: "goroutine", "task"; the first of them. */
static inline const char *explain_lanes_noun(const struct explainer *e)
{
	return slices_lane(e->film, slices_beside(e->film, 0, 0));
}

/* Whether an explanation is of a goroutine. */
static inline bool explain_is_of_lane(const struct explainer *e, const struct explanation *x)
{
	return histories_is_lane(&e->histories, x->thread);
}

/*
 * The other requests that the thread had at the same time which served the explained one, or, of
 * one that was made, the one at the other end of its connection.
 */
struct explain_at_once explain_others(const struct explainer *e, const struct explanation *x);

/*
 * The first request that was made for the explained one, if most of the time had passed by then:
 * *after ns. Null: it was made earlier, or none was.
 */
const struct explain_made *explain_asked_late(const struct explainer *e,
					      const struct explanation *x, uint64_t *after);

/*
 * The thread that asked for the end of a thread's process, by exit_group(2), and *status; 0: none
 * did so in the film.
 */
uint32_t explain_exit_of(const struct explainer *e, uint32_t thread, uint32_t *status);

/* Of the kernel's own, which protects what memory a process has: none that a program has made. */
bool explain_is_of_memory(const struct explainer *e, const struct slice *slice);

#endif
