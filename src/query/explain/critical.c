// SPDX-License-Identifier: Apache-2.0
#include "query/explain/critical.h"

#include <errno.h>

/* A thread on the way, with the wait that led to it. */
struct visit {
	uint32_t thread, wait;
	uint64_t clip;	  /* the walk goes back no further in it */
	size_t at;	  /* its slice that was looked at last; HISTORY_NONE: none yet */
	bool is_at_begin; /* of the work that led on: before that it did other work */
	/* the same of the thread that it led to last: by then, that one had other work */
	bool had_waker_begun;
	/* it holds what is waited for: what it does meanwhile is no other work */
	bool holds;
	uint64_t woken; /* when the waits ended of which it came to the first piece */
};

struct walk {
	struct critical_path *path;
	const struct histories *histories;
	bool idle;
	uint64_t now, to; /* to: the path ends there, the walk may begin behind */
	struct visit visits[CRITICAL_DEPTH_MAX + 1];
	size_t depth; /* of visits */
};

const char *critical_end_name(enum critical_end end)
{
	static const char *const names[CRITICAL_ENDS] = {
		[CRITICAL_CPU] = "cpu",		  [CRITICAL_READY] = "ready",
		[CRITICAL_HOLE] = "hole",	  [CRITICAL_DEVICE] = "device",
		[CRITICAL_NETWORK] = "network",	  [CRITICAL_TIMER] = "timer",
		[CRITICAL_IDLE] = "idle",	  [CRITICAL_OPEN] = "open",
		[CRITICAL_CYCLE] = "deadlock",	  [CRITICAL_UNFILMED] = "unfilmed",
		[CRITICAL_UNKNOWN] = "unknown",	  [CRITICAL_EARLIER] = "earlier",
		[CRITICAL_ABSENT] = "absent",	  [CRITICAL_RUNNING] = "running",
		[CRITICAL_SENT] = "sent",	  [CRITICAL_ANSWERED] = "answered",
		[CRITICAL_UNLINKED] = "unlinked", [CRITICAL_SHARED] = "shared",
	};

	return names[end];
}

/* Ends the time from start to now. */
static bool put(struct walk *w, const struct visit *visit, uint64_t start, size_t slice,
		enum critical_end ended)
{
	uint64_t end = w->now < w->to ? w->now : w->to;
	struct critical_step step = {start, end, slice, visit->thread, visit->wait, ended};

	w->now = start;
	return start >= end || vec_push(&w->path->steps, step);
}

static bool is_of_network(enum wait_class class)
{
	return class == WAIT_RECEIVE || class == WAIT_SEND || class == WAIT_CONNECT ||
	       class == WAIT_ACCEPT || class == WAIT_POLL || class == WAIT_NETWORK;
}

/* Also of a fault, which reads a page of a file or of swap. */
static bool is_of_disk(const struct slice *slice)
{
	enum wait_class class = slice_wait_class(slice->kind);

	/* a file of FUSE is waited for as one on a disk, and its daemon answers */
	if (slice->flags & (HISTORY_FUSE | HISTORY_BY_PROCESS))
		return false;
	return class == WAIT_DISK || (class == WAIT_FAULT && slice->flags & FILM_WAIT_IOWAIT);
}

/* Whether a thread is on the way to this one: a cycle. */
static bool is_visited(const struct walk *w, uint32_t thread)
{
	for (size_t i = 0; i < w->depth; i++)
		if (w->visits[i].thread == thread)
			return true;
	return false;
}

/* How a wait ended whose waker is not a thread, or is not followed. */
static enum critical_end end_of_wait(const struct walk *w, const struct slice *slice)
{
	enum wait_class class = slice_wait_class(slice->kind);

	if (history_is_idle(slice) && slice->context != FILM_WAIT_BY_TIMER)
		return CRITICAL_IDLE;
	if (slice->flags & HISTORY_HELD && slice->flags & (FILM_WAIT_OPEN | FILM_TURN_UNRELEASED) &&
	    is_visited(w, slice->waker))
		return CRITICAL_CYCLE;
	if (slice->flags & FILM_WAIT_OPEN)
		return CRITICAL_OPEN;
	if (is_of_disk(slice))
		return CRITICAL_DEVICE;
	/*
	 * No other interrupt ends a wait for a futex. What ended a sleep of a thread that has not
	 * run since is not known.
	 */
	if (slice->context == FILM_WAIT_BY_TIMER ||
	    (class == WAIT_SLEEP &&
	     (slice->context || histories_is_lane(w->histories, slice->thread))) ||
	    (class == WAIT_LOCK &&
	     (slice->context == FILM_WAIT_BY_INTERRUPT || slice->context == FILM_WAIT_BY_SOFTIRQ)))
		return CRITICAL_TIMER;
	/* the network works in soft interrupts; a hard one is the timer's, if nothing was ready */
	if (class == WAIT_POLL && slice->context == FILM_WAIT_BY_INTERRUPT && !slice->object)
		return CRITICAL_TIMER;
	if (is_of_network(class) && slice->context != FILM_WAIT_BY_THREAD)
		return CRITICAL_NETWORK;
	return slice->context == FILM_WAIT_BY_THREAD && slice->waker ? CRITICAL_UNFILMED
								     : CRITICAL_UNKNOWN;
}

static enum critical_end end_of(const struct walk *w, const struct slice *slice)
{
	switch (slice->kind) {
	case SLICE_ON_CPU:
		return CRITICAL_CPU;
	case SLICE_WOKEN:
	case SLICE_PREEMPTED:
		return CRITICAL_READY;
	case SLICE_HOLE:
		return CRITICAL_HOLE;
	case SLICE_RUNNING:
		return CRITICAL_RUNNING;
	default:
		return end_of_wait(w, slice);
	}
}

static bool is_too_deep(struct walk *w)
{
	if (w->depth <= CRITICAL_DEPTH_MAX)
		return false;
	w->path->too_deep++;
	return true;
}

/* The slice of the thread that works for a goroutine, in the ns before now; null: not known. */
static const struct slice *slice_below(const struct histories *histories,
				       const struct slice *running, uint64_t now)
{
	size_t at = running->on ? histories_find(histories, running->on, now - 1) : HISTORY_NONE;
	const struct slice *slice = at == HISTORY_NONE ? NULL : &histories->slices[at];

	return slice && slice->kind != SLICE_RUNNING ? slice : NULL;
}

/* Whether a thread, or the one of a goroutine, ran in the ns before now, or may have run. */
static bool may_have_run(const struct histories *histories, uint32_t thread, uint64_t now)
{
	size_t at = histories_find(histories, thread, now - 1);
	const struct slice *slice = at == HISTORY_NONE ? NULL : &histories->slices[at];

	if (!slice || slice->end < now)
		return false;
	if (slice->kind == SLICE_RUNNING) {
		slice = slice_below(histories, slice, now);
		if (!slice || slice->end < now)
			return true;
	}
	return slice->kind == SLICE_ON_CPU || slice->kind == SLICE_HOLE;
}

/* Whether a thread is to be followed that has not ended the wait by then, as a lock's holder. */
static bool can_lead_on(struct walk *w, const struct slice *slice)
{
	return !is_visited(w, slice->waker) &&
	       histories_find(w->histories, slice->waker, w->now - 1) != HISTORY_NONE &&
	       !is_too_deep(w);
}

/* Whether a wait was for any work, not for what its waker gave it. */
static bool is_for_anything(const struct slice *slice)
{
	bool is_of_pool = slice_wait_class(slice->kind) == WAIT_NO_WORK &&
			  slice->state != FILM_WAIT_GOROUTINE && !(slice->flags & FILM_WAIT_KERNEL);

	/* the one that wakes a pool's worker has the work for it */
	return history_is_idle(slice) && !is_of_pool;
}

/*
 * Whether an event loop, whose turn led on from the wait of one of its tasks, had been woken for
 * that turn by a thread of its own process. That one has the task's result, as a thread of an
 * executor has: the loop only passes it on.
 */
static bool is_passed_on(const struct walk *w, const struct slice *slice)
{
	const struct histories *histories = w->histories;
	const struct film_thread *threads = histories->film->threads;

	return w->depth > 1 && histories_is_lane(histories, w->visits[w->depth - 2].thread) &&
	       !histories_is_lane(histories, slice->thread) &&
	       slice->kind == SLICE_WAIT + WAIT_POLL && slice->context == FILM_WAIT_BY_THREAD &&
	       !histories_is_lane(histories, slice->waker) &&
	       threads[slice->waker].process == threads[slice->thread].process;
}

/* Whether a wait that ends now is to be followed to its waker, which ran then. */
static bool is_followed(struct walk *w, const struct slice *slice)
{
	if (!slice_is_wait(slice->kind) || slice->end != w->now || !slice->waker ||
	    slice->waker == slice->thread)
		return false;
	if (slice->flags & (FILM_WAIT_OPEN | HISTORY_HELD))
		return slice->flags & HISTORY_HELD && !(slice->flags & HISTORY_ACCEPTS) &&
		       can_lead_on(w, slice);
	if (slice->context != FILM_WAIT_BY_THREAD && slice->context != FILM_WAIT_BY_EITHER)
		return false;
	/*
	 * its own thread may take part in the end of an access to a disk; the disk is what it took
	 */
	if (is_of_disk(slice) ||
	    (is_for_anything(slice) && (w->depth > 1 || !w->idle) && !is_passed_on(w, slice)))
		return false;
	/* the last one was ended by its waker; of the time before it says as much */
	if (slice->flags & HISTORY_RETRIED)
		return !is_visited(w, slice->waker) && !is_too_deep(w);
	return may_have_run(w->histories, slice->waker, w->now) && !is_too_deep(w);
}

/*
 * Whether the waker of a wait is the one that held what was waited for all the time, so far as is
 * known. Of a request, what a transaction did before is known better (query/explain/calls.c).
 */
static bool holds(const struct walk *w, const struct slice *slice)
{
	return slice->flags & HISTORY_HELD ||
	       (!w->idle && slice->flags & (HISTORY_ROW | HISTORY_TABLE));
}

/*
 * Whether a thread was made at now, by another one that ran then and is not on the way: *maker.
 * What it does from then on was that one's work before.
 */
static bool is_made(const struct walk *w, const struct visit *visit, size_t at, uint32_t *maker)
{
	const struct slice *slices = w->histories->slices;
	size_t first = w->histories->first[visit->thread];
	const struct slice *slice = &slices[first];

	if (w->depth < 2 || w->depth > CRITICAL_DEPTH_MAX || at != HISTORY_NONE ||
	    first == w->histories->first[visit->thread + 1] || slice->kind != SLICE_WOKEN ||
	    slice->start != w->now || slice->context != FILM_WAIT_BY_THREAD || !slice->waker)
		return false;
	*maker = slice->waker;
	return !is_visited(w, *maker) && may_have_run(w->histories, *maker, w->now);
}

/* Goes on in the thread that made the one that is visited. */
static bool follow_maker(struct walk *w, uint32_t maker)
{
	const struct visit *visit = &w->visits[w->depth - 1];
	const struct critical_wait wait = {
		.slice = w->histories->first[visit->thread],
		.start = visit->clip,
		.end = w->now < w->to ? w->now : w->to,
		.woken = w->now,
		.parent = visit->wait,
		.depth = (uint32_t)w->depth - 1,
		.thread = visit->thread,
		.waker = maker,
		.is_made = true,
	};
	bool counts = wait.start < wait.end;

	if (counts && !vec_push(&w->path->waits, wait))
		return false;
	w->visits[w->depth++] = (struct visit){
		.thread = maker,
		.wait = counts ? (uint32_t)w->path->waits.count : visit->wait,
		.clip = visit->clip,
		.at = HISTORY_NONE,
	};
	return true;
}

static bool follow(struct walk *w, size_t at, uint64_t start)
{
	const struct slice *slice = &w->histories->slices[at];
	struct visit *visit = &w->visits[w->depth - 1];
	bool is_retried = slice->flags & HISTORY_RETRIED;

	if (!is_retried || !visit->woken)
		visit->woken = w->now;

	struct critical_wait wait = {
		.slice = at,
		.start = start,
		.end = w->now < w->to ? w->now : w->to,
		.woken = visit->woken,
		.parent = visit->wait,
		.depth = (uint32_t)w->depth - 1,
		.thread = visit->thread,
		.waker = slice->waker,
		.is_likely = slice->context == FILM_WAIT_BY_EITHER,
		.is_passed_on = is_passed_on(w, slice),
	};
	bool counts = wait.start < wait.end;

	if (counts && !vec_push(&w->path->waits, wait))
		return false;
	w->visits[w->depth++] = (struct visit){
		.thread = slice->waker,
		.wait = counts ? (uint32_t)w->path->waits.count : visit->wait,
		.clip = start,
		.at = HISTORY_NONE,
		.is_at_begin = is_retried && visit->had_waker_begun,
		.holds = holds(w, slice),
	};
	visit->had_waker_begun = false;
	return true;
}

/* The slice of a visit's thread that covers the ns before now, or the last one before that. */
static size_t slice_before_now(const struct walk *w, struct visit *visit)
{
	size_t at = visit->at, first = w->histories->first[visit->thread];

	if (at == HISTORY_NONE)
		at = histories_find(w->histories, visit->thread, w->now - 1);
	else
		while (at != HISTORY_NONE && w->histories->slices[at].start >= w->now)
			at = at > first ? at - 1 : HISTORY_NONE;
	visit->at = at;
	return at;
}

/* One step back in a goroutine that ran up to now, at most to start: what its thread did. */
static bool step_in_thread(struct walk *w, const struct visit *visit, size_t at, uint64_t start)
{
	const struct slice *slices = w->histories->slices;
	const struct slice *slice = slice_below(w->histories, &slices[at], w->now);

	if (!slice || slice->end < w->now) {
		if (slice && slice->end > start)
			start = slice->end;
		return put(w, visit, start, at, CRITICAL_RUNNING);
	}
	if (slice->start > start)
		start = slice->start;
	return is_followed(w, slice)
		       ? follow(w, (size_t)(slice - slices), start)
		       : put(w, visit, start, (size_t)(slice - slices), end_of(w, slice));
}

/* One step back in the thread that is visited. */
static bool step(struct walk *w, struct visit *visit)
{
	size_t at = slice_before_now(w, visit);
	const struct slice *slice = at == HISTORY_NONE ? NULL : &w->histories->slices[at];
	uint64_t start = visit->clip;
	enum critical_end ended;
	uint32_t maker;

	if (visit->is_at_begin)
		return put(w, visit, start, HISTORY_NONE, CRITICAL_EARLIER);
	if (is_made(w, visit, at, &maker))
		return follow_maker(w, maker);
	if (!slice || slice->end < w->now) {
		if (slice && slice->end > start)
			start = slice->end;
		return put(w, visit, start, HISTORY_NONE, CRITICAL_ABSENT);
	}
	/* what the loop did earlier is not what the task waited for */
	if (slice->start > start &&
	    !(slice_is_wait(slice->kind) && is_passed_on(w, slice) && is_followed(w, slice)))
		start = slice->start;
	if (slice->kind == SLICE_RUNNING)
		return step_in_thread(w, visit, at, start);
	visit->is_at_begin = w->depth > 1 && history_is_idle(slice) && !visit->holds;
	if (is_followed(w, slice))
		return follow(w, at, start);
	ended = end_of(w, slice);
	return put(w, visit, start, at, ended);
}

static void reverse(struct critical_path *path)
{
	struct critical_step *at = path->steps.at;

	for (size_t i = 0, k = path->steps.count; i + 1 < k; i++) {
		struct critical_step kept = at[i];

		at[i] = at[--k];
		at[k] = kept;
	}
}

/* A wait that goes on at the end of the path: what led to its end did so before, too. */
static void begin_behind(struct walk *w, uint32_t thread)
{
	size_t at = histories_find(w->histories, thread, w->to - 1);
	const struct slice *slice = at == HISTORY_NONE ? NULL : &w->histories->slices[at];

	if (!slice || !slice_is_wait(slice->kind) || slice->end <= w->to)
		return;
	w->now = slice->end;
	if (!is_followed(w, slice))
		w->now = w->to;
}

/* Comes back to the thread that waited. */
static void leave(struct walk *w)
{
	bool is_at_begin = w->visits[--w->depth].is_at_begin;

	if (w->depth)
		w->visits[w->depth - 1].had_waker_begun = is_at_begin;
}

int critical_find(struct critical_path *path, const struct histories *histories, uint32_t thread,
		  uint64_t from, uint64_t to, bool idle)
{
	struct walk w = {.path = path, .histories = histories, .idle = idle, .now = to, .to = to};

	*path = (struct critical_path){0};
	w.visits[w.depth++] = (struct visit){.thread = thread, .clip = from, .at = HISTORY_NONE};
	if (from < to)
		begin_behind(&w, thread);
	while (w.depth) {
		struct visit *visit = &w.visits[w.depth - 1];

		if (w.now <= visit->clip)
			leave(&w);
		else if (!step(&w, visit))
			return -ENOMEM;
	}
	reverse(path);
	return 0;
}

void critical_free(struct critical_path *path)
{
	vec_free(&path->steps);
	vec_free(&path->waits);
}
