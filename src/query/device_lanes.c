// SPDX-License-Identifier: Apache-2.0
/* Reads the works of a film, and sorts them by stream and begin; device_runs.c makes the runs. */
#include "query/device_lanes_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "film/events.h"

const char *device_run_kind_name(enum device_run_kind kind)
{
	static const char *const names[] = {"kernel", "copy", "unknown"};

	return names[kind];
}

/* -- reading ----------------------------------------------------------------------------------- */

static void leave(struct device_adder *a, const struct device_lane_work *work)
{
	a->lanes->left++;
	if (!a->left.end || work->start < a->left.start)
		a->left.start = work->start;
	if (work->end > a->left.end)
		a->left.end = work->end;
}

static int add_work(struct device_adder *a, struct device_lane_work work, uint32_t flags)
{
	/* a hostile film: the duration is longer than the clock */
	if (work.start > work.end) {
		a->lanes->left++;
		return 0;
	}
	if (work.end <= a->lanes->from || work.start >= a->lanes->to || !a->processes[work.process])
		return 0;
	if (work.start < a->lanes->from)
		work.start = a->lanes->from;
	if (work.end > a->lanes->to)
		work.end = a->lanes->to;
	if (work.end > a->end)
		a->end = work.end;
	if (a->works.count + a->lost.all.count >= DEVICE_WORKS_MAX) {
		leave(a, &work);
		return 0;
	}
	if (flags & FILM_WORK_LOST)
		return vec_push(&a->lost.all,
				(struct device_loss){work.start, work.end, work.process})
			       ? 0
			       : -ENOMEM;
	return vec_push(&a->works, work) ? 0 : -ENOMEM;
}

static int add_works(void *context, const struct film_works *rows)
{
	struct device_adder *a = context;
	int err = 0;

	for (size_t i = 0; !err && i < rows->count; i++) {
		const uint64_t end = rows->end[i] + a->offset, start = end - rows->duration[i];
		const bool is_known = !(rows->flags[i] & FILM_WORK_UNSAMPLED);
		const struct device_lane_work work = {
			.start = start,
			.end = end,
			.whole = rows->duration[i],
			.launch = is_known && rows->launched[i] ? start - rows->launched[i] : 0,
			.bytes = rows->bytes[i],
			.process = a->film->threads[rows->thread[i]].process,
			.device = rows->device[i],
			.stream = rows->stream[i],
			.thread = is_known ? rows->thread[i] : 0,
			.name = rows->name[i],
			.is_copy = rows->flags[i] & FILM_WORK_COPY,
		};

		err = add_work(a, work, rows->flags[i]);
	}
	return err;
}

static int by_stream(const struct device_lane_work *a, const struct device_lane_work *b)
{
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return a->stream < b->stream ? -1 : a->stream > b->stream;
}

static int by_stream_and_start(const void *left, const void *right)
{
	const struct device_lane_work *a = left, *b = right;
	int order = by_stream(a, b);

	if (order)
		return order;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

/* What had no room may be of any process that has works. */
static bool lose_left(struct device_adder *a)
{
	const struct device_lane_work *before = NULL;

	vec_foreach (&a->works, work) {
		if (!a->left.end || (before && before->process == work->process))
			continue;
		a->left.process = work->process;
		if (!vec_push(&a->lost.all, a->left))
			return false;
		before = work;
	}
	return true;
}

/* -- streams ----------------------------------------------------------------------------------- */

/* Null: no room, which *left is true for, or no memory. */
static struct device_stream *find_stream(struct device_adder *a, const struct device_lane_work *of,
					 bool *left)
{
	struct device_lanes *lanes = a->lanes;
	const struct film_process *process = &a->film->processes[of->process];
	const uint64_t key = hash_u64((uint64_t)process->pid << 32 | of->stream) ^
			     hash_u64(of->device) ^ hash_bytes(a->host, strlen(a->host));
	const uint64_t *known = map_get(&lanes->known_streams, key);
	struct device_stream new = {
		.pid = process->pid, .device = of->device, .stream = of->stream};

	*left = !known && lanes->streams.count >= DEVICE_STREAMS_MAX;
	if (known)
		return &lanes->streams.at[*known];
	if (*left)
		return NULL;
	new.host = name_pool_add(&lanes->pool, a->host);
	new.process = name_pool_add(&lanes->pool, process->comm);
	if (!new.host || !new.process ||
	    !map_put(&lanes->known_streams, key, lanes->streams.count) ||
	    !vec_push(&lanes->streams, new))
		return NULL;
	return vec_last(&lanes->streams);
}

static int make_streams(struct device_adder *a)
{
	bool is_done = true, left;

	for (size_t i = 0, end; is_done && i < a->works.count; i = end) {
		struct device_making m = {.a = a};

		for (end = i;
		     end < a->works.count && !by_stream(&a->works.at[i], &a->works.at[end]);)
			end++;
		m.stream = find_stream(a, &a->works.at[i], &left);
		if (left) {
			a->lanes->left += end - i;
			continue;
		}
		m.lost = device_losses_of(&a->lost, a->works.at[i].process, &m.lost_count);
		is_done = m.stream && device_runs_make(&m, &a->works.at[i], end - i);
	}
	return is_done ? 0 : -ENOMEM;
}

/* -- the whole --------------------------------------------------------------------------------- */

static int begin(struct device_adder *a, const struct filter *filter, struct fail *why)
{
	const struct film *film = a->film;
	struct filter_kept kept = {0};
	int err = filter_apply(filter, film, &kept, why);

	if (err) {
		filter_kept_free(&kept);
		return err;
	}
	a->processes = calloc(film->process_count + 1ull, 1);
	a->spent = calloc((film->frame_count + 1ull) * 2, sizeof(*a->spent));
	for (uint32_t i = 1; a->processes && i < film->thread_count; i++)
		a->processes[film->threads[i].process] |= kept.threads[i];
	filter_kept_free(&kept);
	return a->processes && a->spent
		       ? 0
		       : fail_errno(why, -ENOMEM, NULL, "cannot make the lanes of devices");
}

static int make(struct device_adder *a)
{
	struct device_filmed filmed = {.host = name_pool_add(&a->lanes->pool, a->host)};
	int err = 0;

	if (a->works.count)
		qsort(a->works.at, a->works.count, sizeof(*a->works.at), by_stream_and_start);
	if (!filmed.host || !lose_left(a))
		return -ENOMEM;
	device_losses_join(&a->lost);
	if (a->works.count)
		err = make_streams(a);
	filmed.start = a->start;
	filmed.end = a->end;
	return err || vec_push(&a->lanes->filmed, filmed) ? err : -ENOMEM;
}

int device_lanes_add(struct device_lanes *lanes, struct film *film, const char *host,
		     const struct filter *filter, uint64_t from, uint64_t to, struct fail *why)
{
	const uint64_t offset = (uint64_t)film->info.wall_offset;
	const uint64_t film_end = film->info.end + 1; /* its last moment is one of its own */
	struct device_adder a = {
		.lanes = lanes,
		.film = film,
		.host = host,
		.offset = offset,
		.start = (from > film->info.start ? from : film->info.start) + offset,
		.end = (to < film_end ? to : film_end) + offset,
	};
	uint32_t event = film_find_event(film, event_type(EVENT_GPU_LANES)->name);
	int err;

	if (filter->focus || filter->ignore)
		return fail(why, -EINVAL, "ask for a flame graph of the same time and processes",
			    "lanes are of whole streams: focus and ignore choose stacks");
	if (!event || from >= to || a.start >= a.end)
		return 0;
	err = begin(&a, filter, why);
	if (!err) {
		err = film_each_works_in(film, event, from, to, add_works, &a, why);
		if (!err)
			err = make(&a);
		if (err == -ENOMEM)
			fail_errno(why, err, NULL, "cannot make the lanes of devices");
	}
	free(a.processes);
	free(a.spent);
	vec_free(&a.touched);
	vec_free(&a.works);
	device_losses_free(&a.lost);
	return err;
}

static int by_number(const void *left, const void *right)
{
	const struct device_stream *a = left, *b = right;
	int order = strcmp(a->host, b->host);

	if (order)
		return order;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return a->stream < b->stream ? -1 : a->stream > b->stream;
}

static int by_begin(const void *left, const void *right)
{
	const struct device_filmed *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

static int run_by_start(const void *left, const void *right)
{
	const struct device_run *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* ns of a host that films cover, which are sorted by their begin. */
static uint64_t filmed_of(const struct device_lanes *lanes, const char *host)
{
	uint64_t until = 0, sum = 0;

	vec_foreach (&lanes->filmed, filmed) {
		if (strcmp(filmed->host, host) != 0 || filmed->end <= until)
			continue;
		sum += filmed->end - (filmed->start > until ? filmed->start : until);
		until = filmed->end;
	}
	return sum;
}

void device_lanes_end(struct device_lanes *lanes)
{
	if (lanes->streams.count)
		qsort(lanes->streams.at, lanes->streams.count, sizeof(*lanes->streams.at),
		      by_number);
	if (lanes->filmed.count)
		qsort(lanes->filmed.at, lanes->filmed.count, sizeof(*lanes->filmed.at), by_begin);
	vec_foreach (&lanes->streams, stream) {
		uint64_t filmed = filmed_of(lanes, stream->host), all = lanes->to - lanes->from;
		uint64_t known = stream->kernels_ns + stream->copies_ns + stream->unknown_ns;

		stream->idle_ns = filmed > known ? filmed - known : 0;
		known += stream->idle_ns;
		stream->unknown_ns += all > known ? all - known : 0;
		/* films come the newest first */
		if (stream->runs.count)
			qsort(stream->runs.at, stream->runs.count, sizeof(*stream->runs.at),
			      run_by_start);
	}
	lanes->is_cut |= lanes->left > 0;
}

void device_lanes_free(struct device_lanes *lanes)
{
	vec_foreach (&lanes->streams, stream)
		vec_free(&stream->runs);
	vec_free(&lanes->streams);
	vec_free(&lanes->names);
	vec_free(&lanes->threads);
	vec_free(&lanes->filmed);
	map_free(&lanes->known_streams);
	map_free(&lanes->known_names);
	map_free(&lanes->known_threads);
	name_pool_free(&lanes->pool);
	*lanes = (struct device_lanes){0};
}
