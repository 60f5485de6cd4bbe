// SPDX-License-Identifier: Apache-2.0
/*
 * Divides the time of a stream:
 *
 *	works	  AAAAA     b c d        EEEEEEE
 *			      (launched beside E: f)
 *	runs	  AAAAA     bbbbb        EEEEEEE
 *		  1 work    3 works      2 works
 */
#include <string.h>

#include "base/saturated.h"
#include "query/device_lanes_private.h"
#include "query/objects.h"

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

static bool name_work(struct device_adder *a, uint32_t frame, bool is_copy, uint32_t *place)
{
	return find_name(a->lanes, object_name(a->film, frame),
			 is_copy ? DEVICE_RUN_COPY : DEVICE_RUN_KERNEL, place);
}

/* The place of a thread and 1; 0: it is not known. */
static bool find_thread(struct device_adder *a, uint32_t id, uint32_t *place)
{
	const struct film_thread *thread = &a->film->threads[id];
	const struct film_process *process = &a->film->processes[thread->process];
	struct device_thread new = {.pid = process->pid, .tid = thread->tid};
	const uint64_t key = hash_u64((uint64_t) new.pid << 32 | new.tid) ^
			     hash_bytes(thread->comm, strlen(thread->comm)) ^
			     hash_u64(hash_bytes(a->host, strlen(a->host)));
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

static uint64_t pixel_of(const struct device_making *m, uint64_t time)
{
	return (time - m->a->lanes->from) / m->a->lanes->pixel;
}

static bool put_run(struct device_making *m, struct device_run run)
{
	if (m->a->lanes->run_count >= DEVICE_RUNS_MAX) {
		m->a->lanes->is_cut = true;
		return true;
	}
	m->a->lanes->run_count++;
	return vec_push(&m->stream->runs, run);
}

/* One kernel or copy that has a run for itself, from start on. */
static bool put_single(struct device_making *m, const struct device_lane_work *work, uint64_t start)
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
static bool close_run(struct device_making *m)
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

static bool add_to_open(struct device_making *m, const struct device_lane_work *work)
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
static void add_beside(struct device_making *m, const struct device_lane_work *work)
{
	struct device_run *last = m->stream->runs.count ? vec_last(&m->stream->runs) : NULL;

	if (!last || !last->count)
		return;
	last->count++;
	last->bytes = add_saturated(last->bytes, work->bytes);
	last->busy = last->end - last->start;
	last->launch = last->thread = 0;
}

static bool make_run(struct device_making *m, const struct device_lane_work *work)
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
static bool is_seen(const struct device_making *m, uint64_t start, uint64_t end)
{
	const struct device_run *last = m->open.count		? &m->open
					: m->stream->runs.count ? vec_last(&m->stream->runs)
								: NULL;

	return end - start < m->a->lanes->pixel && last &&
	       pixel_of(m, last->end > last->start ? last->end - 1 : last->end) >=
		       pixel_of(m, start);
}

/* Nothing ran in [start, end), as far as is known. */
static bool make_gap(struct device_making *m, uint64_t start, uint64_t end)
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

static void add_sums(struct device_making *m, const struct device_lane_work *work)
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

bool device_runs_make(struct device_making *m, const struct device_lane_work *works, size_t count)
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
