// SPDX-License-Identifier: Apache-2.0
#include "sources/sched/lives.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "sources/sched/lives_table.h"
#include "sources/sched/off_cpu_row.h"

struct lives *lives_new(const struct lives_to *to)
{
	struct lives *lives = calloc(1, sizeof(*lives));

	if (lives)
		lives->to = *to;
	return lives;
}

void lives_free(struct lives *lives)
{
	if (!lives)
		return;
	map_free(&lives->places);
	vec_free(&lives->all);
	vec_free(&lives->free);
	vec_free(&lives->running);
	free(lives);
}

void lives_begin(struct lives *lives, uint64_t time)
{
	lives->begin = time;
}

/* -- what is reported -------------------------------------------------------------------------- */

static uint32_t thread_of(struct lives *lives, struct life *life)
{
	if (!life->thread)
		life->thread = lives->to.thread(lives->to.context, &life->identity);
	return life->thread;
}

/* The row of what is known since start, which ends at end; the caller fills in what came after. */
static struct film_turn row_of(struct lives *lives, struct life *life, uint64_t end)
{
	uint64_t unseen = life->mode == LIFE_LOST ? end - life->start : life->unseen;

	return (struct film_turn){
		.end = end,
		.unseen = unseen,
		.ran = (life->mode == LIFE_OFF ? life->out : end) - life->start - unseen,
		.thread = thread_of(lives, life),
		.cpu = life->cpu,
		.flags = life->flags,
	};
}

static void add_object(struct lives *lives, struct life *life, struct film_turn *turn)
{
	if (life->ready_object) {
		turn->ready_object = lives->to.object(lives->to.context, life->ready_object);
		lives->counts.objects_missed += !turn->ready_object;
	}
	if (!life->has_object)
		return;
	if (life->object && !life->object_row)
		life->object_row = lives->to.object(lives->to.context, life->object);
	turn->object = life->object_row;
	/* each wait counts once, however many rows it has */
	lives->counts.objects_missed += !turn->object && !life->object_missed;
	life->object_missed = !turn->object;
}

static void add_lock(const struct life *life, struct film_turn *turn)
{
	const struct lives_lock *lock = &life->lock;

	/* without a lock: the thread at the other end of a pipe */
	turn->holder = lock->holder;
	turn->flags |= lock->sure * (uint32_t)FILM_TURN_SURE;
	if (!lock->address)
		return;
	turn->lock = lock->address;
	/* of a file, the descriptor says which one */
	if (lock->place)
		turn->object = lock->place;
	turn->lock_kind = lock->kind;
}

/* Of a wait that is over: if nothing named the owner, it is the thread that released the lock. */
static void add_releaser(const struct life *life, struct film_turn *turn)
{
	if (!turn->lock || !turn->waker)
		return;
	if (life->lock.is_unreleased)
		turn->flags |= FILM_TURN_UNRELEASED;
	if (turn->holder || !life->lock.is_released || turn->waker == turn->thread)
		return;
	turn->holder = turn->waker;
	turn->flags |= FILM_HOLDER_RELEASER * (uint32_t)FILM_TURN_SURE;
}

static void add_evidence(struct lives *lives, struct life *life, struct film_turn *turn)
{
	const struct film_wait *evidence = &life->evidence;

	turn->call = evidence->call;
	turn->state = evidence->state;
	turn->descriptor = evidence->descriptor;
	turn->flags |= evidence->flags;
	turn->stack = evidence->stack;
	if (evidence->call && evidence->state != FILM_WAIT_READY)
		memcpy(turn->arguments, evidence->arguments, sizeof(turn->arguments));
	add_object(lives, life, turn);
	add_lock(life, turn);
}

/* Emits a row, after which the life goes on where it ends. */
static void emit_turn(struct lives *lives, struct life *life, const struct film_turn *turn)
{
	struct film_turn row = *turn;

	/* the film has a thread for each of its names: one ends where the other begins */
	if (life->is_renamed)
		row.flags = (row.flags & ~(uint32_t)FILM_WAIT_OPEN) | FILM_TURN_ENDS;
	if (turn->thread && turn->unseen + turn->ran + turn->waited + turn->ready)
		lives->to.turn(lives->to.context, &row);
	lives->counts.holes += turn->unseen != 0;
	life->start = turn->end;
	life->unseen = 0;
	life->flags = 0;
	if (!life->is_renamed)
		return;
	life->identity = life->next_identity;
	life->thread = 0;
	life->flags = FILM_TURN_BEGINS;
	life->is_renamed = false;
}

/* Where a life begins of which nothing is reported yet. */
static void begin(struct lives *lives, struct life *life)
{
	uint64_t first = life->since > lives->begin ? life->since : lives->begin;
	bool is_older = life->identity.thread_start < first;

	life->start = is_older ? first : life->identity.thread_start;
	life->flags = FILM_TURN_BEGINS | (is_older ? FILM_WAIT_BEFORE : 0);
	life->unseen = 0;
}

/*
 * A switch of the thread was lost: since the last one nothing is known. It is reported up to there;
 * from then on, up to a time, it is not known what it did.
 */
static void miss(struct lives *lives, struct life *life, uint64_t time)
{
	if (life->mode == LIFE_OFF) {
		struct film_turn turn = row_of(lives, life, life->out);

		turn.flags |= FILM_WAIT_OPEN;
		emit_turn(lives, life, &turn);
	}
	life->unseen = time > life->start ? time - life->start : 0;
	life->mode = LIFE_RUNS;
	life->evidence.stack = 0;
	life->lock = (struct lives_lock){0};
}

/* -- switches ---------------------------------------------------------------------------------- */

/* What it waits for from now on, if that is anything with a descriptor. */
static void set_object(struct life *life, bool has, uint32_t number)
{
	life->has_object = has;
	life->object_missed = false;
	life->ready_object = 0;
	if (life->object != number)
		life->object_row = 0;
	life->object = number;
}

static void set_evidence(struct life *life, const struct threads_event *event)
{
	const struct threads_switch *record = &event->record;
	const struct off_cpu_wait wait = {
		.state = record->state,
		.descriptor = record->descriptor,
		.in_iowait = (record->flags & THREADS_IOWAIT) != 0,
		.is_frozen = (record->flags & THREADS_IS_FROZEN) != 0,
		.is_kernel_thread = (record->flags & THREADS_IS_KERNEL) != 0,
		.call = record->call - 1,
	};

	life->evidence = off_cpu_evidence(&wait);
	/* what they were the last time is not told again */
	if (record->flags & THREADS_ARGUMENTS)
		memcpy(life->told, event->arguments, sizeof(life->told));
	memcpy(life->evidence.arguments, life->told, sizeof(life->told));
	life->lock = (struct lives_lock){0};
	life->has_evidence = true;
	if (record->flags & THREADS_NEW_OBJECT)
		life->object_report = event->object;
	set_object(life, life->evidence.descriptor != FILM_FD_NONE, life->object_report);
}

/* call: the system call in which it ended, and 1; 0: it is not known. status: of exit(2) */
static void end_life(struct lives *lives, struct life *life, uint64_t time, uint32_t call,
		     uint64_t status)
{
	struct film_turn turn = row_of(lives, life, time);

	turn.flags |= FILM_TURN_ENDS;
	if (call == SYS_exit + 1 || call == SYS_exit_group + 1) {
		turn.flags |= FILM_TURN_EXITS;
		turn.call = (uint16_t)call;
		turn.arguments[0] = status;
	}
	emit_turn(lives, life, &turn);
}

/* Its life is reported. From now on it only has woken others. */
static void keep_ended(struct lives *lives, struct life *life)
{
	uint32_t *place = &lives->ended[lives->ended_next++ % LIVES_ENDED_KEPT];
	struct life *oldest = *place ? lives_table_find(lives, *place) : NULL;

	if (oldest)
		lives_table_forget(lives, oldest);
	else
		lives->ended_count++;
	*place = life->number;
	life->is_meant = false;
	life->mode = LIFE_NEW;
}

static void goes_out(struct lives *lives, struct life *life, const struct threads_event *event)
{
	const struct threads_switch *record = &event->record;

	if (life->mode == LIFE_NEW) {
		begin(lives, life);
		/* it ran since then; or it was made since, and its first switch was lost */
		if (!(life->flags & FILM_WAIT_BEFORE))
			life->unseen = event->time - life->start;
	} else if (life->mode != LIFE_RUNS || (uint8_t)(life->count + 1) != record->prev_count ||
		   event->time < life->start + life->unseen) {
		if (life->is_listed && life->mode == LIFE_OFF)
			begin(lives, life);
		else
			miss(lives, life, event->time);
	}
	life->mode = LIFE_RUNS;
	life->is_listed = false;
	if (event->time < life->start + life->unseen)
		return;
	life->cpu = event->cpu;
	if (record->state & OFF_CPU_STATE_DEAD) {
		end_life(lives, life, event->time, record->call,
			 record->flags & THREADS_ARGUMENTS ? event->arguments[0] : 0);
		keep_ended(lives, life);
		return;
	}
	set_evidence(life, event);
	life->count = record->prev_count;
	life->mode = LIFE_OFF;
	life->out = life->waits = event->time;
	life->is_long = false;
	life->woken = 0;
}

/* The wait that is over, as the thread comes in. */
static void emit_wait(struct lives *lives, struct life *life, const struct threads_event *event)
{
	const struct threads_switch *record = &event->record;
	struct film_turn turn = row_of(lives, life, event->time);
	uint64_t off = event->time - life->out;
	struct life *waker = record->waker ? lives_table_find(lives, record->waker) : NULL;

	turn.ready =
		event->ready < off && life->evidence.state != FILM_WAIT_READY ? event->ready : off;
	turn.waited = off - turn.ready;
	if (record->flags & THREADS_UNWOKEN && turn.waited)
		turn.flags |= FILM_TURN_UNWOKEN;
	if (record->flags & THREADS_HAS_STACK) {
		life->evidence.stack =
			lives->to.stack(lives->to.context, life->number, event->time, &life->lock);
		lives->counts.stacks_missed += !life->evidence.stack;
	}
	add_evidence(lives, life, &turn);
	turn.context = off_cpu_context(record->context);
	turn.waker = waker ? thread_of(lives, waker) : 0;
	lives->counts.wakers_missed += record->waker && !waker;
	add_releaser(life, &turn);
	/* what it waited for is not known: nothing is */
	if (!life->has_evidence) {
		turn.unseen += turn.waited;
		turn.waited = 0;
	}
	emit_turn(lives, life, &turn);
}

/* A thread that was made meanwhile runs for the first time. */
static void emit_first(struct lives *lives, struct life *life, const struct threads_event *event)
{
	begin(lives, life);
	life->mode = LIFE_OFF;
	life->has_evidence = !(life->flags & FILM_WAIT_BEFORE);
	life->evidence.state = 0;
	if (life->start > event->time)
		life->start = event->time;
	life->out = life->start;
}

static void comes_in(struct lives *lives, struct life *life, const struct threads_event *event)
{
	struct threads_event first = *event;

	if (life->mode == LIFE_NEW) {
		emit_first(lives, life, event);
		/* a new thread could run since it was made */
		if (life->has_evidence)
			first.ready = event->time - life->out;
		emit_wait(lives, life, &first);
	} else if (life->mode == LIFE_OFF && life->count == event->record.next_count &&
		   event->time >= life->out) {
		emit_wait(lives, life, event);
	} else if (life->is_listed) {
		begin(lives, life);
		life->unseen = event->time - life->start;
	} else {
		miss(lives, life, event->time);
	}
	life->mode = LIFE_RUNS;
	life->is_listed = false;
	life->has_evidence = false;
	life->count = event->record.next_count;
	life->cpu = event->cpu;
}

/* The thread that is known to run on a CPU, from now on. */
static uint32_t *running_on(struct lives *lives, uint16_t cpu)
{
	while (lives->running.count <= cpu)
		if (!vec_push(&lives->running, 0))
			return NULL;
	return &lives->running.at[cpu];
}

/*
 * Another thread than the one that came in last leaves the CPU: that one left before, and its
 * switch was lost, or hidden from all probes, as that of an init of some virtual machines is.
 */
static void check_running(struct lives *lives, const struct threads_event *event)
{
	uint32_t *running = running_on(lives, event->cpu);
	struct life *life;

	if (!running)
		return;
	life = *running && *running != event->record.prev ? lives_table_find(lives, *running)
							  : NULL;
	if (life && life->mode == LIFE_RUNS && life->cpu == event->cpu)
		life->mode = LIFE_LOST;
	*running = event->record.next;
}

/*
 * Before all switches are given, none counts; but what is reported of arguments is not reported
 * again.
 */
static void handle_early(struct lives *lives, const struct threads_event *event)
{
	struct life *life = event->record.prev ? lives_table_find(lives, event->record.prev) : NULL;

	if (life && event->record.flags & THREADS_ARGUMENTS)
		memcpy(life->told, event->arguments, sizeof(life->told));
	if (life && event->record.flags & THREADS_NEW_OBJECT)
		life->object_report = event->object;
}

/* A thread may be met as meant before what it did until then is given. */
static bool is_of_life(const struct life *life, uint64_t time)
{
	return life && life->is_meant && time >= life->since;
}

void lives_handle(struct lives *lives, const struct threads_event *event)
{
	const struct threads_switch *record = &event->record;
	struct life *life;

	if (event->time < lives->begin) {
		handle_early(lives, event);
		return;
	}
	if (event->is_waking) {
		life = lives_table_find(lives, record->next);
		if (life && life->mode == LIFE_OFF && event->time >= life->out) {
			life->woken = event->time;
			life->ready_object = event->object;
		}
		return;
	}
	check_running(lives, event);
	if (record->prev) {
		life = lives_table_find(lives, record->prev);
		lives->counts.unknown += !life;
		if (is_of_life(life, event->time))
			goes_out(lives, life, event);
	}
	if (record->next) {
		life = lives_table_find(lives, record->next);
		lives->counts.unknown += !life;
		if (is_of_life(life, event->time))
			comes_in(lives, life, event);
	}
}

/* -- the list of tasks ------------------------------------------------------------------------- */

/* The lock, or the other end of a pipe, of a wait of which the rest is known. */
static void set_listed_lock(struct life *life, const struct lives_listed *listed)
{
	if (listed->lock.address || listed->lock.holder)
		life->lock = listed->lock;
}

static void set_listed(struct life *life, const struct lives_listed *listed)
{
	const uint8_t descriptor = life->evidence.descriptor;
	/* a path, or a descriptor in memory, is read only as the thread goes out */
	bool is_known = life->has_evidence && listed->evidence.descriptor == FILM_FD_NONE;

	life->evidence = listed->evidence;
	life->lock = listed->lock;
	life->has_evidence = true;
	if (is_known) {
		life->evidence.descriptor = descriptor;
		return;
	}
	set_object(life, life->evidence.descriptor != FILM_FD_NONE, listed->object);
	life->ready_object = listed->ready;
}

/* It is as it is known; its stack may be more than that. */
static void set_as_known(struct life *life, const struct lives_listed *listed)
{
	if (life->mode != LIFE_OFF || listed->runs)
		return;
	if (!life->has_evidence || !life->evidence.stack)
		set_listed(life, listed);
	else if (!life->lock.address)
		set_listed_lock(life, listed);
}

void lives_list(struct lives *lives, const struct lives_listed *listed)
{
	struct life *life = lives_table_find(lives, listed->number);
	uint32_t *running;

	if (!is_of_life(life, listed->time))
		return;
	life->listed = listed->time;
	if (listed->moved)
		return;
	if (life->mode == LIFE_NEW || (life->is_listed && life->count != listed->count)) {
		begin(lives, life);
		life->is_listed = listed->time < lives->begin;
	} else if (life->count != listed->count) {
		miss(lives, life, listed->time);
	} else {
		set_as_known(life, listed);
		return;
	}
	life->mode = listed->runs ? LIFE_RUNS : LIFE_OFF;
	life->cpu = listed->cpu;
	running = listed->runs ? running_on(lives, listed->cpu) : NULL;
	if (running)
		*running = life->number;
	life->out = life->start + life->unseen;
	life->waits = listed->time;
	life->is_long = false;
	life->woken = 0;
	life->count = listed->count;
	life->has_evidence = false;
	if (!listed->runs)
		set_listed(life, listed);
}

void lives_list_late(struct lives *lives, const struct lives_listed *listed)
{
	struct life *life = lives_table_find(lives, listed->number);

	if (is_of_life(life, listed->time) && !listed->moved && life->count == listed->count)
		set_as_known(life, listed);
}

void lives_list_done(struct lives *lives, uint64_t begun)
{
	vec_foreach (&lives->all, life) {
		uint64_t last = life->mode == LIFE_OFF ? life->out : life->start + life->unseen;

		if (!life->number || !life->is_meant || life->mode == LIFE_NEW || last >= begun ||
		    life->listed >= begun)
			continue;
		if (life->is_listed) {
			lives_table_forget(lives, life); /* before anything was seen */
			continue;
		}
		miss(lives, life, begun);
		end_life(lives, life, begun, 0, 0);
		lives_table_forget(lives, life);
	}
}

/* -- moments ----------------------------------------------------------------------------------- */

static void cut(struct lives *lives, struct life *life, uint64_t time)
{
	struct film_turn turn = row_of(lives, life, time);
	uint64_t woken = life->woken;

	turn.flags |= FILM_WAIT_OPEN;
	if (life->mode == LIFE_OFF) {
		add_evidence(lives, life, &turn);
		if (life->evidence.state == FILM_WAIT_READY)
			turn.ready = time - life->out;
		else if (woken && woken < time)
			turn.ready = time - woken;
		turn.waited = time - life->out - turn.ready;
	}
	emit_turn(lives, life, &turn);
	if (life->mode == LIFE_OFF)
		life->out = time;
	if (woken && woken < time)
		life->woken = time;
}

/* Cuts the life of a thread at a time, if that many ns or more are not reported yet. */
static void cut_after(struct lives *lives, struct life *life, uint64_t time, uint64_t least)
{
	uint64_t last = life->start + life->unseen;

	if (life->mode == LIFE_OFF && life->out > last)
		last = life->out;
	if (life->number && life->is_meant && life->mode != LIFE_NEW && last <= time &&
	    time - life->start > least)
		cut(lives, life, time);
}

void lives_cut(struct lives *lives, uint64_t time, uint64_t least)
{
	vec_foreach (&lives->all, life)
		cut_after(lives, life, time, least);
}

/*
 * Up to where a life is reported at a time: of a thread that was woken lately, up to the last ns
 * of its wait. What ended that wait, and the stack with which it waited, are in the record of the
 * switch to the thread.
 */
static uint64_t known_until(const struct life *life, uint64_t time)
{
	uint64_t woken = life->woken;

	if (life->mode != LIFE_OFF || life->evidence.state == FILM_WAIT_READY || !woken ||
	    woken >= time || time - woken > LIVES_WOKEN_MAX_NS)
		return time;
	return woken > life->out ? woken - 1 : woken;
}

void lifetimes_cut_known(struct lives *lives, uint64_t time, uint64_t least)
{
	vec_foreach (&lives->all, life)
		cut_after(lives, life, known_until(life, time), least);
}

struct lives_counts lives_counts(const struct lives *lives)
{
	struct lives_counts counts = lives->counts;

	counts.now = lives->all.count - lives->free.count - lives->ended_count;
	return counts;
}
