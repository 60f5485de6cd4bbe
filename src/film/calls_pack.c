// SPDX-License-Identifier: Apache-2.0
#include "film/calls.h"

#include <errno.h>
#include <stdlib.h>

bool call_runs_within(struct call_runs *runs, uint32_t depth, struct call_run *inner)
{
	bool any = false;

	*inner = (struct call_run){0};
	while (runs->open.count && vec_last(&runs->open)->depth > depth) {
		const struct call_run *run = vec_last(&runs->open);

		/* runs that lie further down began earlier */
		inner->start = run->start;
		inner->waited += run->waited;
		runs->open.count--;
		any = true;
	}
	return any;
}

bool call_runs_add(struct call_runs *runs, uint32_t depth, uint64_t start, uint64_t waited)
{
	if (!runs->open.count || vec_last(&runs->open)->depth != depth)
		return vec_push(&runs->open, (struct call_run){depth, start, waited});
	vec_last(&runs->open)->waited += waited;
	return true;
}

/* The number of the call's track in this block; UINT32_MAX: no memory. */
static uint32_t track_of(struct calls_packer *p, const struct film_call *call)
{
	uint64_t key = (uint64_t)call->thread << 32 | call->lane;
	const uint64_t *known = map_get(&p->tracks, key);
	struct film_track track = {.thread = call->thread, .lane = call->lane};

	if (known)
		return (uint32_t)*known;
	if (!map_put(&p->tracks, key, p->track.count) || !vec_push(&p->track, track))
		return UINT32_MAX;
	return (uint32_t)p->track.count - 1;
}

static bool find_tracks(struct calls_packer *p, const struct film_call *calls, size_t count)
{
	uint32_t track = 0;
	size_t i;

	map_free(&p->tracks);
	p->track.count = 0;
	for (i = 0; i < count; i++) {
		/* mostly the one of the call before */
		if (!i || calls[i].thread != calls[i - 1].thread ||
		    calls[i].lane != calls[i - 1].lane)
			track = track_of(p, &calls[i]);
		if (track == UINT32_MAX)
			return false;
		p->track_of.at[i] = track;
		p->track.at[track].count++;
	}
	return true;
}

static int by_end(const void *a, const void *b, void *context)
{
	const struct film_call *calls = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (calls[x].end != calls[y].end)
		return calls[x].end < calls[y].end ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Makes sure that calls of one track stand in the order of their ends, as they mostly do. */
static void sort_track(struct calls_packer *p, const struct film_call *calls, size_t from,
		       size_t to)
{
	size_t i;

	for (i = from + 1; i < to; i++) {
		if (calls[p->order.at[i]].end < calls[p->order.at[i - 1]].end) {
			qsort_r(p->order.at + from, to - from, sizeof(*p->order.at), by_end,
				(void *)calls);
			return;
		}
	}
}

static void order_by_track(struct calls_packer *p, const struct film_call *calls, size_t count)
{
	size_t at = 0, i;

	vec_foreach (&p->track, track) {
		track->next = at;
		at += track->count;
	}
	for (i = 0; i < count; i++)
		p->order.at[p->track.at[p->track_of.at[i]].next++] = (uint32_t)i;
	at = 0;
	vec_foreach (&p->track, track) {
		const struct film_call *first;

		sort_track(p, calls, at, at + track->count);
		first = &calls[p->order.at[at]];
		track->start = first->end - first->duration;
		at += track->count;
	}
}

/* Puts a column whose number in row i is value, an expression of i. numbers is scratch. */
#define put_column(put, c, numbers, count, value)    \
	do {                                         \
		for (size_t i = 0; i < (count); i++) \
			(numbers)[i] = (value);      \
		put((c), (numbers), (count));        \
	} while (0)

static void put_tracks(const struct calls_packer *p, struct columns *c)
{
	const struct film_track *track = p->track.at;
	uint64_t *numbers = p->numbers.at;
	size_t count = p->track.count;

	put_column(columns_put_numbers, c, numbers, 1, count);
	put_column(columns_put_numbers, c, numbers, count, track[i].thread);
	put_column(columns_put_numbers, c, numbers, count, track[i].lane);
	put_column(columns_put_numbers, c, numbers, count, track[i].count);
	put_column(columns_put_numbers, c, numbers, count, track[i].start);
}

/* The columns of times, of as many numbers each as room was made for. */
struct times {
	uint64_t *waited;	  /* less what the calls within have waited */
	uint64_t *gap, *duration; /* of leaves */
	uint64_t *tail, *head;	  /* of inner calls */
	size_t leaves, inner;
};

static bool add_time(struct calls_packer *p, struct times *t, const struct film_call *call,
		     uint64_t before)
{
	uint64_t start = call->end - call->duration;
	struct call_run inner;

	if (call_runs_within(&p->runs, call->depth, &inner)) {
		t->tail[t->inner] = call->end - before;
		t->head[t->inner++] = inner.start - start;
	} else {
		t->gap[t->leaves] = start - before;
		t->duration[t->leaves++] = call->duration;
	}
	*t->waited++ = call->waited - inner.waited;
	return call_runs_add(&p->runs, call->depth, start, call->waited);
}

static bool add_times(struct calls_packer *p, struct times *t, const struct film_call *calls)
{
	const uint32_t *next = p->order.at;

	vec_foreach (&p->track, track) {
		uint64_t before = track->start;
		size_t i;

		p->runs.open.count = 0;
		for (i = 0; i < track->count; i++, next++) {
			if (!add_time(p, t, &calls[*next], before))
				return false;
			before = calls[*next].end;
		}
	}
	return true;
}

static bool put_times(struct calls_packer *p, struct columns *c, const struct film_call *calls,
		      size_t count)
{
	uint64_t *waited = p->numbers.at;
	struct times t = {
		.waited = waited,
		.gap = waited + count,
		.duration = waited + 2 * count,
		.tail = waited + 3 * count,
		.head = waited + 4 * count,
	};

	if (!add_times(p, &t, calls))
		return false;
	columns_put_numbers(c, waited, count);
	if (t.leaves) {
		columns_put_numbers(c, t.gap, t.leaves);
		columns_put_numbers(c, t.duration, t.leaves);
	}
	if (t.inner) {
		columns_put_numbers(c, t.tail, t.inner);
		columns_put_numbers(c, t.head, t.inner);
	}
	return true;
}

int calls_pack(struct calls_packer *p, struct columns *c, const struct film_call *calls,
	       size_t count)
{
	const uint32_t *order;
	uint64_t *numbers;

	if (!vec_reserve(&p->track_of, count) || !vec_reserve(&p->order, count) ||
	    !vec_reserve(&p->numbers, 5 * count) || !find_tracks(p, calls, count))
		return -ENOMEM;
	order_by_track(p, calls, count);
	order = p->order.at;
	numbers = p->numbers.at;
	columns_begin(c);
	put_tracks(p, c);
	put_column(columns_put, c, numbers, count, calls[order[i]].frame);
	put_column(columns_put_numbers, c, numbers, count, calls[order[i]].depth);
	put_column(columns_put, c, numbers, count, calls[order[i]].cpu);
	put_column(columns_put, c, numbers, count, calls[order[i]].flags);
	if (!put_times(p, c, calls, count))
		return -ENOMEM;
	return columns_end(c);
}

void calls_packer_free(struct calls_packer *p)
{
	map_free(&p->tracks);
	vec_free(&p->track);
	vec_free(&p->track_of);
	vec_free(&p->order);
	vec_free(&p->numbers);
	vec_free(&p->runs.open);
	*p = (struct calls_packer){0};
}
