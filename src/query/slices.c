// SPDX-License-Identifier: Apache-2.0
#include "query/slices.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "base/saturated.h"
#include "base/vec.h"
#include "film/events.h"
#include "query/device_waits.h"
#include "query/wait_class.h"

static_assert(sizeof(struct slice) == 64, "a slice has the size of a cache line");

enum {
	PARTS_MAX = SLICES_PARTS_MAX,
	WORTH_THREADS = 100000, /* turns: fewer are read before threads have begun */
};

/* What is known of a thread's life so far. */
struct life {
	uint64_t until; /* its slices reach up to there */
	bool is_open;	/* and the last one goes on in its next turn */
	bool has_ended;
	bool has_slice;
	struct slice slice; /* the last one, which may get longer */
	struct slice_evidence evidence;
};

/* What walkers share. */
struct walk {
	struct film *film;
	struct wait_classes classes; /* its decider is empty: each walker has its own */
	struct device_waits devices;
	uint64_t from, to;
	enum slice_kind run;
	slice_emit *emit;
	unsigned int parts;
};

/*
 * Follows the threads of one part. Each walker goes through all turns, and finds by itself which
 * threads are its own: all find the same.
 */
struct walker {
	const struct walk *walk;
	unsigned int part;
	struct wait_decider decider;
	void *context;
	uint8_t *part_of;	   /* by thread: its part, and 1; 0: it has none yet */
	uint64_t turns[PARTS_MAX]; /* how many there were up to now, by part */
	uint32_t *places;	   /* by thread: its place in lives, and 1 */
	vec(struct life) lives;
};

const char *slice_kind_name(unsigned int kind)
{
	static const char *const names[] = {
		[SLICE_ON_CPU] = "on-cpu",	 [SLICE_WOKEN] = "woken",
		[SLICE_PREEMPTED] = "preempted", [SLICE_HOLE] = "hole",
		[SLICE_RUNNING] = "running",
	};

	return slice_is_wait(kind) ? wait_class_name(slice_wait_class(kind)) : names[kind];
}

uint32_t slices_event(const struct film *film)
{
	uint32_t threads = film_find_event(film, event_type(EVENT_THREADS)->name);

	if (threads && film_has_turns(film, threads))
		return threads;
	for (uint32_t i = 1; i < film->event_count; i++)
		if (film_has_turns(film, i))
			return i;
	return 0;
}

bool slices_are_of_lanes(const struct film *film, uint32_t event)
{
	return event < film->event_count && event_of(&film->events[event])->lane;
}

const char *slices_lane(const struct film *film, uint32_t event)
{
	return slices_are_of_lanes(film, event) ? event_of(&film->events[event])->lane : "thread";
}

uint32_t slices_beside(const struct film *film, uint32_t event, uint32_t last)
{
	if (slices_are_of_lanes(film, event))
		return 0;
	while (++last < film->event_count)
		if (slices_are_of_lanes(film, last) && film_has_turns(film, last))
			return last;
	return 0;
}

void slice_words(const struct film *film, const struct slice *slice, char *words, size_t size)
{
	if (slice->state == FILM_WAIT_GOROUTINE && slice->kind == SLICE_WAIT + WAIT_OTHER)
		snprintf(words, size, "%s", wait_call_name("", FILM_WAIT_GOROUTINE, slice->call));
	else if (slice_is_wait(slice->kind))
		wait_words(film, slice_wait_class(slice->kind), slice->call, slice->stack, words,
			   size);
	else
		snprintf(words, size, "%s", slice_kind_name(slice->kind));
}

/* A wait for a device is for the work that the device did, by which system call it may be. */
static void name_device(const struct walk *walk, struct life *life)
{
	struct slice *slice = &life->slice;
	const struct device_wait *wait =
		slice_is_wait(slice->kind) && walk->devices.all.count
			? device_waits_find(&walk->devices, slice->thread, slice->start, slice->end)
			: NULL;

	if (!wait)
		return;
	slice->object = wait->frame;
	life->evidence.ready_object = 0;
	life->evidence.lock.address = 0;
	life->evidence.lock.holder = 0;
}

/* Hands out what is complete of a life, as far as it was asked for. */
static int emit_slice(struct walker *w, struct life *life)
{
	struct slice *slice = &life->slice;

	if (!life->has_slice)
		return 0;
	life->has_slice = false;
	if (slice->start < w->walk->from) {
		slice->start = w->walk->from;
		slice->began_before = true;
	}
	if (slice->end > w->walk->to) {
		slice->end = w->walk->to;
		slice->goes_on = true;
		slice->is_last = false;
	}
	if (slice->end <= slice->start)
		return 0;
	name_device(w->walk, life);
	return w->walk->emit(w->context, slice, &life->evidence);
}

/*
 * The evidence of a turn, in the life that is to have it, field by field: a copy of what was just
 * stored in small parts is slow.
 */
static void fill_evidence(const struct film_turns *turns, size_t i, struct life *life)
{
	struct slice *slice = &life->slice;
	struct slice_evidence *e = &life->evidence;

	slice->address = turns->arguments[0][i];
	slice->operation = (uint32_t)turns->arguments[1][i];
	slice->value = (uint32_t)turns->arguments[2][i];
	slice->waker = turns->waker[i];
	slice->stack = turns->stack[i];
	slice->object = turns->object[i];
	slice->on = turns->on[i];
	slice->flags = turns->flags[i];
	slice->call = (uint16_t)turns->call[i];
	slice->cpu = (uint16_t)turns->cpu[i];
	slice->state = (uint8_t)turns->state[i];
	slice->descriptor = (uint8_t)turns->descriptor[i];
	slice->context = turns->context[i] & 31;
	for (size_t k = 0; k < FILM_WAIT_ARGUMENTS; k++)
		e->arguments[k] = turns->arguments[k][i];
	e->ready_object = turns->ready_object[i];
	e->lock.address = turns->lock[i];
	e->lock.holder = turns->holder[i];
	e->lock.sure = film_turn_sure(slice->flags);
	e->lock.place = 0;
	e->lock.kind = 0;
	if (!e->lock.address)
		return;
	e->lock.place = slice->object;
	slice->object = 0;
	e->lock.kind = (uint8_t)turns->lock_kind[i];
}

/* A turn whose times are added to a life. */
struct turn {
	const struct film_turns *turns;
	size_t i;
	uint32_t thread;
	uint64_t start;
	bool began_before; /* only its first time did */
	bool is_filled;	   /* the life's slice has its evidence, and none of another turn */
};

/* The slice that the life has goes on up to end. Not each part of a wait has all evidence. */
static void lengthen(struct life *life, uint64_t end, struct turn *turn)
{
	const struct slice_lock lock = life->evidence.lock, *now = &life->evidence.lock;
	uint32_t stack = life->slice.stack;

	life->slice.end = end;
	fill_evidence(turn->turns, turn->i, life);
	if (!life->slice.stack)
		life->slice.stack = stack;
	if (!now->address && !now->holder && (lock.address || lock.holder))
		life->evidence.lock = lock;
	turn->is_filled = false;
}

/* Of a wait that lasts only the last part has a stack, which can tell more of what it is for. */
static bool is_same(const struct slice *slice, unsigned int kind)
{
	return slice->kind == kind ||
	       (slice_is_wait(slice->kind) && slice_is_wait(kind) && !slice->stack);
}

/* The next time of a life, which ends at end. */
static int add(struct walker *w, struct life *life, unsigned int kind, uint64_t end,
	       struct turn *turn)
{
	struct slice *slice = &life->slice;
	int err;

	if (end <= life->until)
		return 0;
	if (life->has_slice && life->is_open && is_same(slice, kind)) {
		slice->kind = (uint8_t)kind;
		lengthen(life, end, turn);
	} else {
		err = emit_slice(w, life);
		if (err)
			return err;
		if (!turn->is_filled)
			fill_evidence(turn->turns, turn->i, life);
		turn->is_filled = true;
		slice->thread = turn->thread;
		slice->kind = (uint8_t)kind;
		slice->began_before = turn->began_before && turn->start == life->until;
		slice->goes_on = slice->is_last = false;
		slice->start = life->until;
		slice->end = end;
		life->has_slice = true;
	}
	life->is_open = false;
	life->until = end;
	return 0;
}

/* Nothing is known of a thread up to end. */
static int add_hole(struct walker *w, struct life *life, uint32_t thread, uint64_t end)
{
	struct slice *slice = &life->slice;
	int err = 0;

	if (end <= life->until)
		return 0;
	if (!life->has_slice || !life->is_open || slice->kind != SLICE_HOLE) {
		err = emit_slice(w, life);
		*slice = (struct slice){.thread = thread, .kind = SLICE_HOLE, .start = life->until};
		life->evidence = (struct slice_evidence){0};
	}
	slice->end = end;
	life->has_slice = true;
	life->is_open = false;
	life->until = end;
	return err;
}

/* Apart, as it is rare: it is made on the stack first. */
static __attribute__((noinline)) bool new_life(struct walker *w, uint32_t thread)
{
	if (!vec_push(&w->lives, (struct life){0}))
		return false;
	w->places[thread] = (uint32_t)w->lives.count;
	return true;
}

static struct life *life_of(struct walker *w, uint32_t thread, bool *is_new)
{
	*is_new = !w->places[thread];
	return !*is_new || new_life(w, thread) ? &w->lives.at[w->places[thread] - 1] : NULL;
}

/*
 * Where a life begins whose first turn in the range begins at start: there, or, as some of its rows
 * are missing, where it could first be.
 */
static uint64_t begin_of(const struct walk *w, uint32_t thread, uint64_t start, uint32_t flags)
{
	uint64_t begin = w->film->threads[thread].start;

	if (flags & FILM_TURN_BEGINS || start <= w->from)
		return start;
	if (begin < w->film->info.start)
		begin = w->film->info.start;
	if (begin < w->from)
		begin = w->from;
	return begin < start ? begin : start;
}

static enum wait_class class_of(struct walker *w, const struct film_turns *turns, size_t i)
{
	const struct film_wait wait = {
		.call = (uint16_t)turns->call[i],
		.state = (uint8_t)turns->state[i],
		.descriptor = (uint8_t)turns->descriptor[i],
		.arguments = {turns->arguments[0][i], turns->arguments[1][i],
			      turns->arguments[2][i], turns->arguments[3][i]},
		.flags = turns->flags[i] & (FILM_WAIT_IOWAIT | FILM_WAIT_KERNEL),
	};

	return wait_decide(&w->decider, &wait, w->walk->classes.frames[turns->stack[i]]);
}

/* The writer of a film may have put any numbers there: what is too long begins where it can. */
static uint64_t before(uint64_t time, uint64_t ns)
{
	return ns < time ? time - ns : 0;
}

static int handle_turn(struct walker *w, const struct film_turns *turns, size_t i)
{
	uint32_t flags = turns->flags[i];
	uint64_t end = turns->end[i];
	uint64_t woken = before(end, turns->ready[i]), out = before(woken, turns->waited[i]);
	uint64_t in = before(out, turns->ran[i]);
	bool is_new, was_preempted = !turns->waited[i] && turns->state[i] == FILM_WAIT_READY;
	struct turn turn = {
		.turns = turns,
		.i = i,
		.thread = turns->thread[i],
		.start = before(in, turns->unseen[i]),
		.began_before = flags & FILM_WAIT_BEFORE,
	};
	struct life *life = life_of(w, turn.thread, &is_new);
	int err = 0;

	if (!life)
		return -ENOMEM;
	if (is_new)
		life->until = begin_of(w->walk, turn.thread, turn.start, flags);
	/* nothing is known up to the turn's begin, nor from there on as long as it says so */
	if (in > life->until)
		err = add_hole(w, life, turn.thread, turn.start);
	if (!err)
		err = add_hole(w, life, turn.thread, in);
	if (!err)
		err = add(w, life, w->walk->run, out, &turn);
	if (!err && woken > out)
		err = add(w, life, SLICE_WAIT + class_of(w, turns, i), woken, &turn);
	if (!err)
		err = add(w, life, was_preempted ? SLICE_PREEMPTED : SLICE_WOKEN, end, &turn);
	if (err)
		return err;
	life->is_open = flags & FILM_WAIT_OPEN;
	life->has_ended = flags & FILM_TURN_ENDS;
	life->slice.is_last = life->has_ended;
	return life->has_ended ? emit_slice(w, life) : 0;
}

/* A thread that is new goes to the part that had the least to do up to then. */
static uint8_t new_part(const struct walker *w)
{
	unsigned int least = 0;

	for (unsigned int i = 1; i < w->walk->parts; i++)
		if (w->turns[i] < w->turns[least])
			least = i;
	return (uint8_t)(least + 1);
}

static bool is_own(struct walker *w, uint32_t thread)
{
	unsigned int part;

	if (w->walk->parts == 1)
		return true;
	if (!w->part_of[thread])
		w->part_of[thread] = new_part(w);
	part = w->part_of[thread] - 1u;
	w->turns[part]++;
	return part == w->part;
}

static int handle_turns(void *context, const struct film_turns *turns)
{
	struct walker *w = context;
	int err = 0;

	for (size_t i = 0; !err && i < turns->count; i++)
		if (turns->thread[i] && is_own(w, turns->thread[i]))
			err = handle_turn(w, turns, i);
	return err;
}

/* A thread that has not ended lives up to the last moment that the film has turns of. */
static int finish(struct walker *w, uint64_t last)
{
	const struct walk *walk = w->walk;
	int err = 0;

	for (uint32_t thread = 1; !err && thread < walk->film->thread_count; thread++) {
		struct life *life = w->places[thread] ? &w->lives.at[w->places[thread] - 1] : NULL;

		if (!life)
			continue;
		if (life->is_open && life->until >= last)
			life->slice.goes_on = true;
		if (!life->has_ended && life->until < walk->to) {
			life->is_open = false;
			err = add_hole(w, life, thread, last < walk->to ? last : walk->to);
		}
		if (!err)
			err = emit_slice(w, life);
	}
	return err;
}

static int begin(struct walker *w, const struct walk *walk, unsigned int part, void *context)
{
	*w = (struct walker){.walk = walk,
			     .part = part,
			     .context = context,
			     .decider.arch = walk->film->info.arch};
	w->part_of = calloc(walk->film->thread_count + 1ull, sizeof(*w->part_of));
	w->places = calloc(walk->film->thread_count + 1ull, sizeof(*w->places));
	return w->part_of && w->places ? 0 : -ENOMEM;
}

static void end(struct walker *w)
{
	wait_decider_free(&w->decider);
	vec_free(&w->lives);
	free(w->places);
	free(w->part_of);
}

unsigned int slices_parts(struct film *film, uint32_t event)
{
	return film_turn_count(film, event) < WORTH_THREADS ? 1 : cpus_usable(PARTS_MAX);
}

int slices_each_part(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		     slice_emit *emit, unsigned int parts, void *const *contexts, struct fail *why)
{
	struct walk walk = {.film = film, .from = from, .to = to, .emit = emit, .parts = parts};
	struct walker walkers[PARTS_MAX] = {0};
	void *each[PARTS_MAX];
	int err = wait_classes_init(&walk.classes, film);

	if (!err)
		err = device_waits_load(&walk.devices, film, from, why);
	walk.run = slices_are_of_lanes(film, event) ? SLICE_RUNNING : SLICE_ON_CPU;
	for (unsigned int i = 0; !err && i < parts; i++) {
		each[i] = &walkers[i];
		err = begin(&walkers[i], &walk, i, contexts[i]);
	}
	/* a turn that covers to ends at most so far behind it */
	if (!err)
		err = film_each_turns_at_once(film, event, from,
					      add_saturated(to, FILM_TURN_MAX + 1), handle_turns,
					      each, parts, why);
	for (unsigned int i = 0; !err && i < parts; i++)
		err = finish(&walkers[i], film_turns_end(film, event));
	if (err == -ENOMEM)
		fail_errno(why, err, NULL, "cannot read what threads did");
	for (unsigned int i = 0; i < parts; i++)
		end(&walkers[i]);
	device_waits_free(&walk.devices);
	wait_classes_free(&walk.classes);
	return err;
}

int slices_each(struct film *film, uint32_t event, uint64_t from, uint64_t to, slice_emit *emit,
		void *context, struct fail *why)
{
	return slices_each_part(film, event, from, to, emit, 1, &context, why);
}
