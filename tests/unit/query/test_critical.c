// SPDX-License-Identifier: Apache-2.0
/*
 * The critical path: by hand, and for thousands of made-up graphs of wakes against a checker that
 * finds the cause of each ns by itself, from the definition, without a walk.
 */
#include "../prelude.h"

#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "query/explain/critical.h"

enum {
	THREADS = 12,
	SLICES = 48, /* of a thread */
	LAST = 400,  /* ns */
	GRAPHS = 10000,
};

struct graph {
	struct film film;
	struct histories histories;
	struct slice slices[THREADS * SLICES];
	size_t first[THREADS + 2];
	uint64_t random;
};

static uint64_t number(struct graph *g, uint64_t below)
{
	return hash_u64(g->random++) % below;
}

static void begin(struct graph *g)
{
	memset(g, 0, sizeof(*g));
	g->film.thread_count = THREADS;
	g->histories = (struct histories){
		.film = &g->film, .to = LAST, .slices = g->slices, .first = g->first};
}

/* Threads are given in order, from 1 on. */
static struct slice *add(struct graph *g, uint32_t thread, uint64_t start, uint64_t end,
			 unsigned int kind)
{
	struct slice *slice = &g->slices[g->histories.count++];

	*slice =
		(struct slice){.start = start, .end = end, .thread = thread, .kind = (uint8_t)kind};
	for (uint32_t i = thread + 1; i < THREADS + 2; i++)
		g->first[i] = g->histories.count;
	return slice;
}

static void add_wait(struct graph *g, uint32_t thread, uint64_t start, uint64_t end,
		     enum wait_class class, uint32_t waker)
{
	struct slice *slice = add(g, thread, start, end, SLICE_WAIT + class);

	slice->waker = waker;
	slice->context = waker ? FILM_WAIT_BY_THREAD : FILM_WAIT_BY_INTERRUPT;
}

/* The path as words: "1 cpu 0-10; 2 device 10-30". */
static const char *tell(struct graph *g, uint32_t thread, uint64_t from, uint64_t to)
{
	static char words[1000];
	struct critical_path path;
	size_t used = 0;

	assert_int_equal(critical_find(&path, &g->histories, thread, from, to, false), 0);
	words[0] = 0;
	vec_foreach (&path.steps, step)
		used += (size_t)snprintf(
			words + used, sizeof(words) - used, "%s%u %s %llu-%llu", used ? "; " : "",
			step->thread, critical_end_name(step->ended),
			(unsigned long long)step->start, (unsigned long long)step->end);
	critical_free(&path);
	return words;
}

static void follows_a_poll_of_a_thread_that_has_work(void **state)
{
	struct graph g;

	(void)state;
	begin(&g);
	add_wait(&g, 1, 0, 90, WAIT_LOCK, 2);
	add(&g, 1, 90, 100, SLICE_ON_CPU);
	add(&g, 2, 0, 20, SLICE_ON_CPU);
	add_wait(&g, 2, 20, 70, WAIT_POLL, 3);
	g.slices[g.histories.count - 1].flags |= HISTORY_ASKED;
	add(&g, 2, 70, 100, SLICE_ON_CPU);
	add(&g, 3, 0, 40, SLICE_ON_CPU);
	add_wait(&g, 3, 40, 60, WAIT_POLL, 2);
	add(&g, 3, 60, 100, SLICE_ON_CPU);
	assert_string_equal(tell(&g, 1, 0, 100), "2 cpu 0-20; 3 earlier 20-40; 3 idle 40-60; "
						 "3 cpu 60-70; 2 cpu 70-90; 1 cpu 90-100");
	/* without a thread that ended it, it is a wait for the network, and not for new work */
	g.slices[3].waker = 0;
	g.slices[3].context = FILM_WAIT_BY_SOFTIRQ;
	assert_string_equal(tell(&g, 1, 0, 100),
			    "2 cpu 0-20; 2 network 20-70; 2 cpu 70-90; 1 cpu 90-100");
}

static void follows_waits_that_begin_anew_to_what_ended_the_last(void **state)
{
	struct graph g;

	(void)state;
	begin(&g);
	add_wait(&g, 1, 0, 40, WAIT_LOCK, 2);
	g.slices[0].flags |= HISTORY_RETRIED;
	add(&g, 1, 40, 42, SLICE_ON_CPU);
	add_wait(&g, 1, 42, 80, WAIT_LOCK, 2);
	add(&g, 1, 80, 100, SLICE_ON_CPU);
	/* it does not run when the first one is over */
	add_wait(&g, 2, 0, 60, WAIT_DISK, 0);
	add(&g, 2, 60, 100, SLICE_ON_CPU);
	assert_string_equal(tell(&g, 1, 0, 100), "2 device 0-40; 1 cpu 40-42; 2 device 42-60; "
						 "2 cpu 60-80; 1 cpu 80-100");
	/* its work came within the last one: what it did before does not lead to the first */
	g.slices[4].kind = SLICE_WAIT + WAIT_POLL;
	g.slices[4].start = 45;
	add(&g, 3, 0, 100, SLICE_ON_CPU);
	assert_string_equal(tell(&g, 1, 0, 100), "2 earlier 0-40; 1 cpu 40-42; 2 earlier 42-45; "
						 "2 idle 45-60; 2 cpu 60-80; 1 cpu 80-100");
}

static void follows_a_lock_to_what_its_holder_did(void **state)
{
	struct graph g;

	(void)state;
	begin(&g);
	add(&g, 1, 0, 10, SLICE_ON_CPU);
	add_wait(&g, 1, 10, 60, WAIT_LOCK, 2);
	add(&g, 1, 60, 65, SLICE_WOKEN);
	add(&g, 1, 65, 100, SLICE_ON_CPU);
	/* it does something else up to 8, and takes the lock then */
	add(&g, 2, 0, 20, SLICE_ON_CPU);
	add_wait(&g, 2, 20, 50, WAIT_DISK, 0);
	add(&g, 2, 50, 70, SLICE_ON_CPU);
	assert_string_equal(tell(&g, 1, 0, 100), "1 cpu 0-10; 2 cpu 10-20; 2 device 20-50; "
						 "2 cpu 50-60; 1 ready 60-65; 1 cpu 65-100");
	/* cut in the middle of the wait: what led to its end did so before, too */
	assert_string_equal(tell(&g, 1, 5, 40), "1 cpu 5-10; 2 cpu 10-20; 2 device 20-40");
	/* what ended it is not in the film */
	g.slices[1].flags |= FILM_WAIT_OPEN;
	assert_string_equal(tell(&g, 1, 5, 40), "1 cpu 5-10; 1 open 10-40");
}

/* The first thread waits for the second one, which the third one has woken from a wait. */
static void begin_with_a_helper(struct graph *g, enum wait_class class)
{
	begin(g);
	add_wait(g, 1, 0, 90, WAIT_LOCK, 2);
	add(g, 1, 90, 100, SLICE_ON_CPU);
	add(g, 2, 0, 20, SLICE_ON_CPU);
	add_wait(g, 2, 20, 70, class, 3);
	add(g, 2, 70, 100, SLICE_ON_CPU);
	add(g, 3, 0, 100, SLICE_ON_CPU);
}

static void goes_no_further_than_new_work(void **state)
{
	struct graph g;

	(void)state;
	begin_with_a_helper(&g, WAIT_POLL);
	assert_string_equal(tell(&g, 1, 0, 100),
			    "2 earlier 0-20; 2 idle 20-70; 2 cpu 70-90; 1 cpu 90-100");
	/* its own wait for new work is followed for a request alone */
	assert_string_equal(tell(&g, 2, 20, 80), "2 idle 20-70; 2 cpu 70-80");
}

/* The one that wakes it has its work, and what it did for others before that is not the cause. */
static void follows_the_worker_of_a_pool_to_whose_work_it_does(void **state)
{
	struct graph g;

	(void)state;
	begin_with_a_helper(&g, WAIT_NO_WORK);
	assert_string_equal(tell(&g, 1, 0, 100),
			    "2 earlier 0-20; 3 cpu 20-70; 2 cpu 70-90; 1 cpu 90-100");
	assert_string_equal(tell(&g, 2, 20, 80), "3 cpu 20-70; 2 cpu 70-80");
	/* a thread of the kernel works for many */
	g.slices[3].flags |= FILM_WAIT_KERNEL;
	assert_string_equal(tell(&g, 1, 0, 100),
			    "2 earlier 0-20; 2 idle 20-70; 2 cpu 70-90; 1 cpu 90-100");
}

static void does_not_follow_what_cannot_be(void **state)
{
	struct graph g;

	(void)state;
	begin(&g);
	add_wait(&g, 1, 0, 50, WAIT_LOCK, 2);
	add_wait(&g, 1, 50, 60, WAIT_LOCK, 3);
	add_wait(&g, 1, 60, 70, WAIT_RECEIVE, 4);
	g.slices[2].context = FILM_WAIT_BY_SOFTIRQ;
	add_wait(&g, 1, 70, 80, WAIT_LOCK, 1);
	add_wait(&g, 1, 80, 90, WAIT_LOCK, 0);
	/* it waits itself when it is to have woken the first one */
	add_wait(&g, 2, 0, 80, WAIT_LOCK, 1);
	add(&g, 4, 0, 100, SLICE_ON_CPU);
	assert_string_equal(tell(&g, 1, 0, 90),
			    "1 unfilmed 0-50; 1 unfilmed 50-60; 1 network 60-70; 1 unfilmed 70-80; "
			    "1 timer 80-90");
}

/* What the first one waits for is done by a thread that the third one makes meanwhile. */
static void follows_a_thread_that_was_made_to_its_maker(void **state)
{
	struct graph g;

	(void)state;
	begin(&g);
	add_wait(&g, 1, 0, 80, WAIT_LOCK, 2);
	add(&g, 1, 80, 100, SLICE_ON_CPU);
	add(&g, 2, 50, 60, SLICE_WOKEN)->waker = 3;
	g.slices[2].context = FILM_WAIT_BY_THREAD;
	add(&g, 2, 60, 90, SLICE_ON_CPU);
	add_wait(&g, 3, 0, 40, WAIT_DISK, 0);
	add(&g, 3, 40, 70, SLICE_ON_CPU);
	assert_string_equal(tell(&g, 1, 0, 100), "3 device 0-40; 3 cpu 40-50; 2 ready 50-60; "
						 "2 cpu 60-80; 1 cpu 80-100");
	/* the film does not have its maker then */
	g.slices[5].start = 55;
	assert_string_equal(tell(&g, 1, 0, 100),
			    "2 absent 0-50; 2 ready 50-60; 2 cpu 60-80; 1 cpu 80-100");
}

/* One that holds a lock has that all the time: what it waits for meanwhile is no other work. */
static void follows_a_holder_through_its_waits_for_events(void **state)
{
	struct graph g;

	(void)state;
	begin(&g);
	add_wait(&g, 1, 0, 90, WAIT_POLL, 2);
	g.slices[0].flags |= HISTORY_ROW;
	add(&g, 1, 90, 100, SLICE_ON_CPU);
	add(&g, 2, 0, 20, SLICE_ON_CPU);
	add_wait(&g, 2, 20, 70, WAIT_POLL, 0);
	add(&g, 2, 70, 100, SLICE_ON_CPU);
	assert_string_equal(tell(&g, 1, 0, 100),
			    "2 cpu 0-20; 2 idle 20-70; 2 cpu 70-90; 1 cpu 90-100");
}

static void marks_what_is_lost_or_was_not_there(void **state)
{
	struct graph g;

	(void)state;
	begin(&g);
	add_wait(&g, 1, 0, 50, WAIT_LOCK, 2);
	add(&g, 1, 50, 60, SLICE_ON_CPU);
	add(&g, 2, 20, 30, SLICE_ON_CPU);
	add(&g, 2, 30, 55, SLICE_HOLE);
	assert_string_equal(
		tell(&g, 1, 0, 70),
		"2 absent 0-20; 2 cpu 20-30; 2 hole 30-50; 1 cpu 50-60; 1 absent 60-70");
}

/* Goroutines 3 and 4 run on threads 1 and 2. */
static void follows_lanes_into_their_threads(void **state)
{
	struct graph g;

	(void)state;
	begin(&g);
	add(&g, 1, 0, 30, SLICE_ON_CPU);
	add(&g, 1, 30, 70, SLICE_WOKEN);
	add(&g, 1, 70, 100, SLICE_ON_CPU);
	add_wait(&g, 2, 0, 40, WAIT_DISK, 0);
	add(&g, 2, 40, 100, SLICE_ON_CPU);
	add(&g, 3, 0, 10, SLICE_RUNNING)->on = 1;
	add_wait(&g, 3, 10, 60, WAIT_CHANNEL, 4);
	add(&g, 3, 60, 65, SLICE_WOKEN);
	add(&g, 3, 65, 100, SLICE_RUNNING)->on = 1;
	add_wait(&g, 4, 0, 20, WAIT_NETWORK, 0);
	add(&g, 4, 20, 80, SLICE_RUNNING)->on = 2;
	assert_string_equal(tell(&g, 3, 0, 100),
			    "3 cpu 0-10; 4 network 10-20; 4 device 20-40; 4 cpu 40-60; "
			    "3 ready 60-65; 3 ready 65-70; 3 cpu 70-100");
	/* by its thread the one that made it ready did not run: it is not followed */
	g.slices[4].start = g.slices[3].end = 70;
	assert_string_equal(tell(&g, 3, 0, 62), "3 cpu 0-10; 3 unfilmed 10-60; 3 ready 60-62");
	/* of a thread that is not filmed no more is known than that it worked for the goroutine */
	g.slices[10].on = 11;
	assert_string_equal(tell(&g, 3, 0, 62), "3 cpu 0-10; 4 network 10-20; 4 running 20-60; "
						"3 ready 60-62");
	/* a film may say that a goroutine runs on itself */
	g.slices[10].on = 4;
	assert_string_equal(tell(&g, 4, 0, 80), "4 network 0-20; 4 running 20-80");
}

/* Task 4 runs on the event loop of thread 1; thread 2 of the same process works for it. */
static void follows_a_task_through_its_loop_to_the_thread_that_worked(void **state)
{
	struct film_thread threads[THREADS] = {{.process = 1}, {.process = 1}, {.process = 1}};
	uint8_t lanes[THREADS] = {[4] = 1};
	struct graph g;

	(void)state;
	begin(&g);
	g.film.threads = threads;
	g.histories.lanes = lanes;
	add(&g, 1, 0, 40, SLICE_ON_CPU);
	add_wait(&g, 1, 40, 80, WAIT_POLL, 2);
	add(&g, 1, 80, 100, SLICE_ON_CPU);
	add_wait(&g, 2, 0, 20, WAIT_DISK, 0);
	add(&g, 2, 20, 100, SLICE_ON_CPU);
	add(&g, 4, 0, 10, SLICE_RUNNING)->on = 1;
	add_wait(&g, 4, 10, 90, WAIT_OTHER, 1);
	add(&g, 4, 90, 100, SLICE_RUNNING)->on = 1;
	assert_string_equal(tell(&g, 4, 0, 100), "4 cpu 0-10; 2 device 10-20; 2 cpu 20-80; "
						 "1 cpu 80-90; 4 cpu 90-100");
	/* another process sent it new work: what that one did is not known to be the cause */
	threads[2].process = 2;
	assert_string_equal(tell(&g, 4, 0, 100), "4 cpu 0-10; 1 earlier 10-40; 1 idle 40-80; "
						 "1 cpu 80-90; 4 cpu 90-100");
	/* nor is one the cause of what the loop's own thread waits for */
	threads[2].process = 1;
	assert_string_equal(tell(&g, 1, 0, 100), "1 cpu 0-40; 1 idle 40-80; 1 cpu 80-100");
}

static void finds_a_deadlock(void **state)
{
	struct graph g;

	(void)state;
	begin(&g);
	for (uint32_t thread = 1; thread < 4; thread++) {
		add(&g, thread, 0, 10, SLICE_ON_CPU);
		add_wait(&g, thread, 10, 100, WAIT_LOCK, thread % 3 + 1);
		g.slices[g.histories.count - 1].flags = HISTORY_HELD | FILM_WAIT_OPEN;
	}
	assert_string_equal(tell(&g, 1, 0, 100), "1 cpu 0-10; 3 deadlock 10-100");
}

/* What a ns of a thread is, by definition. */
struct cause {
	uint32_t thread;
	size_t slice; /* HISTORY_NONE: none */
	bool is_earlier;
};

static size_t covering(const struct graph *g, uint32_t thread, uint64_t ns)
{
	for (size_t i = g->first[thread]; i < g->first[thread + 1]; i++)
		if (g->slices[i].start <= ns && ns < g->slices[i].end)
			return i;
	return HISTORY_NONE;
}

static bool is_idle(const struct slice *slice)
{
	return slice_is_wait(slice->kind) && wait_class_is_idle(slice_wait_class(slice->kind));
}

struct window {
	const struct window *outer;
	uint32_t thread;
	uint64_t from, to; /* [from, to) of the waiter's wait */
	bool holds;	   /* what the waiter waits for */
};

static bool is_on_the_way(const struct window *w, uint32_t thread)
{
	for (; w; w = w->outer)
		if (w->thread == thread)
			return true;
	return false;
}

/* Whether a wait is one whose waker is the cause, seen from a window. */
static bool has_cause(const struct graph *g, const struct window *w, const struct slice *slice)
{
	size_t waker;

	if (!slice_is_wait(slice->kind) || !slice->waker || slice->waker == slice->thread)
		return false;
	if (slice->flags & HISTORY_HELD)
		return (slice->end <= w->to || !w->outer) && !is_on_the_way(w, slice->waker) &&
		       g->first[slice->waker] < g->first[slice->waker + 1] &&
		       g->slices[g->first[slice->waker]].start < slice->end;
	/* the window of another wait ends with that; the first one may end within one */
	if (slice->flags & FILM_WAIT_OPEN || (slice->end > w->to && w->outer))
		return false;
	if (slice->context != FILM_WAIT_BY_THREAD && slice->context != FILM_WAIT_BY_EITHER)
		return false;
	if (slice->kind == SLICE_WAIT + WAIT_DISK || is_idle(slice))
		return false;
	waker = covering(g, slice->waker, slice->end - 1);
	return waker != HISTORY_NONE &&
	       (g->slices[waker].kind == SLICE_ON_CPU || g->slices[waker].kind == SLICE_HOLE);
}

static struct cause cause_of(const struct graph *g, const struct window *w, uint64_t ns)
{
	size_t at = covering(g, w->thread, ns);
	const struct slice *slice = at == HISTORY_NONE ? NULL : &g->slices[at];
	struct window inner = {w};

	/* new work came to a waker behind this ns: it is not what the waiter waited for */
	for (size_t i = g->first[w->thread]; w->outer && !w->holds && i < g->first[w->thread + 1];
	     i++)
		if (is_idle(&g->slices[i]) && g->slices[i].start > ns &&
		    g->slices[i].start < w->to && !has_cause(g, w, &g->slices[i]))
			return (struct cause){w->thread, HISTORY_NONE, true};
	if (!slice || !has_cause(g, w, slice))
		return (struct cause){w->thread, at, false};
	inner.thread = slice->waker;
	inner.from = slice->start > w->from ? slice->start : w->from;
	inner.to = slice->end;
	inner.holds = slice->flags & HISTORY_HELD;
	return cause_of(g, &inner, ns);
}

static void make_slice(struct graph *g, uint32_t thread, uint64_t start, uint64_t end)
{
	static const enum wait_class classes[] = {WAIT_LOCK,  WAIT_LOCK, WAIT_IPC,  WAIT_RECEIVE,
						  WAIT_CHILD, WAIT_DISK, WAIT_POLL, WAIT_LOCK};
	uint64_t what = number(g, 20);

	if (what < 8)
		add(g, thread, start, end, SLICE_ON_CPU);
	else if (what == 8)
		add(g, thread, start, end, SLICE_HOLE);
	else if (what == 9)
		add(g, thread, start, end, SLICE_PREEMPTED);
	else
		add_wait(g, thread, start, end, classes[number(g, 8)], 1);
}

static void make_life(struct graph *g, uint32_t thread)
{
	uint64_t now = number(g, 4) ? 0 : number(g, LAST / 2), end;
	uint64_t dies = number(g, 4) ? LAST : now + number(g, LAST);

	for (size_t i = 0; i < SLICES && now < dies && now < LAST; i++, now = end) {
		/* long and short ones, so that they lie in each other */
		end = now + 1 + number(g, number(g, 2) ? 60 : 8);
		make_slice(g, thread, now, end < LAST ? end : LAST);
		/* a time of which the film has no row */
		if (!number(g, 30))
			end += number(g, 10);
	}
}

/* Mostly a thread that ran then; sometimes any, none, or one that is not filmed. */
static void choose_waker(struct graph *g, struct slice *slice)
{
	uint32_t any = (uint32_t)number(g, THREADS);

	slice->waker = any;
	slice->context = number(g, 5) ? FILM_WAIT_BY_THREAD : (uint8_t)number(g, 6);
	for (uint32_t i = 0; number(g, 5) && i < THREADS; i++) {
		uint32_t thread = (any + i) % THREADS;
		size_t at = covering(g, thread, slice->end - 1);

		if (thread && at != HISTORY_NONE && g->slices[at].kind == SLICE_ON_CPU) {
			slice->waker = thread;
			return;
		}
	}
}

static void make_graph(struct graph *g, uint64_t seed)
{
	begin(g);
	g->random = seed << 20;
	for (uint32_t thread = 1; thread < THREADS; thread++)
		make_life(g, thread);
	for (size_t i = 0; i < g->histories.count; i++) {
		struct slice *slice = &g->slices[i];

		if (!slice_is_wait(slice->kind))
			continue;
		choose_waker(g, slice);
		/* its time was over */
		if (slice->kind == SLICE_WAIT + WAIT_LOCK && slice->waker && !number(g, 8))
			slice->flags |= HISTORY_HELD;
		if (slice->end == LAST && number(g, 2)) {
			slice->flags |= FILM_WAIT_OPEN;
			if (slice->kind == SLICE_WAIT + WAIT_LOCK && slice->waker)
				slice->flags |= HISTORY_HELD;
		}
	}
}

/* Each wait that was followed lies in the window of the one that led to it. */
static void check_windows(const struct graph *g, const struct critical_path *path, uint64_t to)
{
	for (size_t i = 0; i < path->waits.count; i++) {
		const struct critical_wait *wait = &path->waits.at[i];

		assert_true(wait->start >= g->slices[wait->slice].start);
		assert_true(wait->start < wait->end);
		assert_true(wait->end == g->slices[wait->slice].end ||
			    (wait->end == to && wait->end < g->slices[wait->slice].end));
		assert_true(wait->parent <= i);
		if (wait->parent) {
			assert_true(wait->start >= path->waits.at[wait->parent - 1].start);
			assert_true(wait->end <= path->waits.at[wait->parent - 1].end);
			assert_int_equal(wait->depth, path->waits.at[wait->parent - 1].depth + 1);
		}
	}
}

/* No ns has another cause than it has by definition: no phantom, nothing left out. */
static void check_causes(const struct graph *g, const struct critical_path *path,
			 const struct window *whole)
{
	uint64_t now = whole->from;

	vec_foreach (&path->steps, step) {
		assert_true(step->start == now && step->end > step->start);
		for (; now < step->end; now++) {
			struct cause cause = cause_of(g, whole, now);

			assert_int_equal(step->thread, cause.thread);
			assert_true(step->slice == cause.slice);
			assert_int_equal(step->ended == CRITICAL_EARLIER, cause.is_earlier);
			assert_int_equal(step->ended == CRITICAL_ABSENT,
					 cause.slice == HISTORY_NONE && !cause.is_earlier);
		}
	}
	assert_true(now == whole->to);
}

static void graphs_have_no_phantoms(void **state)
{
	uint64_t followed = 0, deepest = 0, deadlocks = 0;
	static struct graph g;

	(void)state;
	for (uint64_t seed = 0; seed < GRAPHS; seed++) {
		struct window whole = {.thread = 1};
		struct critical_path path;

		make_graph(&g, seed);
		whole.from = number(&g, LAST / 2);
		whole.to = number(&g, 3) ? LAST : whole.from + 1 + number(&g, LAST / 2);
		whole.thread = 1 + (uint32_t)number(&g, THREADS - 1);
		assert_int_equal(critical_find(&path, &g.histories, whole.thread, whole.from,
					       whole.to, false),
				 0);
		check_windows(&g, &path, whole.to);
		check_causes(&g, &path, &whole);
		followed += path.waits.count;
		vec_foreach (&path.waits, wait)
			deepest = wait->depth > deepest ? wait->depth : deepest;
		vec_foreach (&path.steps, step)
			deadlocks += step->ended == CRITICAL_CYCLE;
		critical_free(&path);
	}
	print_message("%d graphs, %llu waits followed, %llu deep, %llu deadlocks\n", GRAPHS,
		      (unsigned long long)followed, (unsigned long long)deepest + 1,
		      (unsigned long long)deadlocks);
	/* the graphs are not empty ones */
	assert_true(followed > GRAPHS && deepest >= 3 && deadlocks > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follows_waits_that_begin_anew_to_what_ended_the_last),
		cmocka_unit_test(follows_a_lock_to_what_its_holder_did),
		cmocka_unit_test(follows_a_poll_of_a_thread_that_has_work),
		cmocka_unit_test(goes_no_further_than_new_work),
		cmocka_unit_test(follows_the_worker_of_a_pool_to_whose_work_it_does),
		cmocka_unit_test(does_not_follow_what_cannot_be),
		cmocka_unit_test(follows_a_thread_that_was_made_to_its_maker),
		cmocka_unit_test(follows_a_holder_through_its_waits_for_events),
		cmocka_unit_test(marks_what_is_lost_or_was_not_there),
		cmocka_unit_test(follows_lanes_into_their_threads),
		cmocka_unit_test(follows_a_task_through_its_loop_to_the_thread_that_worked),
		cmocka_unit_test(finds_a_deadlock),
		cmocka_unit_test(graphs_have_no_phantoms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
