// SPDX-License-Identifier: Apache-2.0
#include "sources/memory/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"

/* The most allocations that are in use at a time: with every one a sample, a large program's. */
#define LIVE_MAX (1u << 22)

/* A state is written after so long for each row of the last one. */
#define ROW_NS	   1000000ull
#define REPORT_MIN SECOND_NS
#define REPORT_MAX (30 * SECOND_NS)

/* The most removals that are remembered: threads that are in a realloc() at a time. */
#define REMOVED_MAX 256

struct mem_live {
	struct waiting *waiting;
	struct map holders; /* pid to a thread of the film: those with a row in their last state */
	struct map begun;   /* pids of those that the recorder has seen begin, and has said so */
	vec(struct film_held) rows; /* of the state in the making */
	struct map places;	    /* a hash of what distinguishes them, to their place */
	uint64_t time;		    /* its time */
	uint64_t told;		    /* the time of the last one that was written to this film */
	bool is_told;		    /* it is as the last one of all processes */
	uint64_t next;		    /* when the next one is due */
	uint64_t refused;	    /* rows, for want of memory */
	/* those that were removed last: a realloc() may fail */
	struct waiting_half removed[REMOVED_MAX];
	uint32_t removals;
};

int mem_live_new(struct mem_live **result)
{
	struct mem_live *live = calloc(1, sizeof(*live));

	if (!live || waiting_new(LIVE_MAX, &live->waiting)) {
		free(live);
		return -ENOMEM;
	}
	*result = live;
	return 0;
}

void mem_live_free(struct mem_live *live)
{
	if (!live)
		return;
	waiting_free(live->waiting);
	map_free(&live->holders);
	map_free(&live->begun);
	map_free(&live->places);
	vec_free(&live->rows);
	free(live);
}

void mem_live_add(struct mem_live *live, const struct waiting_half *half)
{
	waiting_put(live->waiting, half);
	live->is_told = false;
}

bool mem_live_remove(struct mem_live *live, uint32_t pid, uint64_t address)
{
	struct waiting_half *half = &live->removed[live->removals % REMOVED_MAX];

	if (!waiting_pop(live->waiting, pid, address, half))
		return false;
	live->removals++;
	live->is_told = false;
	return true;
}

bool mem_live_keep(struct mem_live *live, uint32_t pid, uint64_t address)
{
	for (size_t i = 0; i < REMOVED_MAX; i++) {
		struct waiting_half *half = &live->removed[i];

		if (half->pid != pid || half->key != address)
			continue;
		waiting_put(live->waiting, half);
		*half = (struct waiting_half){0};
		live->is_told = false;
		return true;
	}
	return false;
}

/* -- a state ----------------------------------------------------------------------------------- */

static bool is_same(const struct film_held *row, const struct waiting_half *half)
{
	return row->thread == half->place.thread && row->stack == half->place.stack &&
	       row->born / SECOND_NS == half->time / SECOND_NS;
}

/* What was allocated within a second by one thread with one stack is one row. */
static void add_to_row(void *context, struct waiting_half *half)
{
	struct mem_live *live = context;
	const uint64_t what[] = {(uint64_t)half->place.thread << 32 | half->place.stack,
				 half->time / SECOND_NS};
	uint64_t hash = hash_bytes(what, sizeof(what)), *known = map_get(&live->places, hash);
	struct film_held *row = known ? &live->rows.at[*known] : NULL;

	if (!half->place.thread)
		return;
	if (!row || !is_same(row, half)) {
		if (!vec_push(&live->rows, (struct film_held){.time = live->time,
							      .thread = half->place.thread,
							      .stack = half->place.stack}) ||
		    !map_put(&live->places, hash, live->rows.count - 1) ||
		    !map_put(&live->holders, half->pid, half->place.thread)) {
			live->refused++;
			return;
		}
		row = vec_last(&live->rows);
	}
	row->value += half->value;
	row->count++;
	/* all of the row are that old at least */
	row->born = half->time > row->born ? half->time : row->born;
	if (row->born > row->time)
		row->born = row->time;
}

/*
 * The last state that is written is the one that counts, although records that come after a state
 * can be older than that. Two states of one time would count as one of twice as much.
 */
static uint64_t time_of_state(struct mem_live *live, uint64_t time)
{
	live->told = time > live->told ? time : live->told + 1;
	return live->told;
}

static void begin(struct mem_live *live, uint64_t time)
{
	live->rows.count = 0;
	map_free(&live->places);
	live->time = time;
}

static void write_rows(struct mem_live *live, struct film_writer *film, uint32_t event)
{
	vec_foreach (&live->rows, row)
		film_held(film, event, row);
}

static void write_nothing(struct film_writer *film, uint32_t event, uint64_t time, uint32_t thread)
{
	const struct film_held row = {.time = time, .born = time, .thread = thread};

	film_held(film, event, &row);
}

void mem_live_began(struct mem_live *live, struct film_writer *film, uint32_t event, uint32_t pid,
		    uint32_t thread, uint64_t time)
{
	if (!thread || map_get(&live->begun, pid))
		return;
	if (map_put(&live->begun, pid, 1))
		write_nothing(film, event, time_of_state(live, time), thread);
	else
		live->refused++;
}

void mem_live_allocated(struct mem_live *live, struct samples *samples, struct film_writer *film,
			uint32_t event, uint64_t begun, const struct waiting_half *half)
{
	const struct process *process = samples_process(samples, (pid_t)half->pid);
	uint64_t time = process ? process->executed : 0;

	if (time && time < half->time)
		mem_live_began(live, film, event, half->pid, half->place.thread,
			       time > begun ? time : begun);
	mem_live_add(live, half);
}

void mem_live_report(struct mem_live *live, struct film_writer *film, uint32_t event, uint64_t time)
{
	struct map before = live->holders;
	uint64_t pid, thread;

	if (time <= live->told && live->is_told)
		return;
	time = time_of_state(live, time);
	live->is_told = true;
	live->holders = (struct map){0};
	begin(live, time);
	waiting_each(live->waiting, 0, add_to_row, live);
	write_rows(live, film, event);
	for (size_t i = 0; map_next(&before, &i, &pid, &thread);)
		if (!map_get(&live->holders, pid))
			write_nothing(film, event, time, (uint32_t)thread);
	map_free(&before);
}

void mem_live_tick(struct mem_live *live, struct film_writer *film, uint32_t event, uint64_t now)
{
	uint64_t pause;

	if (now < live->next)
		return;
	mem_live_report(live, film, event, now);
	pause = live->rows.count * ROW_NS;
	live->next = now + (pause < REPORT_MIN	 ? REPORT_MIN
			    : pause > REPORT_MAX ? REPORT_MAX
						 : pause);
}

void mem_live_ended(struct mem_live *live, struct film_writer *film, uint32_t event, uint32_t pid,
		    uint64_t time)
{
	uint64_t *known = map_get(&live->holders, pid), thread = known ? *known : 0;

	time = time_of_state(live, time);
	begin(live, time);
	waiting_each(live->waiting, pid, add_to_row, live);
	write_rows(live, film, event);
	if (thread && !live->rows.count)
		write_nothing(film, event, time, (uint32_t)thread);
	waiting_forget(live->waiting, pid);
	map_remove(&live->holders, pid);
	map_remove(&live->begun, pid);
}

/* -- another film ------------------------------------------------------------------------------ */

struct turning {
	struct samples *samples;
	uint32_t (*thread_of)(void *context, uint32_t pid);
	void *context;
	uint32_t stack; /* of what the film before tells of */
};

static void move(void *context, struct waiting_half *half)
{
	struct turning *turning = context;

	half->place = (struct samples_place){
		.thread = turning->thread_of(turning->context, half->pid), .stack = turning->stack};
}

void mem_live_turn(struct mem_live *live, struct samples *samples,
		   uint32_t (*thread_of)(void *context, uint32_t pid), void *context)
{
	struct turning turning = {samples, thread_of, context, 0};

	turning.stack = samples_words(samples, 0, "[allocated before this film]");
	waiting_each(live->waiting, 0, move, &turning);
	live->told = 0;
	live->is_told = false;
	memset(live->removed, 0, sizeof(live->removed));
	map_free(&live->holders);
}

struct waiting_counts mem_live_counts(const struct mem_live *live)
{
	struct waiting_counts counts = waiting_counts(live->waiting);

	counts.refused += live->refused;
	return counts;
}
