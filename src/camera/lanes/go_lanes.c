// SPDX-License-Identifier: Apache-2.0
#include "camera/lanes/go_lanes.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"

/* What an open turn ends with. */
enum phase {
	PHASE_NONE,
	PHASE_RUNS,
	PHASE_WAITS,
	PHASE_READY,
};

/* Goroutines that have ended, and are known still. */
#define GO_LANES_ENDED 8192u

struct lane {
	uint64_t goid;
	uint64_t until;	 /* its life is reported up to there */
	uint64_t born;	 /* or about when it was met */
	uint32_t thread; /* of the film; 0: none yet */
	uint32_t flags;	 /* of its next turn */
	pid_t pid;
	bool is_unseen; /* nothing has happened to it since there are probes */
	bool is_used;
	bool is_met;	  /* else it is only known to have made another one ready */
	bool has_ended;	  /* and its life is reported whole */
	enum phase phase; /* of its last turn, if a part of that was reported */
	struct film_turn last;
};

struct go_lanes {
	struct go_lanes_to to;
	struct map places; /* by process and number */
	vec(struct lane) all;
	vec(uint32_t) unused; /* places in all */
	/*
	 * Places of those that ended last, as a ring: the record of one that such a goroutine made
	 * ready may come later than its own last one.
	 */
	uint32_t ended[GO_LANES_ENDED];
	size_t ended_count;
	uint64_t begin;
	struct go_lanes_counts counts;
};

struct go_lanes *go_lanes_new(const struct go_lanes_to *to)
{
	struct go_lanes *lanes = calloc(1, sizeof(*lanes));

	if (lanes)
		lanes->to = *to;
	return lanes;
}

void go_lanes_free(struct go_lanes *lanes)
{
	if (!lanes)
		return;
	map_free(&lanes->places);
	vec_free(&lanes->all);
	vec_free(&lanes->unused);
	free(lanes);
}

void go_lanes_begin(struct go_lanes *lanes, uint64_t time)
{
	lanes->begin = time;
}

static uint64_t key_of(pid_t pid, uint64_t goid)
{
	const uint64_t what[] = {(uint64_t)pid, goid};

	return hash_bytes(what, sizeof(what));
}

static struct lane *find(struct go_lanes *lanes, pid_t pid, uint64_t goid)
{
	const uint64_t *place = map_get(&lanes->places, key_of(pid, goid));
	struct lane *lane = place ? &lanes->all.at[*place] : NULL;

	return lane && lane->is_used && lane->pid == pid && lane->goid == goid ? lane : NULL;
}

/* It will not be met again: its number is its own for ever. */
static void forget(struct go_lanes *lanes, struct lane *lane)
{
	uint32_t place = (uint32_t)(lane - lanes->all.at);

	map_remove(&lanes->places, key_of(lane->pid, lane->goid));
	*lane = (struct lane){0};
	/* without memory its place stays unused */
	(void)!vec_push(&lanes->unused, place);
}

/* It has ended. The one that ended GO_LANES_ENDED before it is forgotten. */
static void retire(struct go_lanes *lanes, struct lane *lane)
{
	uint32_t *place = &lanes->ended[lanes->ended_count % GO_LANES_ENDED];
	struct lane *oldest = &lanes->all.at[*place];

	/* its process may have ended since, and the place be another one's */
	if (lanes->ended_count >= GO_LANES_ENDED && oldest->has_ended)
		forget(lanes, oldest);
	*place = (uint32_t)(lane - lanes->all.at);
	lanes->ended_count++;
	lane->has_ended = true;
}

/* Null: there is no room, which is counted. */
static struct lane *add(struct go_lanes *lanes, const struct lane *like)
{
	uint32_t place = (uint32_t)lanes->all.count;

	if (lanes->unused.count)
		place = lanes->unused.at[lanes->unused.count - 1];
	else if (place >= GO_LANES_MAX || !vec_push(&lanes->all, (struct lane){0}))
		goto refused;
	if (!map_put(&lanes->places, key_of(like->pid, like->goid), place)) {
		lanes->all.count -= !lanes->unused.count;
		goto refused;
	}
	lanes->unused.count -= lanes->unused.count != 0;
	lanes->all.at[place] = *like;
	return &lanes->all.at[place];
refused:
	lanes->counts.refused++;
	return NULL;
}

/* The times of a turn, of which each may be 0: not known. */
struct times {
	uint64_t since, out, woken, in;
};

/* A goroutine that is met: what was seen decides where its life begins. */
static struct lane *meet(struct go_lanes *lanes, pid_t pid, uint64_t goid, unsigned int lane,
			 const struct times *times)
{
	struct lane *known = find(lanes, pid, goid);
	struct lane like = {.pid = pid, .goid = goid, .is_used = true, .is_met = true};

	if (known && known->is_met)
		return known;
	like.until = times->since && times->since < times->out ? times->since : times->out;
	like.flags = FILM_TURN_BEGINS;
	if (!(lane & GOROUTINES_LANE_BEGINS)) {
		like.flags |= FILM_WAIT_BEFORE;
		if (lane & GOROUTINES_LANE_BEFORE || like.until < lanes->begin)
			like.until = lanes->begin;
	}
	like.born = like.until;
	if (!known)
		return add(lanes, &like);
	like.thread = known->thread;
	*known = like;
	return known;
}

/* Time from *at on up to another one, which *at becomes. */
static uint64_t advance(uint64_t *at, uint64_t to)
{
	uint64_t time = to > *at ? to - *at : 0;

	*at += time;
	return time;
}

static void tell(struct go_lanes *lanes, struct lane *lane, const struct times *times,
		 struct film_turn *turn)
{
	uint64_t at = lane->until, seen = times->since ? times->since : times->out;

	turn->unseen = advance(&at, seen);
	turn->ran = advance(&at, times->out);
	turn->waited = advance(&at, times->woken);
	turn->ready = advance(&at, times->in);
	turn->end = at;
	turn->flags |= lane->flags;
	lanes->counts.holes += turn->unseen != 0;
	lane->until = at;
	if (!lane->thread)
		lane->thread =
			lanes->to.goroutine(lanes->to.context, lane->pid, lane->goid, lane->born);
	turn->thread = lane->thread;
	/* one that ends with nothing more to be told needs its mark all the same */
	if (turn->unseen + turn->ran + turn->waited + turn->ready || turn->flags & FILM_TURN_ENDS) {
		lanes->to.turn(lanes->to.context, turn);
		lane->flags = 0;
	}
}

/* What it waited for, or that it gave way. */
static void add_evidence(struct film_turn *turn, unsigned int lane, bool has_run,
			 unsigned int reason, uint32_t stack)
{
	/* one that is new is ready, unless it was run as it was made */
	if (lane & GOROUTINES_LANE_BEGINS && !has_run)
		return;
	if (lane & GOROUTINES_LANE_GAVE_WAY) {
		turn->state = FILM_WAIT_READY;
		return;
	}
	turn->state = FILM_WAIT_GOROUTINE;
	turn->call = (uint16_t)(reason + 1);
	turn->stack = stack;
}

static void add_waker(struct go_lanes *lanes, pid_t pid, uint64_t goid, uint32_t tid,
		      struct film_turn *turn)
{
	const struct lane like = {.pid = pid, .goid = goid, .born = lanes->begin, .is_used = true};
	struct lane *waker = goid ? find(lanes, pid, goid) : NULL;

	if (!goid && lanes->to.by_threads && tid) {
		turn->context = FILM_WAIT_BY_THREAD;
		turn->flags |= FILM_TURN_BY_THREAD;
		turn->waker = lanes->to.thread(lanes->to.context, pid, (pid_t)tid);
	}
	if (!goid)
		return;
	/* the one that makes another one may not have been met before that one */
	if (!waker)
		waker = add(lanes, &like);
	turn->context = FILM_WAIT_BY_THREAD;
	if (waker && !waker->thread)
		waker->thread = lanes->to.goroutine(lanes->to.context, pid, goid, waker->born);
	if (waker)
		turn->waker = waker->thread;
}

static void add_thread(struct go_lanes *lanes, pid_t pid, uint32_t tid, uint32_t cpu,
		       struct film_turn *turn)
{
	turn->cpu = (uint16_t)cpu;
	turn->on = tid ? lanes->to.thread(lanes->to.context, pid, (pid_t)tid) : 0;
}

void go_lanes_take(struct go_lanes *lanes, pid_t pid, const struct goroutines_wait *wait,
		   unsigned int reason, uint32_t stack)
{
	const struct times times = {wait->since, wait->out, wait->woken, wait->in};
	struct lane *lane = meet(lanes, pid, wait->goid, wait->lane, &times);
	struct film_turn turn = {0};

	if (!lane || lane->has_ended)
		return;
	if (wait->lane & GOROUTINES_LANE_UNWOKEN)
		turn.flags |= FILM_TURN_UNWOKEN;
	if (wait->lane & GOROUTINES_LANE_ENDS)
		turn.flags |= FILM_TURN_ENDS;
	else
		add_evidence(&turn, wait->lane, wait->since, reason, stack);
	add_thread(lanes, pid, wait->thread, wait->cpu, &turn);
	add_waker(lanes, pid, wait->readier_goid, wait->readier, &turn);
	/* which may have moved it */
	lane = find(lanes, pid, wait->goid);
	tell(lanes, lane, &times, &turn);
	lane->phase = PHASE_NONE;
	lane->is_unseen = false;
	if (wait->lane & GOROUTINES_LANE_ENDS)
		retire(lanes, lane);
}

/* Whether what was copied while the kernel's side may have changed it makes sense. */
static bool is_in_order(const struct goroutines_state *state, uint64_t time)
{
	return (!state->out || state->since <= state->out) &&
	       (!state->woken || !state->out || state->out <= state->woken) &&
	       (state->since ? state->since : state->out) <= time && (state->since || state->out);
}

void go_lanes_cut(struct go_lanes *lanes, pid_t pid, uint64_t goid,
		  const struct goroutines_state *state, unsigned int reason, uint32_t stack,
		  uint64_t time, bool is_unseen, bool has_ended)
{
	uint64_t out = state->out && state->out < time ? state->out : time;
	uint64_t woken =
		state->woken && state->woken < time && state->woken >= out ? state->woken : time;
	const struct times times = {state->since, out, woken, time};
	unsigned int flags = state->lane | (state->is_before ? GOROUTINES_LANE_BEFORE : 0);
	struct film_turn turn = {.flags = FILM_WAIT_OPEN};
	struct lane *lane;

	if (!goid || !is_in_order(state, time))
		return;
	lane = meet(lanes, pid, goid, flags, &times);
	if (!lane || lane->has_ended || lane->until > time ||
	    (!has_ended && lane->until < (state->since ? state->since : out)))
		return;
	lane->phase = out == time ? PHASE_RUNS : woken == time ? PHASE_WAITS : PHASE_READY;
	if (out < time)
		add_evidence(&turn, flags, state->since, reason, stack);
	add_thread(lanes, pid, state->thread, state->cpu, &turn);
	if (woken < time)
		add_waker(lanes, pid, state->readier_goid, state->readier, &turn);
	lane = find(lanes, pid, goid);
	tell(lanes, lane, &times, &turn);
	lane->is_unseen = is_unseen;
	lane->last = turn;
}

/*
 * A reader takes the rows of a goroutine in the order of blocks, and so none may end long before
 * those that were written before it: what is longer than FILM_TURN_MAX would be cut into such.
 */
#define PAUSE (FILM_TURN_MAX / 2)
#define PART  4

uint64_t go_lanes_pause(uint64_t took)
{
	return PART * took > PAUSE ? PART * took : PAUSE;
}

/* Goes on up to a time with what was reported last. */
static void go_on(struct go_lanes *lanes, struct lane *lane, uint64_t time, uint32_t flags)
{
	const uint64_t t = lane->until;
	struct times times = {t, time, time, time};
	struct film_turn turn = lane->last;

	turn.flags = flags;
	if (time < t)
		times = (struct times){t, t, t, t};
	else if (lane->phase == PHASE_NONE)
		times.since = time;
	else if (lane->phase == PHASE_WAITS)
		times.out = t;
	else if (lane->phase == PHASE_READY)
		times.out = times.woken = t;
	tell(lanes, lane, &times, &turn);
}

void go_lanes_finish(struct go_lanes *lanes, uint64_t time)
{
	vec_foreach (&lanes->all, lane)
		if (lane->is_used && lane->is_met && lane->is_unseen && lane->until < time)
			go_on(lanes, lane, time, FILM_WAIT_OPEN);
}

void go_lanes_ended(struct go_lanes *lanes, pid_t pid, uint64_t time)
{
	vec_foreach (&lanes->all, lane)
		if (lane->is_used && lane->pid == pid) {
			/* all that it had is over with its process */
			if (lane->is_met && !lane->has_ended)
				go_on(lanes, lane, time, FILM_TURN_ENDS);
			forget(lanes, lane);
		}
}

void go_lanes_turn(struct go_lanes *lanes)
{
	vec_foreach (&lanes->all, lane) {
		if (!lane->is_used)
			continue;
		lane->thread = 0;
		lane->last = (struct film_turn){.state = lane->last.state, .call = lane->last.call};
		if (lane->is_met)
			lane->flags = FILM_TURN_BEGINS | FILM_WAIT_BEFORE;
	}
}

struct go_lanes_counts go_lanes_counts(const struct go_lanes *lanes)
{
	return lanes->counts;
}
