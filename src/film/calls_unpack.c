// SPDX-License-Identifier: Apache-2.0
#include "film/calls.h"

#include <errno.h>

/* One number for the count of tracks, four columns of tracks, nine of calls at most. */
#define COLUMNS 14

/* The columns of calls, by track or in order. */
struct rows {
	uint64_t *end, *duration, *waited;
	uint32_t *thread, *frame, *lane, *depth, *cpu, *flags;
};

/* set 0: by track, 1: in order */
static struct rows rows_of(const struct calls_reader *r, size_t count, size_t set)
{
	uint64_t *times = r->times.at + 3 * count * set;
	uint32_t *rest = r->rest.at + 6 * count * set;

	return (struct rows){
		.end = times,
		.duration = times + count,
		.waited = times + 2 * count,
		.thread = rest,
		.frame = rest + count,
		.lane = rest + 2 * count,
		.depth = rest + 3 * count,
		.cpu = rest + 4 * count,
		.flags = rest + 5 * count,
	};
}

/* A column of numbers, each less than limit. */
static int get_small(struct calls_reader *r, uint32_t *to, size_t count, uint64_t limit)
{
	uint64_t *wide = r->numbers.at, all = 0;
	size_t i;
	int err = column_reader_get(&r->columns, wide, count);

	if (err)
		return err;
	for (i = 0; i < count; i++) {
		all |= (uint64_t)(wide[i] >= limit);
		to[i] = (uint32_t)wide[i];
	}
	return all ? -EBADMSG : 0;
}

static int get_tracks(struct calls_reader *r, size_t calls, uint64_t threads)
{
	uint64_t count, all = 0, *numbers = r->numbers.at;
	size_t i;

	if (column_reader_get(&r->columns, &count, 1) || !count || count > calls)
		return -EBADMSG;
	if (!vec_reserve(&r->track, (size_t)count))
		return -ENOMEM;
	r->track.count = (size_t)count;
	if (column_reader_get(&r->columns, numbers, (size_t)count))
		return -EBADMSG;
	for (i = 0; i < count; i++) {
		if (numbers[i] >= threads)
			return -EBADMSG;
		r->track.at[i].thread = (uint32_t)numbers[i];
	}
	if (column_reader_get(&r->columns, numbers, (size_t)count))
		return -EBADMSG;
	for (i = 0; i < count; i++) {
		if (numbers[i] > UINT32_MAX)
			return -EBADMSG;
		r->track.at[i].lane = (uint32_t)numbers[i];
	}
	if (column_reader_get(&r->columns, numbers, (size_t)count))
		return -EBADMSG;
	for (i = 0; i < count; i++) {
		if (!numbers[i] || numbers[i] > calls - all)
			return -EBADMSG;
		r->track.at[i].count = (size_t)numbers[i];
		r->track.at[i].next = (size_t)all;
		all += numbers[i];
	}
	if (all != calls || column_reader_get(&r->columns, numbers, (size_t)count))
		return -EBADMSG;
	for (i = 0; i < count; i++)
		r->track.at[i].start = numbers[i];
	return 0;
}

static size_t count_leaves(const struct calls_reader *r, const uint32_t *depth)
{
	size_t leaves = 0, i;

	vec_foreach (&r->track, track) {
		leaves++;
		for (i = track->next + 1; i < track->next + track->count; i++)
			leaves += depth[i] >= depth[i - 1];
	}
	return leaves;
}

/*
 * The columns of times as they stand in the block; numbers is where those of leaves and others
 * begin.
 */
struct times {
	const uint64_t *gap, *duration;
	const uint64_t *tail, *head;
};

static int get_times(struct calls_reader *r, size_t calls, size_t leaves, struct times *t)
{
	uint64_t *numbers = r->numbers.at;
	size_t inner = calls - leaves;

	*t = (struct times){numbers, numbers + leaves, numbers + 2 * leaves,
			    numbers + 2 * leaves + inner};
	if (column_reader_get(&r->columns, numbers, leaves) ||
	    column_reader_get(&r->columns, numbers + leaves, leaves))
		return -EBADMSG;
	if (inner && (column_reader_get(&r->columns, numbers + 2 * leaves, inner) ||
		      column_reader_get(&r->columns, numbers + 2 * leaves + inner, inner)))
		return -EBADMSG;
	return 0;
}

/* Finds end, duration and waited of the calls of a track. */
static int follow_track(struct calls_reader *r, const struct film_track *track, struct rows *rows,
			struct times *t)
{
	uint64_t before = track->start, start, end;
	size_t i;

	r->runs.open.count = 0;
	for (i = track->next; i < track->next + track->count; i++) {
		uint32_t depth = rows->depth[i];
		struct call_run inner;

		if (call_runs_within(&r->runs, depth, &inner)) {
			start = inner.start - *t->head++;
			end = before + *t->tail++;
		} else {
			start = before + *t->gap++;
			end = start + *t->duration++;
		}
		rows->end[i] = end;
		rows->duration[i] = end - start;
		rows->waited[i] += inner.waited;
		if (end < start || rows->waited[i] > end - start ||
		    (i > track->next && end < before))
			return -EBADMSG;
		if (!call_runs_add(&r->runs, depth, start, rows->waited[i]))
			return -ENOMEM;
		rows->thread[i] = track->thread;
		rows->lane[i] = track->lane;
		before = end;
	}
	return 0;
}

static int get_rows(struct calls_reader *r, struct rows *rows, size_t count, uint64_t threads,
		    uint64_t frames)
{
	struct times times;
	int err = get_tracks(r, count, threads);

	if (!err)
		err = get_small(r, rows->frame, count, frames);
	if (!err)
		err = get_small(r, rows->depth, count, UINT16_MAX + 1);
	if (!err)
		err = get_small(r, rows->cpu, count, UINT16_MAX + 1);
	if (!err)
		err = get_small(r, rows->flags, count, (uint64_t)UINT32_MAX + 1);
	if (!err)
		err = column_reader_get(&r->columns, rows->waited, count);
	if (!err)
		err = get_times(r, count, count_leaves(r, rows->depth), &times);
	if (!err)
		err = column_reader_end(&r->columns);
	if (err)
		return err;
	vec_foreach (&r->track, track) {
		err = follow_track(r, track, rows, &times);
		if (err)
			return err;
	}
	return 0;
}

/* Tracks of equal ends stand in their own order. */
static bool is_before(const struct call_turn *a, const struct call_turn *b)
{
	return a->end < b->end || (a->end == b->end && a->track < b->track);
}

/* Puts the entry at into its place among those below it in the heap. */
static void sink(struct call_turn *heap, size_t count, size_t at)
{
	struct call_turn turn = heap[at];
	size_t child;

	while ((child = 2 * at + 1) < count) {
		if (child + 1 < count && is_before(&heap[child + 1], &heap[child]))
			child++;
		if (is_before(&turn, &heap[child]))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = turn;
}

/* Merges the tracks by end: fills r->order with the rows' places. */
static int merge_tracks(struct calls_reader *r, const uint64_t *end, size_t count)
{
	struct call_turn *heap;
	size_t tracks = r->track.count, i;

	if (!vec_reserve(&r->heap, tracks) || !vec_reserve(&r->order, count))
		return -ENOMEM;
	heap = r->heap.at;
	for (i = 0; i < tracks; i++)
		heap[i] = (struct call_turn){end[r->track.at[i].next], (uint32_t)i};
	for (i = tracks / 2; i-- > 0;)
		sink(heap, tracks, i);
	for (i = 0; i < count; i++) {
		struct film_track *track = &r->track.at[heap[0].track];

		r->order.at[i] = (uint32_t)track->next++;
		if (--track->count)
			heap[0].end = end[track->next];
		else
			heap[0] = heap[--tracks];
		sink(heap, tracks, 0);
	}
	return 0;
}

static void put_in_order(struct rows *to, const struct rows *rows, const uint32_t *order,
			 size_t count)
{
	size_t i;

	/* column by column: fewer places of memory at a time */
#define move(column)                \
	for (i = 0; i < count; i++) \
	to->column[i] = rows->column[order[i]]
	move(end);
	move(duration);
	move(waited);
	move(thread);
	move(frame);
	move(lane);
	move(depth);
	move(cpu);
	move(flags);
#undef move
}

int calls_unpack(struct calls_reader *r, const void *data, size_t size, size_t count,
		 uint64_t threads, uint64_t frames, struct film_calls *calls)
{
	struct rows rows, sorted;
	int err;

	if (!count)
		return -EBADMSG;
	if (!vec_reserve(&r->numbers, 2 * count) || !vec_reserve(&r->times, 6 * count) ||
	    !vec_reserve(&r->rest, 12 * count))
		return -ENOMEM;
	rows = rows_of(r, count, 0);
	err = column_reader_begin(&r->columns, data, size, count, COLUMNS, 0);
	if (!err)
		err = get_rows(r, &rows, count, threads, frames);
	if (!err && r->track.count > 1) {
		sorted = rows_of(r, count, 1);
		err = merge_tracks(r, rows.end, count);
		if (!err)
			put_in_order(&sorted, &rows, r->order.at, count);
		rows = sorted;
	}
	if (err)
		return err;
	*calls = (struct film_calls){
		.count = count,
		.end = rows.end,
		.duration = rows.duration,
		.waited = rows.waited,
		.thread = rows.thread,
		.frame = rows.frame,
		.lane = rows.lane,
		.depth = rows.depth,
		.cpu = rows.cpu,
		.flags = rows.flags,
	};
	return 0;
}

void calls_reader_free(struct calls_reader *r)
{
	column_reader_free(&r->columns);
	vec_free(&r->track);
	vec_free(&r->heap);
	vec_free(&r->order);
	vec_free(&r->numbers);
	vec_free(&r->times);
	vec_free(&r->rest);
	vec_free(&r->runs.open);
}
