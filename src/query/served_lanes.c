// SPDX-License-Identifier: Apache-2.0
#include "query/served_lanes.h"

#include <errno.h>
#include <stdlib.h>

#include "film/events.h"
#include "query/slices.h"

static int add_run(void *context, const struct slice *slice, const struct slice_evidence *evidence)
{
	struct served_lanes *lanes = context;
	const struct served_run run = {
		.from = slice->start,
		.to = slice->end,
		.lane = slice->thread,
		.on = slice->on,
	};

	(void)evidence;
	if (slice->kind != SLICE_RUNNING || !run.on)
		return 0;
	return vec_push(&lanes->by_thread, run) && vec_push(&lanes->by_lane, run) ? 0 : -ENOMEM;
}

static int compare(uint32_t a, uint32_t b, const struct served_run *x, const struct served_run *y)
{
	if (a != b)
		return a < b ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static int by_thread_and_time(const void *left, const void *right)
{
	const struct served_run *a = left, *b = right;

	return compare(a->on, b->on, a, b);
}

static int by_lane_and_time(const void *left, const void *right)
{
	const struct served_run *a = left, *b = right;

	return compare(a->lane, b->lane, a, b);
}

/* Of a goroutine's number, of which the table of threads has the lowest 32 bits. */
static uint64_t key_of_number(uint32_t process, uint32_t number)
{
	return (uint64_t)process << 32 | number;
}

static bool index_numbers(struct served_lanes *lanes)
{
	const struct film_thread *threads = lanes->film->threads;

	vec_foreach (&lanes->by_thread, run) {
		const struct film_thread *thread = &threads[run->lane];

		if (!map_put(&lanes->by_number, key_of_number(thread->process, thread->tid),
			     run->lane))
			return false;
	}
	return true;
}

int served_lanes_load(struct served_lanes *lanes, struct film *film, struct fail *why)
{
	int err = 0;

	*lanes = (struct served_lanes){.film = film};
	for (uint32_t event = 0; !err && (event = slices_beside(film, 0, event));)
		err = slices_each(film, event, 0, UINT64_MAX, add_run, lanes, why);
	if (err)
		return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot read the goroutines")
				      : err;
	if (!lanes->by_thread.count)
		return 0;
	lanes->processes = calloc(film->process_count, 1);
	if (!lanes->processes || !index_numbers(lanes))
		return fail_errno(why, -ENOMEM, NULL, "cannot read the goroutines");
	vec_foreach (&lanes->by_thread, run)
		lanes->processes[film->threads[run->on].process] = 1;
	qsort(lanes->by_thread.at, lanes->by_thread.count, sizeof(*lanes->by_thread.at),
	      by_thread_and_time);
	qsort(lanes->by_lane.at, lanes->by_lane.count, sizeof(*lanes->by_lane.at),
	      by_lane_and_time);
	return 0;
}

void served_lanes_free(struct served_lanes *lanes)
{
	vec_free(&lanes->by_thread);
	vec_free(&lanes->by_lane);
	map_free(&lanes->by_number);
	free(lanes->processes);
}

bool served_has_lanes(const struct served_lanes *lanes, const struct film *film,
		      const struct request *request)
{
	return lanes->processes && lanes->processes[film->threads[request->row.thread].process];
}

/*
 * How many of the runs stand before the first one that begins behind a time, in the order of
 * compare; wanted has what they are sorted by, and that time.
 */
static size_t count_up_to(const struct served_run *runs, size_t count,
			  const struct served_run *wanted,
			  int (*compare_runs)(const void *left, const void *right))
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_runs(&runs[middle], wanted) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Of HTTP/2 one goroutine sends the answers to all requests of a connection. */
static bool has_streams(const struct request *request)
{
	return request->row.protocol == FILM_PROTOCOL_HTTP2 ||
	       request->row.protocol == FILM_PROTOCOL_GRPC;
}

static uint32_t lane_of_number(const struct served_lanes *lanes, const struct request *request)
{
	const struct film_thread *thread = &lanes->film->threads[request->row.thread];
	const uint64_t *found =
		map_get(&lanes->by_number,
			key_of_number(thread->process, (uint32_t)request->row.goroutine));

	return found && request->row.goroutine ? (uint32_t)*found : 0;
}

/*
 * The thread was in the system call that sent the first byte of the answer: no other goroutine ran
 * on it. A marker has no answer.
 */
uint32_t served_lane_of(const struct served_lanes *lanes, const struct request *request)
{
	const struct served_run wanted = {
		.on = request->row.answerer,
		.from = request_start(request) + request->row.first,
	};
	const struct served_run *run;
	size_t count;

	if (request->row.role != FILM_REQUEST_SERVED || !request->row.first || !wanted.on ||
	    request->row.protocol == FILM_PROTOCOL_MARKER)
		return 0;
	if (has_streams(request))
		return lane_of_number(lanes, request);
	count = count_up_to(lanes->by_thread.at, lanes->by_thread.count, &wanted,
			    by_thread_and_time);
	run = count ? &lanes->by_thread.at[count - 1] : NULL;
	if (run && run->on == wanted.on && run->to >= wanted.from)
		return run->lane;
	/* uvloop sends once no task runs */
	return lane_of_number(lanes, request);
}

const struct served_run *served_lane_runs(const struct served_lanes *lanes, uint32_t lane,
					  uint64_t from, uint64_t to, size_t *count)
{
	const struct served_run wanted = {.lane = lane, .from = from};
	const struct served_run *runs = lanes->by_lane.at;
	size_t all = lanes->by_lane.count, first, end;

	*count = 0;
	first = count_up_to(runs, all, &wanted, by_lane_and_time);
	/* the one that begins at or before from may reach into it; those of one do not overlap */
	if (first && runs[first - 1].lane == lane && runs[first - 1].to > from)
		first--;
	for (end = first; end < all && runs[end].lane == lane && runs[end].from < to;)
		end++;
	*count = end - first;
	return *count ? &runs[first] : NULL;
}
