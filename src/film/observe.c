// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "film/writing.h"

/* What waits for a commit, of each kind: for a caller that never commits. */
#define PENDING_BYTES_MAX (192u << 20)

/*
 * All that they say of themselves is so: their ids are there, their times not shorter than what
 * they took.
 */
static bool rows_ok(const struct film_writer *w, const struct film_kind *kind, const void *rows,
		    size_t count)
{
	const struct layout_limits limits = {{
		[LAYOUT_THREAD] = (uint64_t)w->threads + 1,
		[LAYOUT_STACK] = w->next.stack,
		[LAYOUT_FRAME] = w->next.frame,
	}};
	const uint8_t *row = rows;

	if (!layout_ids_ok(&kind->layout, &limits, rows, count))
		return false;
	for (; kind->length && count; count--, row += kind->layout.row_size)
		if (layout_number_in(kind->length, row) > layout_number_in(kind->time, row))
			return false;
	return true;
}

/* Rows that are given together are of one moment. */
static bool is_before(const struct film_writer *w, const struct film_kind *kind, const void *rows)
{
	uint64_t begin;

	if (!w->since || !kind->time || !kind->length || kind == film_kind(FILM_BLOCK_GAUGES))
		return false;
	begin = layout_number_in(kind->time, rows);
	return begin - layout_number_in(kind->length, rows) < w->since;
}

bool film_put(struct film_writer *w, enum film_block_kind number, uint32_t event, uint64_t from,
	      uint64_t to, const void *rows, size_t count)
{
	const struct film_kind *kind = film_kind(number);
	size_t size = kind->layout.row_size;
	bool ok = event && event <= w->events && from <= to && rows_ok(w, kind, rows, count);
	size_t most = kind->pending ? kind->pending : PENDING_BYTES_MAX;
	const uint8_t *next = rows;

	if (ok && count && is_before(w, kind, rows))
		return true;
	while (ok && count && w->batch->piled[number] < most) {
		size_t n = count;
		void *room = film_batch_rows(w->batch, number, event, from, to, &n);

		if (!room)
			break;
		memcpy(room, next, n * size);
		next += n * size;
		count -= n;
	}
	w->losses.own[kind->lost] += count;
	return !count;
}

void film_sample(struct film_writer *w, uint32_t event, uint64_t time, uint32_t thread,
		 uint32_t stack, uint64_t value)
{
	film_sample_row(w, event,
			&(struct film_sample){
				.time = time,
				.value = value,
				.thread = thread,
				.stack = stack,
			});
}

void film_sample_row(struct film_writer *w, uint32_t event, const struct film_sample *sample)
{
	film_put(w, FILM_BLOCK_SAMPLES, event, 0, 0, sample, 1);
}

void film_call(struct film_writer *w, uint32_t event, const struct film_call *call)
{
	struct film_call copy;

	if (call->waited <= call->duration) {
		film_put(w, FILM_BLOCK_CALLS, event, 0, 0, call, 1);
		return;
	}
	copy = *call;
	copy.waited = copy.duration;
	if (film_put(w, FILM_BLOCK_CALLS, event, 0, 0, &copy, 1))
		lost(w, LOST_WAIT);
}

/* How much of what ended then is in the film. */
static uint64_t time_within(const struct film_writer *w, uint64_t end, uint64_t time)
{
	if (time > end || end - time >= w->since)
		return time;
	return end > w->since ? end - w->since : 0;
}

void film_wait(struct film_writer *w, uint32_t event, const struct film_wait *wait)
{
	struct film_wait within = *wait;

	within.duration = time_within(w, wait->end, wait->duration);
	if (within.duration < wait->duration)
		within.flags |= FILM_WAIT_BEFORE;
	film_put(w, FILM_BLOCK_WAITS, event, 0, 0, &within, 1);
}

void film_lock(struct film_writer *w, uint32_t event, const struct film_lock *lock)
{
	struct film_lock within = *lock;

	within.duration = time_within(w, lock->end, lock->duration);
	film_put(w, FILM_BLOCK_LOCKS, event, 0, 0, &within, 1);
}

void film_held(struct film_writer *w, uint32_t event, const struct film_held *held)
{
	film_put(w, FILM_BLOCK_HELD, event, 0, 0, held, 1);
}

void film_request(struct film_writer *w, uint32_t event, const struct film_request *request)
{
	film_put(w, FILM_BLOCK_REQUESTS, event, 0, 0, request, 1);
}

void film_values(struct film_writer *w, uint32_t event, const struct film_value *values,
		 size_t count)
{
	film_put(w, FILM_BLOCK_VALUES, event, 0, 0, values, count);
}

void film_gauge(struct film_writer *w, uint32_t event, const struct film_gauge *gauge)
{
	film_put(w, FILM_BLOCK_GAUGES, event, 0, 0, gauge, 1);
}

void film_work(struct film_writer *w, uint32_t event, const struct film_work *work)
{
	film_put(w, FILM_BLOCK_WORKS, event, 0, 0, work, 1);
}

void film_log(struct film_writer *w, uint32_t event, const struct film_log *parts, size_t count)
{
	film_put(w, FILM_BLOCK_LOGS, event, 0, 0, parts, count);
}

/*
 * As film_put(), which looks through all columns for those that are ids: there are millions of
 * turns, and each comes alone.
 */
static void put_turn(struct film_writer *w, uint32_t event, const struct film_turn *turn)
{
	bool ok = event && event <= w->events && turn->thread <= w->threads &&
		  turn->waker <= w->threads && turn->on <= w->threads &&
		  turn->stack < w->next.stack && turn->object < w->next.frame &&
		  turn->ready_object < w->next.frame && turn->holder <= w->threads &&
		  turn->waited <= turn->end;
	struct film_turn *room = NULL;
	size_t count = 1;

	if (ok && w->batch->piled[FILM_BLOCK_TURNS] < PENDING_BYTES_MAX)
		room = film_batch_rows(w->batch, FILM_BLOCK_TURNS, event, 0, 0, &count);
	if (room)
		*room = *turn;
	else
		lost(w, LOST_PAUSE);
}

/* Cuts at most *left off one of the times of a turn. */
static uint64_t cut_time(uint64_t *time, uint64_t *left)
{
	uint64_t part = *time < *left ? *time : *left;

	*time -= part;
	*left -= part;
	return part;
}

/* Cuts a turn that is too long into parts. */
static void put_parts(struct film_writer *w, uint32_t event, const struct film_turn *turn,
		      uint64_t time)
{
	struct film_turn rest = *turn, part = *turn;
	uint64_t start = turn->end - time;

	for (; time > FILM_TURN_MAX; time -= FILM_TURN_MAX) {
		uint64_t left = FILM_TURN_MAX;

		part.end = start += FILM_TURN_MAX;
		part.unseen = cut_time(&rest.unseen, &left);
		part.ran = cut_time(&rest.ran, &left);
		part.waited = cut_time(&rest.waited, &left);
		part.ready = cut_time(&rest.ready, &left);
		part.flags = (rest.flags | FILM_WAIT_OPEN) &
			     ~(uint32_t)(FILM_TURN_ENDS | FILM_TURN_EXITS);
		rest.flags &= ~(uint32_t)(FILM_TURN_BEGINS | FILM_WAIT_BEFORE);
		put_turn(w, event, &part);
	}
	put_turn(w, event, &rest);
}

/* Takes a time off the beginning of a turn. */
static uint64_t cut_beginning(struct film_turn *turn, uint64_t time)
{
	uint64_t left = time;

	cut_time(&turn->unseen, &left);
	cut_time(&turn->ran, &left);
	cut_time(&turn->waited, &left);
	cut_time(&turn->ready, &left);
	return time - left;
}

void film_turn(struct film_writer *w, uint32_t event, const struct film_turn *turn)
{
	uint64_t time = turn->unseen + turn->ran + turn->waited + turn->ready;
	struct film_turn rest = *turn;

	if (time <= turn->end && turn->end - time < w->since) {
		if (turn->end <= w->since)
			return;
		time -= cut_beginning(&rest, w->since - (turn->end - time));
		rest.flags |= FILM_TURN_BEGINS;
	}
	/* also where a time is below 0 */
	if (time > rest.end)
		lost(w, LOST_PAUSE);
	else if (time > FILM_TURN_MAX)
		put_parts(w, event, &rest, time);
	else
		put_turn(w, event, &rest);
}

void film_probe(struct film_writer *w, uint32_t event, const struct film_probe *probe)
{
	film_put(w, FILM_BLOCK_PROBES, event, 0, 0, probe, 1);
}

void film_sum(struct film_writer *w, uint32_t event, uint64_t from, uint64_t to,
	      const struct film_sum *sum)
{
	film_put(w, FILM_BLOCK_SUMS, event, from, to, sum, 1);
}
