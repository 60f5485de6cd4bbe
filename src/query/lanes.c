// SPDX-License-Identifier: Apache-2.0
#include "query/lanes.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturated.h"

enum {
	LANE_UNKNOWN = 0, /* not yet looked up */
	LANE_NONE = 1,	  /* not wanted, or there is no room for it */
	LANE_FIRST = 2,	  /* and more: its index */
};

/* Of the key of a goroutine's lane: a thread may have its number. */
#define GOROUTINE 0x9e3779b97f4a7c15ull

struct adder {
	struct lanes *lanes;
	const struct film *film;
	const char *host;
	bool are_lanes;
	const char *kind; /* of each lane */
	struct filter_kept kept;
	uint32_t *lane_of; /* by thread */
	struct unlinked unlinked;
	uint64_t offset; /* from the film's clock to ns since 1970, modulo 2^64 */
	int err;
};

static bool is_wanted(const struct adder *a, uint32_t pid, uint32_t tid)
{
	const struct lanes *lanes = a->lanes;

	for (size_t i = 0; i < lanes->of_count; i++)
		if (lanes->of[i].pid == pid && lanes->of[i].tid == tid &&
		    lanes->of[i].is_goroutine == a->are_lanes)
			return true;
	return !lanes->of;
}

/* The index of a new lane, and LANE_FIRST. */
static uint32_t add_lane(struct adder *a, const struct film_thread *thread, uint64_t key)
{
	struct lanes *lanes = a->lanes;
	const struct film_process *process = &a->film->processes[thread->process];
	struct lane lane = {.pid = process->pid,
			    .tid = thread->tid,
			    .is_goroutine = a->are_lanes,
			    .kind = a->kind,
			    .first = UINT64_MAX};
	char service[LANE_SERVICE_SIZE] = "";

	if (lanes->all.count >= LANES_MAX) {
		lanes->is_cut = true;
		return LANE_NONE;
	}
	lane.host = name_pool_add(&lanes->names, a->host);
	lane.comm = name_pool_add(&lanes->names, thread->comm);
	lane.process = name_pool_add(&lanes->names, process->comm);
	lane.command = name_pool_add(&lanes->names, process->command);
	if (lanes->service_of)
		lanes->service_of(lanes->context, process, service);
	lane.service = name_pool_add(&lanes->names, service);
	if (!lane.host || !lane.comm || !lane.process || !lane.command || !lane.service ||
	    !vec_push(&lanes->all, lane) || !map_put(&lanes->known, key, lanes->all.count - 1)) {
		a->err = -ENOMEM;
		return LANE_NONE;
	}
	return (uint32_t)(lanes->all.count - 1 + LANE_FIRST);
}

static uint32_t find_lane(struct adder *a, uint32_t id)
{
	const struct film_thread *thread = &a->film->threads[id];
	uint32_t pid = a->film->processes[thread->process].pid;
	uint64_t key = hash_u64((uint64_t)pid << 32 | thread->tid) ^
		       hash_bytes(a->host, strlen(a->host)) ^ (a->are_lanes ? GOROUTINE : 0);
	const uint64_t *known;

	if (!a->kept.threads[id] || !is_wanted(a, pid, thread->tid))
		return LANE_NONE;
	known = map_get(&a->lanes->known, key);
	return known ? (uint32_t)*known + LANE_FIRST : add_lane(a, thread, key);
}

/* Adds the ns of [start, end) to the steps that they lie in. */
static void add_load(const struct lanes *lanes, uint64_t *load, uint64_t start, uint64_t end)
{
	uint64_t step = lanes->step;

	start = start > lanes->from ? start : lanes->from;
	end = end < lanes->to ? end : lanes->to;
	for (size_t i = start < end ? (start - lanes->from) / step : lanes->steps;
	     i < lanes->steps && start < end; i++) {
		uint64_t until = lanes->from + step * (i + 1);

		until = until < end ? until : end;
		load[i] += until - start;
		start = until;
	}
}

static int add_state(struct lanes *lanes, const struct slice *slice)
{
	struct lane_state *state = &lanes->states[slice->kind];
	uint64_t length = slice->end - slice->start;

	state->count++;
	state->sum = add_saturated(state->sum, length);
	state->longest = length > state->longest ? length : state->longest;
	return latency_add(&state->lengths, length, 1) ? 0 : -ENOMEM;
}

static int add_run(struct lanes *lanes, struct lane *lane, const struct slice *slice,
		   uint64_t start)
{
	size_t before = lane->runs.all.count;

	if (!lanes->pixel || lanes->run_count >= LANES_RUNS_MAX) {
		lanes->are_runs_cut |= lanes->pixel != 0;
		return 0;
	}
	if (!lane_runs_add(&lane->runs, lanes->pixel, start, start + (slice->end - slice->start),
			   slice->kind))
		return -ENOMEM;
	lanes->run_count += lane->runs.all.count - before;
	return 0;
}

static int add_slice(void *context, const struct slice *slice,
		     const struct slice_evidence *evidence)
{
	struct adder *a = context;
	struct lanes *lanes = a->lanes;
	uint64_t length = slice->end - slice->start, start = slice->start + a->offset;
	uint32_t index = a->lane_of[slice->thread];
	struct lane *lane;

	(void)evidence;
	if (index == LANE_UNKNOWN)
		index = a->lane_of[slice->thread] = find_lane(a, slice->thread);
	if (index == LANE_NONE)
		return a->err;
	lane = &lanes->all.at[index - LANE_FIRST];
	if (!a->are_lanes)
		unlinked_add(&a->unlinked, a->film, slice->thread, slice->stack);
	lane->ns[slice->kind] = add_saturated(lane->ns[slice->kind], length);
	lane->first = start < lane->first ? start : lane->first;
	lane->last = start + length > lane->last ? start + length : lane->last;
	lane->slices[slice->kind]++;
	lanes->slices++;
	if (lanes->steps && slice->kind == SLICE_ON_CPU)
		add_load(lanes, lanes->running, start, start + length);
	else if (lanes->steps && !a->are_lanes &&
		 (slice->kind == SLICE_WOKEN || slice->kind == SLICE_PREEMPTED))
		add_load(lanes, lanes->ready, start, start + length);
	if (lanes->cpus.pixel && slice->kind == SLICE_ON_CPU &&
	    !lane_cpus_add(&lanes->cpus, slice->cpu, index - LANE_FIRST, start, start + length))
		a->err = -ENOMEM;
	if (!a->err && lanes->wants_states)
		a->err = add_state(lanes, slice);
	if (!a->err)
		a->err = add_run(lanes, lane, slice, start);
	return a->err;
}

static void add_unlinked(struct adder *a)
{
	for (uint32_t i = 1; i < a->film->thread_count; i++)
		if (a->lane_of[i] >= LANE_FIRST)
			a->lanes->all.at[a->lane_of[i] - LANE_FIRST].unlinked |=
				a->unlinked.of_process[a->film->threads[i].process];
}

static int begin_load(struct lanes *lanes)
{
	if (!lanes->steps || lanes->running)
		return 0;
	lanes->step = (lanes->to - lanes->from + lanes->steps - 1) / lanes->steps;
	lanes->running = calloc(lanes->steps, sizeof(*lanes->running));
	lanes->ready = calloc(lanes->steps, sizeof(*lanes->ready));
	return lanes->running && lanes->ready ? 0 : -ENOMEM;
}

int lanes_add(struct lanes *lanes, struct film *film, uint32_t event, const char *host,
	      const struct filter *filter, uint64_t from, uint64_t to, struct fail *why)
{
	struct adder a = {.lanes = lanes, .film = film, .host = host};
	int err;

	if (filter->focus || filter->ignore)
		return fail(why, -EINVAL, "ask for a flame graph of the same time and threads",
			    "lanes are of whole threads: focus and ignore choose stacks");
	a.are_lanes = slices_are_of_lanes(film, event);
	a.kind = slices_lane(film, event);
	a.offset = (uint64_t)film->info.wall_offset;
	lanes->cpus.from = lanes->from;
	a.err = begin_load(lanes);
	a.lane_of = calloc(film->thread_count + 1ull, sizeof(*a.lane_of));
	if (!a.lane_of || (!a.are_lanes && unlinked_begin(film, &a.unlinked)))
		a.err = -ENOMEM;
	err = a.err;
	if (!err)
		err = filter_apply(filter, film, &a.kept, why);
	if (!err)
		err = slices_each(film, event, from, to, add_slice, &a, why);
	if (!err && !a.are_lanes)
		add_unlinked(&a);
	/* a run does not reach from one film into the next */
	vec_foreach (&lanes->all, lane)
		if (!err && !lane_runs_end(&lane->runs))
			err = a.err = -ENOMEM;
	unlinked_free(&a.unlinked);
	free(a.lane_of);
	filter_kept_free(&a.kept);
	return a.err ? fail_errno(why, a.err, NULL, "cannot make the lanes of threads") : err;
}

static int by_start(const void *a, const void *b)
{
	const struct lane_run *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

int lanes_end(struct lanes *lanes)
{
	vec_foreach (&lanes->all, lane) {
		if (!lane_runs_end(&lane->runs))
			return -ENOMEM;
		/* films come the newest first */
		if (lane->runs.all.count)
			qsort(lane->runs.all.at, lane->runs.all.count, sizeof(*lane->runs.all.at),
			      by_start);
	}
	return lane_cpus_end(&lanes->cpus) ? 0 : -ENOMEM;
}

void lanes_free(struct lanes *lanes)
{
	vec_foreach (&lanes->all, lane)
		lane_runs_free(&lane->runs);
	for (unsigned int kind = 0; kind < SLICE_KINDS; kind++)
		latency_free(&lanes->states[kind].lengths);
	free(lanes->running);
	free(lanes->ready);
	vec_free(&lanes->all);
	map_free(&lanes->known);
	name_pool_free(&lanes->names);
	lane_cpus_free(&lanes->cpus);
	*lanes = (struct lanes){0};
}

/* A CPU, a pixel and a thread in one number. */
static_assert(LANES_MAX <= 1 << 20 && LANE_CPUS_PIXELS_MAX < 1 << 20, "keys have room for both");

static uint64_t pixel_of(const struct lane_cpus *cpus, uint64_t time)
{
	uint64_t pixel = time > cpus->from ? (time - cpus->from) / cpus->pixel : 0;

	return pixel < LANE_CPUS_PIXELS_MAX ? pixel : LANE_CPUS_PIXELS_MAX;
}

static bool has_room(struct lane_cpus *cpus)
{
	bool has = cpus->runs.count + cpus->shares.count < LANE_CPUS_RUNS_MAX;

	cpus->is_cut |= !has;
	return has;
}

static void add_to(struct cpu_run *share, const struct cpu_run *stay)
{
	share->start = stay->start < share->start ? stay->start : share->start;
	share->end = stay->end > share->end ? stay->end : share->end;
	share->dominant += stay->dominant;
	share->count++;
}

bool lane_cpus_add(struct lane_cpus *cpus, uint32_t cpu, uint32_t thread, uint64_t start,
		   uint64_t end)
{
	const struct cpu_run stay = {start, end, end - start, cpu, thread, 1};
	uint64_t key = (uint64_t)cpu << 40 | pixel_of(cpus, start) << 20 | thread, *known;

	if (end - start >= cpus->pixel)
		return !has_room(cpus) || vec_push(&cpus->runs, stay);
	known = map_get(&cpus->known, key);
	if (known) {
		add_to(&cpus->shares.at[*known], &stay);
		return true;
	}
	return !has_room(cpus) ||
	       (map_put(&cpus->known, key, cpus->shares.count) && vec_push(&cpus->shares, stay));
}

static int by_time(const void *a, const void *b)
{
	const struct cpu_run *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* All shares of a pixel become one run. */
static bool end_shares(struct lane_cpus *cpus)
{
	size_t first = cpus->runs.count;

	for (size_t i = 0; i < cpus->shares.count; i++) {
		const struct cpu_run *share = &cpus->shares.at[i];
		struct cpu_run *run = cpus->runs.count > first ? vec_last(&cpus->runs) : NULL;

		if (!run || run->cpu != share->cpu ||
		    pixel_of(cpus, run->start) != pixel_of(cpus, share->start)) {
			if (!vec_push(&cpus->runs, *share))
				return false;
			continue;
		}
		run->end = share->end > run->end ? share->end : run->end;
		run->count += share->count;
		if (share->dominant > run->dominant) {
			run->dominant = share->dominant;
			run->thread = share->thread;
		}
	}
	return true;
}

bool lane_cpus_end(struct lane_cpus *cpus)
{
	bool is_done;

	if (cpus->shares.count)
		qsort(cpus->shares.at, cpus->shares.count, sizeof(*cpus->shares.at), by_time);
	is_done = end_shares(cpus);
	vec_free(&cpus->shares);
	map_free(&cpus->known);
	if (cpus->runs.count)
		qsort(cpus->runs.at, cpus->runs.count, sizeof(*cpus->runs.at), by_time);
	return is_done;
}

void lane_cpus_free(struct lane_cpus *cpus)
{
	vec_free(&cpus->runs);
	vec_free(&cpus->shares);
	map_free(&cpus->known);
}

static bool open_more(struct lane_runs *runs, uint64_t start, uint64_t end, uint8_t kind)
{
	if (!runs->spent)
		runs->spent = calloc(SLICE_KINDS, sizeof(*runs->spent));
	if (!runs->spent)
		return false;
	if (!runs->open.count)
		runs->open.start = start;
	runs->open.end = end;
	runs->open.count++;
	runs->spent[kind] += end - start;
	return true;
}

bool lane_runs_end(struct lane_runs *runs)
{
	struct lane_run *open = &runs->open;

	if (!open->count)
		return true;
	for (unsigned int kind = 0; kind < SLICE_KINDS; kind++) {
		if (runs->spent[kind] <= open->dominant)
			continue;
		open->dominant = runs->spent[kind];
		open->kind = (uint8_t)kind;
	}
	if (!vec_push(&runs->all, *open))
		return false;
	*open = (struct lane_run){0};
	memset(runs->spent, 0, SLICE_KINDS * sizeof(*runs->spent));
	return true;
}

bool lane_runs_add(struct lane_runs *runs, uint64_t pixel, uint64_t start, uint64_t end,
		   uint8_t kind)
{
	const struct lane_run *open = &runs->open;
	bool is_long = end - start >= pixel;

	if (open->count && (is_long || start != open->end || end - open->start > pixel ||
			    open->count == UINT32_MAX))
		if (!lane_runs_end(runs))
			return false;
	if (!is_long)
		return open_more(runs, start, end, kind);
	return vec_push(&runs->all, (struct lane_run){start, end, end - start, 1, kind});
}

void lane_runs_free(struct lane_runs *runs)
{
	vec_free(&runs->all);
	free(runs->spent);
	*runs = (struct lane_runs){0};
}
