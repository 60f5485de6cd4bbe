// SPDX-License-Identifier: Apache-2.0
/*
 * Reads the works of a film, sorts them by stream and begin, and divides the time of each stream:
 *
 *	works	  AAAAA     b c d        EEEEEEE
 *			      (launched beside E: f)
 *	runs	  AAAAA     bbbbb        EEEEEEE
 *		  1 work    3 works      2 works
 */
#include "query/device_lanes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturated.h"
#include "film/events.h"
#include "query/objects.h"

/* A kernel or copy, or a time in which records of a process were lost. ns since 1970. */
struct work {
	uint64_t start, end; /* within the time that is asked for */
	uint64_t whole;	     /* its length, also outside of that */
	uint64_t launch, bytes;
	uint32_t process, device, stream;
	uint32_t thread, name; /* of the film; 0: not known */
	bool is_copy;
};

struct adder {
	struct device_lanes *lanes;
	const struct film *film;
	const char *host;
	uint64_t offset;     /* from the film's clock to ns since 1970, modulo 2^64 */
	uint64_t start, end; /* what the film has of the time */
	uint8_t *processes;  /* that are kept */
	vec(struct work) works;
	vec(struct work) lost;
	struct work left; /* from the first to the last one that has no room */

	/* while a run is made: ns of each name, twice the frame and 1 for a copy */
	uint64_t *spent;
	vec(uint32_t) touched;
};

/* A stream while its runs are made: its works come in the order of their begins. */
struct making {
	struct adder *a;
	struct device_stream *stream;
	uint64_t until, kernels_until; /* the last end so far: of all, of kernels */
	uint64_t all_ns;
	const struct work *lost; /* of its process, without overlaps */
	size_t lost_count;
	struct device_run open; /* of works shorter than a pixel; count 0: none is open */
	struct work single;	/* the first one of these */
};

const char *device_run_kind_name(enum device_run_kind kind)
{
	static const char *const names[] = {"kernel", "copy", "unknown"};

	return names[kind];
}

/* -- reading ----------------------------------------------------------------------------------- */

static void leave(struct adder *a, const struct work *work)
{
	a->lanes->left++;
	if (!a->left.end || work->start < a->left.start)
		a->left.start = work->start;
	if (work->end > a->left.end)
		a->left.end = work->end;
}

static int add_work(struct adder *a, struct work work, uint32_t flags)
{
	if (work.end <= a->lanes->from || work.start >= a->lanes->to || !a->processes[work.process])
		return 0;
	if (work.start < a->lanes->from)
		work.start = a->lanes->from;
	if (work.end > a->lanes->to)
		work.end = a->lanes->to;
	if (work.end > a->end)
		a->end = work.end;
	if (a->works.count + a->lost.count >= DEVICE_WORKS_MAX) {
		leave(a, &work);
		return 0;
	}
	if (flags & FILM_WORK_LOST)
		return vec_push(&a->lost, work) ? 0 : -ENOMEM;
	return vec_push(&a->works, work) ? 0 : -ENOMEM;
}

static int add_works(void *context, const struct film_works *rows)
{
	struct adder *a = context;
	int err = 0;

	for (size_t i = 0; !err && i < rows->count; i++) {
		const uint64_t end = rows->end[i] + a->offset, start = end - rows->duration[i];
		const bool is_known = !(rows->flags[i] & FILM_WORK_UNSAMPLED);
		const struct work work = {
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

static int by_stream(const struct work *a, const struct work *b)
{
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return a->stream < b->stream ? -1 : a->stream > b->stream;
}

static int by_stream_and_start(const void *left, const void *right)
{
	const struct work *a = left, *b = right;
	int order = by_stream(a, b);

	if (order)
		return order;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

/* What had no room may be of any process that has works. */
static bool lose_left(struct adder *a)
{
	const struct work *before = NULL;

	vec_foreach (&a->works, work) {
		if (!a->left.end || (before && before->process == work->process))
			continue;
		a->left.process = work->process;
		if (!vec_push(&a->lost, a->left))
			return false;
		before = work;
	}
	return true;
}

/* Times that overlap become one, of each process. */
static void join_lost(struct adder *a)
{
	size_t count = 0;

	vec_foreach (&a->lost, lost)
		lost->device = lost->stream = 0;
	if (a->lost.count)
		qsort(a->lost.at, a->lost.count, sizeof(*a->lost.at), by_stream_and_start);
	vec_foreach (&a->lost, lost) {
		struct work *before = count ? &a->lost.at[count - 1] : NULL;

		if (!before || before->process != lost->process || before->end < lost->start)
			a->lost.at[count++] = *lost;
		else if (before->end < lost->end)
			before->end = lost->end;
	}
	a->lost.count = count;
}

/* -- names ------------------------------------------------------------------------------------- */

/* The place of a name; false: no memory. */
static bool find_name(struct device_lanes *lanes, const char *text, enum device_run_kind kind,
		      uint32_t *place)
{
	const uint64_t key = hash_u64(hash_bytes(text, strlen(text)) + kind);
	const uint64_t *known = map_get(&lanes->known_names, key);
	struct device_name name = {.kind = kind};

	if (!known) {
		name.name = name_pool_add(&lanes->pool, text);
		if (!name.name || !map_put(&lanes->known_names, key, lanes->names.count) ||
		    !vec_push(&lanes->names, name))
			return false;
		known = map_get(&lanes->known_names, key);
	}
	*place = (uint32_t)*known;
	return true;
}

static bool name_work(struct adder *a, uint32_t frame, bool is_copy, uint32_t *place)
{
	return find_name(a->lanes, object_name(a->film, frame),
			 is_copy ? DEVICE_RUN_COPY : DEVICE_RUN_KERNEL, place);
}

/* The place of a thread and 1; 0: it is not known. */
static bool find_thread(struct adder *a, uint32_t id, uint32_t *place)
{
	const struct film_thread *thread = &a->film->threads[id];
	const struct film_process *process = &a->film->processes[thread->process];
	struct device_thread new = {.pid = process->pid, .tid = thread->tid};
	const uint64_t key = hash_u64((uint64_t) new.pid << 32 | new.tid) ^
			     hash_bytes(thread->comm, strlen(thread->comm));
	const uint64_t *known = map_get(&a->lanes->known_threads, key);

	*place = 0;
	if (!id)
		return true;
	if (!known) {
		new.comm = name_pool_add(&a->lanes->pool, thread->comm);
		new.process = name_pool_add(&a->lanes->pool, process->comm);
		if (!new.comm || !new.process || !vec_push(&a->lanes->threads, new) ||
		    !map_put(&a->lanes->known_threads, key, a->lanes->threads.count))
			return false;
		known = map_get(&a->lanes->known_threads, key);
	}
	*place = (uint32_t)*known;
	return true;
}

/* -- runs -------------------------------------------------------------------------------------- */

static uint64_t pixel_of(const struct making *m, uint64_t time)
{
	return (time - m->a->lanes->from) / m->a->lanes->pixel;
}

static bool put_run(struct making *m, struct device_run run)
{
	if (m->a->lanes->run_count >= DEVICE_RUNS_MAX) {
		m->a->lanes->is_cut = true;
		return true;
	}
	m->a->lanes->run_count++;
	return vec_push(&m->stream->runs, run);
}

/* One kernel or copy that has a run for itself, from start on. */
static bool put_single(struct making *m, const struct work *work, uint64_t start)
{
	struct device_run run = {
		.start = start,
		.end = work->end,
		.busy = work->whole,
		.dominant = work->end - start,
		.launch = work->launch,
		.bytes = work->bytes,
		.count = 1,
	};

	return name_work(m->a, work->name, work->is_copy, &run.name) &&
	       find_thread(m->a, work->thread, &run.thread) && put_run(m, run);
}

/* Names the open run by what ran longest in it. */
static bool close_run(struct making *m)
{
	struct device_run *open = &m->open;
	uint32_t longest = 0;
	bool is_done;

	if (!open->count)
		return true;
	vec_foreach (&m->a->touched, which) {
		if (m->a->spent[*which] >= open->dominant) {
			open->dominant = m->a->spent[*which];
			longest = *which;
		}
		m->a->spent[*which] = 0;
	}
	m->a->touched.count = 0;
	/* several of one name may have run at once */
	if (open->dominant > open->busy)
		open->dominant = open->busy;
	if (open->count == 1)
		is_done = put_single(m, &m->single, open->start);
	else
		is_done =
			name_work(m->a, longest / 2, longest & 1, &open->name) && put_run(m, *open);
	*open = (struct device_run){0};
	return is_done;
}

static bool add_to_open(struct making *m, const struct work *work)
{
	struct device_run *open = &m->open;
	uint64_t start = work->start > m->until ? work->start : m->until;
	uint32_t which = work->name * 2 + work->is_copy;

	if (!open->count) {
		m->single = *work;
		open->start = open->end = start;
	}
	open->count++;
	open->bytes = add_saturated(open->bytes, work->bytes);
	if (work->end > start) {
		open->busy += work->end - start;
		open->end = work->end;
	}
	if (!m->a->spent[which] && !vec_push(&m->a->touched, which))
		return false;
	/* one of no length has a name, too */
	m->a->spent[which] += work->end - work->start + !m->a->spent[which];
	return true;
}

/* It ran beside the last one, for no longer: that run has it. */
static void add_beside(struct making *m, const struct work *work)
{
	struct device_run *last = m->stream->runs.count ? vec_last(&m->stream->runs) : NULL;

	if (!last || !last->count)
		return;
	last->count++;
	last->bytes = add_saturated(last->bytes, work->bytes);
	last->busy = last->end - last->start;
	last->launch = last->thread = 0;
}

static bool make_run(struct making *m, const struct work *work)
{
	const bool is_short = work->end - work->start < m->a->lanes->pixel;
	const bool is_open = m->open.count;

	if (is_open && ((is_short && pixel_of(m, m->open.start) == pixel_of(m, work->start)) ||
			work->end <= m->until))
		return add_to_open(m, work);
	if (!is_open && work->end <= m->until && work->start < m->until) {
		add_beside(m, work);
		return true;
	}
	if (!close_run(m))
		return false;
	if (is_short)
		return add_to_open(m, work);
	return put_single(m, work, work->start > m->until ? work->start : m->until);
}

/* Whether a short time has a run in its pixel already, so that it needs none of its own. */
static bool is_seen(const struct making *m, uint64_t start, uint64_t end)
{
	const struct device_run *last = m->open.count		? &m->open
					: m->stream->runs.count ? vec_last(&m->stream->runs)
								: NULL;

	return end - start < m->a->lanes->pixel && last &&
	       pixel_of(m, last->end > last->start ? last->end - 1 : last->end) >=
		       pixel_of(m, start);
}

/* Nothing ran in [start, end), as far as is known. */
static bool make_gap(struct making *m, uint64_t start, uint64_t end)
{
	struct device_run run = {0};

	while (m->lost_count && m->lost->end <= start) {
		m->lost++;
		m->lost_count--;
	}
	for (size_t i = 0; i < m->lost_count && m->lost[i].start < end; i++) {
		run.start = m->lost[i].start > start ? m->lost[i].start : start;
		run.end = m->lost[i].end < end ? m->lost[i].end : end;
		if (run.end <= run.start)
			continue;
		m->stream->unknown_ns += run.end - run.start;
		if (is_seen(m, run.start, run.end))
			continue;
		if (!close_run(m) || !find_name(m->a->lanes, "", DEVICE_RUN_UNKNOWN, &run.name) ||
		    !put_run(m, run))
			return false;
	}
	return true;
}

static void add_sums(struct making *m, const struct work *work)
{
	struct device_stream *stream = m->stream;
	uint64_t start = work->start > m->kernels_until ? work->start : m->kernels_until;

	stream->kernels += !work->is_copy;
	stream->copies += work->is_copy;
	stream->bytes = add_saturated(stream->bytes, work->bytes);
	if (!work->is_copy && work->end > start) {
		stream->kernels_ns += work->end - start;
		m->kernels_until = work->end;
	}
	if (work->end > m->until) {
		m->all_ns += work->end - (work->start > m->until ? work->start : m->until);
		m->until = work->end;
	}
}

static bool make_runs(struct making *m, const struct work *works, size_t count)
{
	const uint64_t kernels = m->stream->kernels_ns;
	bool is_done = true;

	m->until = m->kernels_until = m->a->start;
	for (size_t i = 0; is_done && i < count; i++) {
		if (works[i].start > m->until)
			is_done = make_gap(m, m->until, works[i].start);
		is_done = is_done && make_run(m, &works[i]);
		add_sums(m, &works[i]);
	}
	m->stream->copies_ns += m->all_ns - (m->stream->kernels_ns - kernels);
	m->a->lanes->works += count;
	return is_done && make_gap(m, m->until, m->a->end) && close_run(m);
}

/* -- streams ----------------------------------------------------------------------------------- */

/* Null: no room, which *left is true for, or no memory. */
static struct device_stream *find_stream(struct adder *a, const struct work *of, bool *left)
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

/* Lost times are sorted by process. */
static void find_lost(struct making *m, uint32_t process)
{
	const struct adder *a = m->a;
	size_t first = 0, end;

	while (first < a->lost.count && a->lost.at[first].process < process)
		first++;
	for (end = first; end < a->lost.count && a->lost.at[end].process == process;)
		end++;
	m->lost_count = end - first;
	m->lost = m->lost_count ? &a->lost.at[first] : NULL;
}

static int make_streams(struct adder *a)
{
	bool is_done = true, left;

	for (size_t i = 0, end; is_done && i < a->works.count; i = end) {
		struct making m = {.a = a};

		for (end = i;
		     end < a->works.count && !by_stream(&a->works.at[i], &a->works.at[end]);)
			end++;
		m.stream = find_stream(a, &a->works.at[i], &left);
		if (left) {
			a->lanes->left += end - i;
			continue;
		}
		find_lost(&m, a->works.at[i].process);
		is_done = m.stream && make_runs(&m, &a->works.at[i], end - i);
	}
	return is_done ? 0 : -ENOMEM;
}

/* -- the whole --------------------------------------------------------------------------------- */

static int begin(struct adder *a, const struct filter *filter, struct fail *why)
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

static int make(struct adder *a)
{
	struct device_filmed filmed = {.host = name_pool_add(&a->lanes->pool, a->host)};
	int err = 0;

	if (a->works.count)
		qsort(a->works.at, a->works.count, sizeof(*a->works.at), by_stream_and_start);
	if (!filmed.host || !lose_left(a))
		return -ENOMEM;
	join_lost(a);
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
	struct adder a = {
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
		err = film_each_works(film, event, from, UINT64_MAX, add_works, &a, why);
		if (!err)
			err = make(&a);
		if (err == -ENOMEM)
			fail_errno(why, err, NULL, "cannot make the lanes of devices");
	}
	free(a.processes);
	free(a.spent);
	vec_free(&a.touched);
	vec_free(&a.works);
	vec_free(&a.lost);
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
