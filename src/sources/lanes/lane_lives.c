// SPDX-License-Identifier: Apache-2.0
#include "sources/lanes/lane_lives.h"

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

/* Those that have ended, and are known still. */
#define LANE_LIVES_ENDED 8192u

struct lane {
	uint64_t number;
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

struct lane_lives {
	struct lane_lives_to to;
	struct map places; /* by process and number */
	vec(struct lane) all;
	vec(uint32_t) unused; /* places in all */
	/*
	 * Places of those that ended last, as a ring: the record of one that such a one made ready
	 * may come later than its own last one.
	 */
	uint32_t ended[LANE_LIVES_ENDED];
	size_t ended_count;
	uint64_t begin;
	struct lane_lives_counts counts;
};

struct lane_lives *lane_lives_new(const struct lane_lives_to *to)
{
	struct lane_lives *lives = calloc(1, sizeof(*lives));

	if (lives)
		lives->to = *to;
	return lives;
}

void lane_lives_free(struct lane_lives *lives)
{
	if (!lives)
		return;
	map_free(&lives->places);
	vec_free(&lives->all);
	vec_free(&lives->unused);
	free(lives);
}

void lane_lives_begin(struct lane_lives *lives, uint64_t time)
{
	lives->begin = time;
}

static uint64_t key_of(pid_t pid, uint64_t number)
{
	const uint64_t what[] = {(uint64_t)pid, number};

	return hash_bytes(what, sizeof(what));
}

static struct lane *find(struct lane_lives *lives, pid_t pid, uint64_t number)
{
	const uint64_t *place = map_get(&lives->places, key_of(pid, number));
	struct lane *lane = place ? &lives->all.at[*place] : NULL;

	return lane && lane->is_used && lane->pid == pid && lane->number == number ? lane : NULL;
}

/* It will not be met again: its number is its own for ever. */
static void forget(struct lane_lives *lives, struct lane *lane)
{
	uint32_t place = (uint32_t)(lane - lives->all.at);

	map_remove(&lives->places, key_of(lane->pid, lane->number));
	*lane = (struct lane){0};
	/* without memory its place stays unused */
	(void)!vec_push(&lives->unused, place);
}

/* It has ended. The one that ended LANE_LIVES_ENDED before it is forgotten. */
static void retire(struct lane_lives *lives, struct lane *lane)
{
	uint32_t *place = &lives->ended[lives->ended_count % LANE_LIVES_ENDED];
	struct lane *oldest = &lives->all.at[*place];

	/* its process may have ended since, and the place be another one's */
	if (lives->ended_count >= LANE_LIVES_ENDED && oldest->has_ended)
		forget(lives, oldest);
	*place = (uint32_t)(lane - lives->all.at);
	lives->ended_count++;
	lane->has_ended = true;
}

/* Null: there is no room, which is counted. */
static struct lane *add(struct lane_lives *lives, const struct lane *like)
{
	uint32_t place = (uint32_t)lives->all.count;

	if (lives->unused.count)
		place = lives->unused.at[lives->unused.count - 1];
	else if (place >= LANE_LIVES_MAX || !vec_push(&lives->all, (struct lane){0}))
		goto refused;
	if (!map_put(&lives->places, key_of(like->pid, like->number), place)) {
		lives->all.count -= !lives->unused.count;
		goto refused;
	}
	lives->unused.count -= lives->unused.count != 0;
	lives->all.at[place] = *like;
	return &lives->all.at[place];
refused:
	lives->counts.refused++;
	return NULL;
}

/* The times of a turn, of which each may be 0: not known. */
struct times {
	uint64_t since, out, woken, in;
};

/* One that is met: what was seen decides where its life begins. */
static struct lane *meet(struct lane_lives *lives, pid_t pid, uint64_t number, unsigned int lane,
			 const struct times *times)
{
	struct lane *known = find(lives, pid, number);
	struct lane like = {.pid = pid, .number = number, .is_used = true, .is_met = true};

	if (known && known->is_met)
		return known;
	like.until = times->since && times->since < times->out ? times->since : times->out;
	like.flags = FILM_TURN_BEGINS;
	if (!(lane & LANE_BEGINS)) {
		like.flags |= FILM_WAIT_BEFORE;
		if (lane & LANE_BEFORE || like.until < lives->begin)
			like.until = lives->begin;
	}
	like.born = like.until;
	if (!known)
		return add(lives, &like);
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

static void emit_turn(struct lane_lives *lives, struct lane *lane, const struct times *times,
		      const char *name, struct film_turn *turn)
{
	uint64_t at = lane->until, seen = times->since ? times->since : times->out;

	turn->unseen = advance(&at, seen);
	turn->ran = advance(&at, times->out);
	turn->waited = advance(&at, times->woken);
	turn->ready = advance(&at, times->in);
	turn->end = at;
	turn->flags |= lane->flags;
	lives->counts.holes += turn->unseen != 0;
	lane->until = at;
	if (!lane->thread)
		lane->thread =
			lives->to.row(lives->to.context, lane->pid, lane->number, lane->born, name);
	turn->thread = lane->thread;
	/* one that ends with nothing more to be told needs its mark all the same */
	if (turn->unseen + turn->ran + turn->waited + turn->ready || turn->flags & FILM_TURN_ENDS) {
		lives->to.turn(lives->to.context, turn);
		lane->flags = 0;
	}
}

/* What it waited for, or that it gave way. */
static void add_evidence(const struct lane_turn *its, const struct lane_also *also,
			 struct film_turn *turn)
{
	/* one that is new is ready, unless it was run as it was made */
	if (its->flags & LANE_BEGINS && !its->since)
		return;
	if (its->flags & LANE_GAVE_WAY) {
		turn->state = FILM_WAIT_READY;
		return;
	}
	turn->state = FILM_WAIT_GOROUTINE;
	turn->call = (uint16_t)(also->reason + 1);
	turn->stack = also->stack;
}

static void add_waker(struct lane_lives *lives, pid_t pid, const struct lane_turn *its,
		      struct film_turn *turn)
{
	uint64_t number = its->readier;
	const struct lane like = {
		.pid = pid, .number = number, .born = lives->begin, .is_used = true};
	struct lane *waker = number ? find(lives, pid, number) : NULL;

	if (!number && lives->to.by_threads && its->readier_thread) {
		turn->context = FILM_WAIT_BY_THREAD;
		turn->flags |= FILM_TURN_BY_THREAD;
		turn->waker = lives->to.thread(lives->to.context, pid, (pid_t)its->readier_thread);
	}
	if (!number)
		return;
	/* the one that makes another one may not have been met before that one */
	if (!waker)
		waker = add(lives, &like);
	turn->context = FILM_WAIT_BY_THREAD;
	if (waker && !waker->thread)
		waker->thread = lives->to.row(lives->to.context, pid, number, waker->born, NULL);
	if (waker)
		turn->waker = waker->thread;
}

static void add_thread(struct lane_lives *lives, pid_t pid, const struct lane_turn *its,
		       struct film_turn *turn)
{
	turn->cpu = (uint16_t)its->cpu;
	turn->on = its->thread ? lives->to.thread(lives->to.context, pid, (pid_t)its->thread) : 0;
}

void lane_lives_add(struct lane_lives *lives, pid_t pid, const struct lane_turn *its, uint64_t in,
		    const struct lane_also *also)
{
	const struct times times = {its->since, its->out, its->woken, in};
	struct lane *lane = meet(lives, pid, its->number, its->flags, &times);
	struct film_turn turn = {0};

	if (!lane || lane->has_ended)
		return;
	if (its->flags & LANE_UNWOKEN)
		turn.flags |= FILM_TURN_UNWOKEN;
	if (its->flags & LANE_ENDS)
		turn.flags |= FILM_TURN_ENDS;
	else
		add_evidence(its, also, &turn);
	add_thread(lives, pid, its, &turn);
	add_waker(lives, pid, its, &turn);
	/* which may have moved it */
	lane = find(lives, pid, its->number);
	emit_turn(lives, lane, &times, also->name, &turn);
	lane->phase = PHASE_NONE;
	lane->is_unseen = false;
	if (its->flags & LANE_ENDS)
		retire(lives, lane);
}

/* Whether what was copied while the kernel's side may have changed it makes sense. */
static bool is_in_order(const struct lane_turn *its, uint64_t time)
{
	return (!its->out || its->since <= its->out) &&
	       (!its->woken || !its->out || its->out <= its->woken) &&
	       (its->since ? its->since : its->out) <= time && (its->since || its->out);
}

void lane_lives_cut(struct lane_lives *lives, pid_t pid, const struct lane_turn *its,
		    const struct lane_also *also, uint64_t time, bool is_unseen, bool has_ended)
{
	uint64_t out = its->out && its->out < time ? its->out : time;
	uint64_t woken = its->woken && its->woken < time && its->woken >= out ? its->woken : time;
	const struct times times = {its->since, out, woken, time};
	struct film_turn turn = {.flags = FILM_WAIT_OPEN};
	struct lane *lane;

	if (!its->number || !is_in_order(its, time))
		return;
	lane = meet(lives, pid, its->number, its->flags, &times);
	if (!lane || lane->has_ended || lane->until > time ||
	    (!has_ended && !(its->flags & LANE_BEFORE) &&
	     lane->until < (its->since ? its->since : out)))
		return;
	lane->phase = out == time ? PHASE_RUNS : woken == time ? PHASE_WAITS : PHASE_READY;
	if (out < time)
		add_evidence(its, also, &turn);
	add_thread(lives, pid, its, &turn);
	if (woken < time)
		add_waker(lives, pid, its, &turn);
	lane = find(lives, pid, its->number);
	emit_turn(lives, lane, &times, also->name, &turn);
	lane->is_unseen = is_unseen;
	lane->last = turn;
}

/*
 * A reader takes the rows of a goroutine in the order of blocks, and so none may end long before
 * those that were written before it: what is longer than FILM_TURN_MAX would be cut into such.
 */
#define PAUSE (FILM_TURN_MAX / 2)
#define PART  4

uint64_t lane_lives_pause(uint64_t took)
{
	return PART * took > PAUSE ? PART * took : PAUSE;
}

/* Goes on up to a time with what was reported last. */
static void go_on(struct lane_lives *lives, struct lane *lane, uint64_t time, uint32_t flags)
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
	emit_turn(lives, lane, &times, NULL, &turn);
}

void lane_lives_finish(struct lane_lives *lives, uint64_t time)
{
	vec_foreach (&lives->all, lane)
		if (lane->is_used && lane->is_met && lane->is_unseen && lane->until < time)
			go_on(lives, lane, time, FILM_WAIT_OPEN);
}

void lane_lives_ended(struct lane_lives *lives, pid_t pid, uint64_t time)
{
	vec_foreach (&lives->all, lane)
		if (lane->is_used && lane->pid == pid) {
			/* all that it had is over with its process */
			if (lane->is_met && !lane->has_ended)
				go_on(lives, lane, time, FILM_TURN_ENDS);
			forget(lives, lane);
		}
}

void lane_lives_turn(struct lane_lives *lives)
{
	vec_foreach (&lives->all, lane) {
		if (!lane->is_used)
			continue;
		lane->thread = 0;
		lane->last = (struct film_turn){.state = lane->last.state, .call = lane->last.call};
		if (lane->is_met)
			lane->flags = FILM_TURN_BEGINS | FILM_WAIT_BEFORE;
	}
}

struct lane_lives_counts lane_lives_counts(const struct lane_lives *lives)
{
	return lives->counts;
}
