// SPDX-License-Identifier: Apache-2.0
#include "query/explain/calls.h"

#include <errno.h>

#include "query/explain/asked.h"

enum {
	CALLS_DEPTH_MAX = 8,	/* services that ask each other */
	CALLS_LOOKS_MAX = 65536 /* at the requests that were made for one */
};

struct calls {
	struct explainer *e;
	uint64_t request;
	const struct explain_made *own; /* the request itself, if it was made; else null */
	uint32_t process, depth;
	uint32_t thread; /* that works for it */
	struct critical_path from, *to;
};

/* A wait whose waker the request itself says more of. */
struct guess {
	size_t slice;
	uint32_t waker, flags;
	uint8_t context;
};

struct guesses {
	struct guess *at;
	size_t count, room;
};

static int walk(struct calls *c, uint32_t thread, uint64_t from, uint64_t to, bool idle);

static const struct slice *slice_of(const struct calls *c, size_t slice)
{
	return slice == HISTORY_NONE ? NULL : &c->e->histories.slices[slice];
}

/* Whether it is one in which a thread may wait for an answer. */
static bool may_be_for_answer(const struct calls *c, const struct slice *slice)
{
	enum wait_class class;

	if (!slice || !slice_is_wait(slice->kind) ||
	    c->e->film->threads[slice->thread].process != c->process)
		return false;
	class = slice_wait_class(slice->kind);
	return class == WAIT_POLL || class == WAIT_RECEIVE || class == WAIT_IPC ||
	       (class == WAIT_NETWORK && slice->state == FILM_WAIT_GOROUTINE);
}

/*
 * Whether it is one in which the request's own thread waited for what came next, be it for this
 * request or for others that it served at the same time, as an event loop does.
 */
static bool is_shared(const struct calls *c, const struct slice *slice)
{
	return !c->own && slice->thread == c->thread && slice->kind == SLICE_WAIT + WAIT_POLL &&
	       !(slice->flags & (HISTORY_ASKED | HISTORY_NAMES)) &&
	       explain_serves_others(&c->e->requests, slice->thread, c->request, slice->start,
				     slice->end);
}

/* What was made for the request, and was under way all over [from, to): one of them, or null. */
static const struct explain_made *made_in(const struct calls *c, uint64_t from, uint64_t to)
{
	if (c->own)
		return c->own->start <= from && c->own->end >= to ? c->own : NULL;
	return explain_made_in(&c->e->requests, c->request, from, to);
}

/* The only one that was under way in a part of [from, to); null: there is none, or several. */
static const struct explain_made *made_beside(const struct calls *c, uint64_t from, uint64_t to)
{
	if (c->own)
		return c->own->start < to && c->own->end > from ? c->own : NULL;
	return explain_made_beside(&c->e->requests, c->request, from, to);
}

static uint64_t within(uint64_t time, uint64_t from, uint64_t to)
{
	return time < from ? from : time > to ? to : time;
}

static bool put(struct calls *c, const struct critical_step *like, uint64_t start, uint64_t end)
{
	struct critical_step step = *like;

	step.start = start;
	step.end = end;
	return start >= end || vec_push(&c->to->steps, step);
}

/* A path is a part of another one, below a wait of that; 0: below none. */
static bool append(struct calls *c, const struct critical_path *path, uint32_t wait)
{
	uint32_t first = (uint32_t)c->to->waits.count;
	uint32_t depth = wait ? c->to->waits.at[wait - 1].depth + 1 : 0;

	for (size_t i = 0; i < path->waits.count; i++) {
		struct critical_wait one = path->waits.at[i];

		one.parent = one.parent ? one.parent + first : wait;
		one.depth += depth;
		if (!vec_push(&c->to->waits, one))
			return false;
	}
	for (size_t i = 0; i < path->steps.count; i++) {
		struct critical_step one = path->steps.at[i];

		one.wait = one.wait ? one.wait + first : wait;
		if (!vec_push(&c->to->steps, one))
			return false;
	}
	c->to->too_deep += path->too_deep;
	return true;
}

/* The thread that worked for a request that was served; 0: not known, or others' may be in it. */
static uint32_t worker_of(const struct calls *c, const struct explain_served *served,
			  uint64_t *from)
{
	const struct explainer *e = c->e;
	const struct request request = explain_served_request(served);
	uint32_t lane = served_lane_of(&e->served_lanes, &request);
	uint64_t others;

	*from = served->start;
	if (lane)
		return lane;
	if (served_has_lanes(&e->served_lanes, e->film, &request) ||
	    e->unlinked.of_process[e->film->threads[served->answerer].process] ||
	    explain_at_once(&e->requests, &request).count)
		return 0;
	*from = explain_queued_until(&e->requests, &request, &others);
	return served->answerer;
}

/* What was done for a request from a time on, up to another one, at the other end. */
static int put_worker(struct calls *c, const struct explain_served *served, uint32_t worker,
		      uint64_t from, uint64_t to, uint32_t wait)
{
	struct calls inner = {
		.e = c->e,
		.request = served->number,
		.process = c->e->film->threads[worker].process,
		.depth = c->depth + 1,
	};
	struct critical_path path;
	int err;

	inner.to = &path;
	err = walk(&inner, worker, from, to, true);
	if (!err && !append(c, &path, wait))
		err = -ENOMEM;
	critical_free(&path);
	return err;
}

static int put_call(struct calls *c, const struct critical_step *step, uint64_t start,
		    uint64_t end);

/* Up to when the same requests are under way as at a moment; which one, if it is the only one. */
static uint64_t under_way(const struct calls *c, size_t *first, uint64_t at, uint64_t to,
			  size_t *looks, const struct explain_made **only)
{
	const struct explain_requests *requests = &c->e->requests;
	size_t count = 0;

	*only = NULL;
	for (size_t i = *first;
	     i < requests->made.count && requests->made.at[i].parent == c->request; i++) {
		const struct explain_made *made = &requests->made.at[i];

		if (++*looks > CALLS_LOOKS_MAX) {
			*only = NULL;
			return to;
		}
		if (made->start > at)
			return made->start < to ? made->start : to;
		if (made->end <= at) {
			*first += i == *first;
			continue;
		}
		to = made->end < to ? made->end : to;
		*only = count++ ? NULL : made;
	}
	return to;
}

/* What was done for a request while none of those that were made for it was the only one. */
struct rest {
	int (*put)(struct calls *c, const struct rest *rest, uint64_t start, uint64_t end);
	uint32_t thread, wait;
};

/*
 * The requests that were made for one, where it is not known which thread worked for it when, and
 * the rest of the time.
 */
static int put_made(struct calls *c, const struct rest *rest, uint64_t from, uint64_t to)
{
	size_t first = explain_first_made(&c->e->requests, c->request), looks = 0;
	int err = 0;

	for (uint64_t at = from, end; !err && at < to; at = end) {
		struct critical_step step = {
			.slice = HISTORY_NONE,
			.thread = rest->thread,
			.wait = rest->wait,
			.ended = CRITICAL_NETWORK,
		};

		end = under_way(c, &first, at, to, &looks, &step.made);
		err = step.made ? put_call(c, &step, at, end) : rest->put(c, rest, at, end);
	}
	return err;
}

/* It is not told apart from what its threads did for others. */
static int put_unlinked(struct calls *c, const struct rest *rest, uint64_t start, uint64_t end)
{
	const struct critical_step step = {
		.slice = HISTORY_NONE,
		.thread = rest->thread,
		.wait = rest->wait,
		.ended = CRITICAL_UNLINKED,
	};

	return put(c, &step, start, end) ? 0 : -ENOMEM;
}

/* What the thread did: also for others, which is to be said. */
static int put_thread(struct calls *c, const struct rest *rest, uint64_t start, uint64_t end)
{
	struct critical_path path;
	int err = critical_find(&path, &c->e->histories, rest->thread, start, end, true);

	if (!err && !append(c, &path, rest->wait))
		err = -ENOMEM;
	critical_free(&path);
	return err;
}

/* What a call leads to. */
struct other_end {
	const struct explain_served *served; /* null: it is not followed */
	uint32_t worker;		     /* 0: not known: what was made for it tells more */
	uint64_t free_from;		     /* from then on the worker is not busy for others */
};

static struct other_end other_end(const struct calls *c, const struct explain_made *made)
{
	const struct explain_requests *requests = &c->e->requests;
	struct other_end end = {0};

	if (c->depth < CALLS_DEPTH_MAX)
		end.served = explain_served_of(requests, made);
	if (!end.served)
		return end;
	end.worker = worker_of(c, end.served, &end.free_from);
	if (!end.worker && !explain_has_made(requests, end.served->number))
		end.served = NULL;
	return end;
}

/* What was done at the other end from when it had the request until it had answered. */
static int put_served(struct calls *c, const struct other_end *there, uint64_t from, uint64_t to,
		      uint32_t wait)
{
	uint64_t work = within(there->free_from, from, to);
	const struct critical_step earlier = {
		.slice = HISTORY_NONE,
		.thread = there->worker,
		.wait = wait,
		.ended = CRITICAL_EARLIER,
	};
	struct calls inner = {
		.e = c->e,
		.request = there->served->number,
		.depth = c->depth + 1,
		.to = c->to,
	};
	const struct rest rest = {put_unlinked, there->served->answerer, wait};

	if (!there->worker)
		return put_made(&inner, &rest, from, to);
	if (!put(c, &earlier, from, work))
		return -ENOMEM;
	return work < to ? put_worker(c, there->served, there->worker, work, to, wait) : 0;
}

/* What the thread that was to receive the request did for another one before. */
static int put_before(struct calls *c, const struct explain_served *other, uint64_t from,
		      uint64_t to, uint32_t wait, bool is_of_connection)
{
	const struct critical_wait queued = {
		.slice = HISTORY_NONE,
		.start = from,
		.end = to,
		.woken = to,
		.parent = wait,
		.depth = c->to->waits.at[wait - 1].depth + 1,
		.thread = other->answerer,
		.waker = other->answerer,
		.before = other,
		.is_of_connection = is_of_connection,
	};

	if (!vec_push(&c->to->waits, queued))
		return -ENOMEM;
	return put_worker(c, other, other->answerer, from, to, (uint32_t)c->to->waits.count);
}

/*
 * A time in which a request was sent, and not received yet: a thread that serves one at a time
 * first answers those before it, as do the workers of a pool that is too small.
 */
static int put_sent(struct calls *c, const struct other_end *there, uint64_t start, uint64_t to,
		    uint32_t wait)
{
	const struct explain_served *other = NULL;
	const struct critical_step sent = {
		.slice = HISTORY_NONE,
		.thread = c->to->waits.at[wait - 1].thread,
		.wait = wait,
		.ended = CRITICAL_SENT,
	};
	int err = 0;

	/* one that works for several has its own lanes, or is not told apart */
	while (!err && there->worker == there->served->answerer &&
	       (other = explain_served_before(&c->e->requests, there->served, start, other))) {
		uint64_t from = within(other->start, start, to), end = within(other->end, from, to);

		if (!put(c, &sent, start, from))
			return -ENOMEM;
		if (from < end)
			err = put_before(c, other, from, end, wait, false);
		start = end;
	}
	return err || put(c, &sent, start, to) ? err : -ENOMEM;
}

/*
 * A time in which the answer was waited for: until the other end had the request, while it worked
 * for it, and from when it had answered on.
 */
static int put_call(struct calls *c, const struct critical_step *step, uint64_t start, uint64_t end)
{
	const struct other_end there = other_end(c, step->made);
	uint64_t from = there.served ? within(there.served->start, start, end) : start;
	uint64_t to = there.served ? within(there.served->end, start, end) : start;
	struct critical_step between = {.slice = HISTORY_NONE, .thread = step->thread};
	struct critical_wait wait = {
		.slice = step->slice,
		.start = start,
		.end = end,
		.woken = end,
		.parent = step->wait,
		.depth = step->wait ? c->to->waits.at[step->wait - 1].depth + 1 : 0,
		.thread = step->thread,
		.is_call = true,
		.made = step->made,
	};
	int err;

	if (!there.served)
		return put(c, step, start, end) ? 0 : -ENOMEM;
	wait.waker = there.worker ? there.worker : there.served->answerer;
	if (!vec_push(&c->to->waits, wait))
		return -ENOMEM;
	between.wait = (uint32_t)c->to->waits.count;
	err = put_sent(c, &there, start, from, between.wait);
	if (!err)
		err = put_served(c, &there, from, to, between.wait);
	between.ended = CRITICAL_ANSWERED;
	if (!err && !put(c, &between, to, end))
		err = -ENOMEM;
	return err;
}

/*
 * What a goroutine on the path has made: the one that waits here does it for that one, as the
 * reader of a connection does. Null: none of them made just one.
 */
static const struct explain_made *made_above(const struct calls *c,
					     const struct critical_step *step)
{
	for (uint32_t wait = c->own ? 0 : step->wait; wait;
	     wait = c->to->waits.at[wait - 1].parent) {
		uint32_t thread = c->to->waits.at[wait - 1].thread;
		const struct explain_made *made;

		if (!histories_is_lane(&c->e->histories, thread))
			continue;
		made = explain_made_by(&c->e->requests, c->request, c->e->film->threads[thread].tid,
				       step->start, step->end);
		if (made)
			return made;
	}
	return NULL;
}

/*
 * What a thread did in a time in which it held a lock of a database, and served no request: it
 * mostly waited for its client's next command. What else that was is not explained.
 */
static bool put_between(struct calls *c, const struct critical_step *step, uint64_t from,
			uint64_t to)
{
	const struct histories *h = &c->e->histories;
	const struct slice *of = slice_of(c, c->to->waits.at[step->wait - 1].slice);
	size_t i = histories_find(h, step->thread, from);

	if (!of || !(of->flags & (HISTORY_ROW | HISTORY_TABLE)) || i == HISTORY_NONE)
		return put(c, step, from, to);
	for (; from < to && i < h->first[step->thread + 1]; i++) {
		const struct slice *slice = &h->slices[i];
		struct critical_step did = *step;
		uint64_t end = within(slice->end, from, to);

		if (slice_is_wait(slice->kind) && slice->flags & HISTORY_CLIENT_READ) {
			did.slice = i;
			did.ended = CRITICAL_IDLE;
		}
		if (from < end && !put(c, &did, from, end))
			return false;
		from = end;
	}
	return put(c, step, from, to);
}

/*
 * What a thread did before it had the work in which it ended a wait is not the cause; but what came
 * by the same connection may be, as a transaction that holds what was waited for until it ends.
 */
static int put_earlier(struct calls *c, const struct critical_step *step)
{
	const struct critical_wait *wait = &c->to->waits.at[step->wait - 1];
	const struct explain_served *last, *other;
	uint64_t start = step->start, begun;
	int err = 0;

	last = c->depth < CALLS_DEPTH_MAX
		       ? explain_served_at(&c->e->requests, step->thread, wait->woken - 1)
		       : NULL;
	while (!err && last && start < step->end && worker_of(c, last, &begun) == step->thread &&
	       (other = explain_same_connection(&c->e->requests, last, start, step->end))) {
		uint64_t from = within(other->start, start, step->end);
		uint64_t end = within(other->end, from, step->end);

		if (!put_between(c, step, start, from))
			return -ENOMEM;
		if (from < end && worker_of(c, other, &begun) == other->answerer)
			err = put_before(c, other, from, end, step->wait, true);
		else if (!put(c, step, from, end))
			err = -ENOMEM;
		start = end;
	}
	return err || put_between(c, step, start, step->end) ? err : -ENOMEM;
}

/* A thread that sleeps until another one sees its answer come waits for that answer. */
static int put_watched(struct calls *c, const struct critical_step *step)
{
	struct critical_step call = *step;

	call.slice = HISTORY_NONE;
	call.ended = CRITICAL_NETWORK;
	return put_call(c, &call, step->start, step->end);
}

/*
 * The request's own thread waits for an answer as long as one is missing. Another one of its
 * process, as that of a connection, may wait for any: if there is just one, it waits for that while
 * it is under way.
 */
static int put_step(struct calls *c, size_t place)
{
	const struct critical_step *step = &c->from.steps.at[place];
	const struct slice *slice = slice_of(c, step->slice);
	struct critical_step call = *step, rest = *step;
	const struct explain_made *only;
	uint64_t from, to;
	int err;

	call.made = explain_asked_by_waiter(&c->e->requests, &c->e->histories, c->e->film, &c->from,
					    place);
	if (call.made)
		return put_watched(c, &call);
	if (step->ended == CRITICAL_EARLIER && step->wait)
		return put_earlier(c, step);
	if (!may_be_for_answer(c, slice))
		return put(c, step, step->start, step->end) ? 0 : -ENOMEM;
	if (!step->wait && is_shared(c, slice))
		rest.ended = CRITICAL_SHARED;
	only = made_beside(c, step->start, step->end);
	if (!only && slice->state == FILM_WAIT_GOROUTINE)
		only = made_above(c, step);
	call.made = only;
	if (!step->wait && slice->state != FILM_WAIT_GOROUTINE)
		call.made = made_in(c, step->start, step->end);
	if (!call.made)
		return put(c, &rest, step->start, step->end) ? 0 : -ENOMEM;
	/* one of several is named, and not followed */
	if (call.made != only)
		return put(c, &call, step->start, step->end) ? 0 : -ENOMEM;
	from = within(only->start, step->start, step->end);
	to = within(only->end, step->start, step->end);
	if (!put(c, &rest, step->start, from))
		return -ENOMEM;
	err = from < to ? put_call(c, &call, from, to) : 0;
	return err || put(c, &rest, to, step->end) ? err : -ENOMEM;
}

static int follow_calls(struct calls *c)
{
	int err = 0;

	c->from = *c->to;
	*c->to = (struct critical_path){.too_deep = c->from.too_deep};
	for (size_t i = 0; !err && i < c->from.waits.count; i++) {
		struct critical_wait wait = c->from.waits.at[i];
		const struct slice *slice = slice_of(c, wait.slice);

		if (!wait.parent && may_be_for_answer(c, slice) &&
		    slice->state != FILM_WAIT_GOROUTINE)
			wait.made = made_in(c, wait.start, wait.end);
		if (!vec_push(&c->to->waits, wait))
			err = -ENOMEM;
	}
	for (size_t i = 0; !err && i < c->from.steps.count; i++)
		err = put_step(c, i);
	critical_free(&c->from);
	return err;
}

/*
 * Whether a wait ended by what came from the other end: by a guess, or by a wake of its process, as
 * over a Unix socket.
 */
static bool is_from(const struct calls *c, const struct slice *slice,
		    const struct explain_made *made, const struct explain_served *served)
{
	const struct film_thread *threads = c->e->film->threads;

	return slice->flags & HISTORY_PEER ||
	       (made->is_unix && slice->waker &&
		threads[slice->waker].process == threads[served->answerer].process);
}

static bool set_one_aside(struct slice *slice, size_t place, struct guesses *guesses)
{
	const struct guess guess = {place, slice->waker, slice->flags, slice->context};

	if (!vec_push(guesses, guess))
		return false;
	slice->waker = 0;
	slice->context = FILM_WAIT_BY_SOFTIRQ;
	slice->flags &= ~(uint32_t)HISTORY_PEER;
	return true;
}

/*
 * By whom data came is a guess by who ran then (query/explain/peers.h), or by the last one who sent
 * some. The request itself says more: these waits are left to put_call(). What ended a wait of an
 * event loop may have been for any of those that it served, and does not lead on.
 */
static bool set_aside(struct calls *c, uint32_t thread, uint64_t from, uint64_t to,
		      struct guesses *guesses)
{
	struct histories *h = &c->e->histories;
	size_t i = histories_find(h, thread, from);

	for (i = i == HISTORY_NONE ? h->first[thread] : i;
	     i < h->first[thread + 1] && h->slices[i].start < to; i++) {
		struct slice *slice = &h->slices[i];
		const struct explain_made *only;
		struct other_end there;

		if (!may_be_for_answer(c, slice))
			continue;
		if (is_shared(c, slice)) {
			if (!set_one_aside(slice, i, guesses))
				return false;
			continue;
		}
		only = made_beside(c, slice->start, slice->end);
		if (!only || only->start > slice->start || only->end < slice->end)
			continue;
		there = other_end(c, only);
		if (!there.served || !is_from(c, slice, only, there.served))
			continue;
		if (!set_one_aside(slice, i, guesses))
			return false;
	}
	return true;
}

static void put_back(struct histories *h, struct guesses *guesses)
{
	vec_foreach (guesses, guess) {
		h->slices[guess->slice].waker = guess->waker;
		h->slices[guess->slice].context = guess->context;
		h->slices[guess->slice].flags = guess->flags;
	}
	vec_free(guesses);
}

static int walk(struct calls *c, uint32_t thread, uint64_t from, uint64_t to, bool idle)
{
	struct guesses guesses = {0};
	int err = 0;

	*c->to = (struct critical_path){0};
	c->thread = thread;
	if (c->depth < CALLS_DEPTH_MAX && !set_aside(c, thread, from, to, &guesses))
		err = -ENOMEM;
	if (!err)
		err = critical_find(c->to, &c->e->histories, thread, from, to, idle);
	put_back(&c->e->histories, &guesses);
	return err ? err : follow_calls(c);
}

int explain_calls(struct explainer *e, const struct request *request, uint32_t thread,
		  uint64_t from, uint64_t to, struct critical_path *path)
{
	struct calls c = {
		.e = e,
		.request = request->row.number,
		.own = request->row.role == FILM_REQUEST_MADE
			       ? explain_made_numbered(&e->requests, request->row.number)
			       : NULL,
		.process = e->film->threads[thread].process,
		.to = path,
	};

	/* the threads of others may have waited for its answers; a lane is its own */
	if (!c.own && e->unlinked.of_process[c.process] &&
	    !histories_is_lane(&e->histories, thread) &&
	    explain_has_made(&e->requests, c.request)) {
		*path = (struct critical_path){0};
		return put_made(&c, &(struct rest){put_thread, thread, 0}, from, to);
	}
	return walk(&c, thread, from, to, true);
}
