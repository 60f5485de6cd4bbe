// SPDX-License-Identifier: Apache-2.0
/*
 * The timeline of threads, and of the goroutines of films that have those. Its times are ns since
 * `base`, which is the beginning of the answer's time: numbers that every reader of JSON holds
 * exactly; the base itself, ns since 1970, is a text.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "film/events.h"
#include "server/api.h"
#include "server/ask.h"
#include "server/lane_list.h"
#include "server/put.h"
#include "show/json_film.h"
#include "store/lanes.h"

enum {
	LANES_USUAL = 2000,
	LANES_LIMIT = 20000,
	RUN_LANES_MAX = LANE_LIST_MAX,
	PIXELS_USUAL = 2048,
	PIXELS_MAX = LANE_CPUS_PIXELS_MAX,
};

/* What all these routes ask, and what they answer with. */
struct timeline {
	struct server_ask ask;
	struct lanes lanes;
	struct lane_id *of;
	struct store_sum sum;
};

static int begin(const struct http_request *request, const char *own, struct timeline *t,
		 struct fail *why)
{
	int err = ask_request(request, own, &t->ask, why);

	if (!err && !t->ask.ask.event)
		t->ask.ask.event = event_type(EVENT_THREADS)->name;
	return err;
}

static void end(struct timeline *t)
{
	lanes_free(&t->lanes);
	ask_free(&t->ask);
	free(t->of);
}

/* Nothing given: all lanes. */
static int parse_lanes(const struct http_request *request, struct timeline *t, struct fail *why)
{
	int err = parse_lane_list(request, &t->of, &t->lanes.of_count, why);

	t->lanes.of = t->of;
	return err;
}

static void put_base(struct json *j, const struct timeline *t)
{
	char base[24];

	snprintf(base, sizeof(base), "%" PRIu64, t->lanes.from);
	json_text(j, "base", base);
	json_u64(j, "length", t->lanes.to - t->lanes.from);
	json_open(j, "classes", '[');
	for (unsigned int kind = 0; kind < SLICE_KINDS; kind++)
		json_text(j, NULL, slice_kind_name(kind));
	json_close(j, ']');
}

static void put_numbers(struct json *j, const char *key, const uint64_t *numbers, size_t count)
{
	json_open(j, key, '[');
	for (size_t i = 0; i < count; i++)
		json_u64(j, NULL, numbers[i]);
	json_close(j, ']');
}

/* For each run: ns since the one before it ended, its length, kind, slices, and ns of its kind. */
static void put_runs(struct json *j, const struct lane *lane, uint64_t base)
{
	uint64_t at = base;

	json_open(j, "runs", '[');
	vec_foreach (&lane->runs.all, run) {
		/* of a number that was used twice at the same time, what comes later stands */
		uint64_t start = run->start > at ? run->start : at;

		if (run->end <= start)
			continue;
		json_u64(j, NULL, start - at);
		json_u64(j, NULL, run->end - start);
		json_u64(j, NULL, run->kind);
		json_u64(j, NULL, run->count);
		json_u64(j, NULL, run->dominant);
		at = run->end;
	}
	json_close(j, ']');
}

/* ns since the base, within the time of the answer. */
static void put_moment(struct json *j, const char *key, const struct lanes *lanes, uint64_t at)
{
	at = at > lanes->from ? at : lanes->from;
	json_u64(j, key, (at < lanes->to ? at : lanes->to) - lanes->from);
}

static void put_lane(struct json *j, const struct timeline *t, const struct lane *lane,
		     bool has_runs)
{
	json_open(j, NULL, '{');
	json_text(j, "host", lane->host);
	json_u64(j, "pid", lane->pid);
	json_u64(j, "tid", lane->tid);
	json_bool(j, "goroutine", lane->is_goroutine);
	json_text(j, "kind", lane->kind);
	json_text(j, "comm", lane->comm);
	json_text(j, "process", lane->process);
	json_text(j, "service", lane->service);
	json_text(j, "command", lane->command);
	json_put_unlinked(j, lane->unlinked);
	put_moment(j, "first", &t->lanes, lane->first);
	put_moment(j, "last", &t->lanes, lane->last);
	put_numbers(j, "ns", lane->ns, SLICE_KINDS);
	put_numbers(j, "slices", lane->slices, SLICE_KINDS);
	if (has_runs)
		put_runs(j, lane, t->lanes.from);
	json_close(j, '}');
}

/* Runs are of at most that many lanes, the first; of none, if some have no room. */
static int put_lanes(struct json *j, const struct timeline *t, uint64_t limit, uint64_t shown)
{
	const struct lane **order = lanes_in_order(&t->lanes);

	if (!order)
		return -ENOMEM;
	json_open(j, "lanes", '[');
	for (size_t i = 0; i < t->lanes.all.count && i < limit; i++)
		put_lane(j, t, order[i], i < shown && !t->lanes.are_runs_cut);
	json_close(j, ']');
	free(order);
	return 0;
}

/* Of the time that an answer is of. */
static int check_pixels(uint64_t pixel, uint64_t from, uint64_t to, struct fail *why)
{
	if (!pixel || (to - from) / pixel <= PIXELS_MAX)
		return 0;
	return fail(why, -EINVAL, NULL,
		    "more than %d pixels are asked for: ask for less time, or a larger pixel",
		    PIXELS_MAX);
}

/* A pixel of 0 was not given: it becomes a usual one. */
static int choose_pixel(uint64_t *pixel, uint64_t from, uint64_t to, struct fail *why)
{
	if (!*pixel)
		*pixel = (to - from) / PIXELS_USUAL + 1;
	return check_pixels(*pixel, from, to, why);
}

int api_timeline_lanes(const struct http_request *request, struct answer *answer, struct fail *why)
{
	struct json j = {.out = answer->out};
	struct timeline t = {0};
	uint64_t limit, steps, shown;
	int err = begin(request, "limit steps shown pixel", &t, why);

	if (!err)
		err = ask_number(request->url, "limit", 1, LANES_LIMIT, LANES_USUAL, &limit, why);
	if (!err)
		err = ask_number(request->url, "steps", 0, LANES_STEPS_MAX, 0, &steps, why);
	if (!err)
		err = ask_number(request->url, "shown", 0, RUN_LANES_MAX, 0, &shown, why);
	if (!err)
		err = ask_number(request->url, "pixel", 1, INT64_MAX, INT64_MAX, &t.lanes.pixel,
				 why);
	if (!err) {
		t.lanes.steps = steps;
		t.lanes.pixel = shown ? t.lanes.pixel : 0;
		err = store_lanes(request->store, &t.ask.ask, &t.lanes, &t.sum, why);
	}
	if (!err)
		err = check_pixels(t.lanes.pixel, t.lanes.from, t.lanes.to, why);
	if (!err) {
		json_open(&j, NULL, '{');
		put_sum(&j, "sum", &t.sum);
		put_base(&j, &t);
		json_u64(&j, "threads", t.lanes.all.count);
		json_bool(&j, "cut", t.lanes.is_cut);
		put_numbers(&j, "running", t.lanes.running, t.lanes.running ? steps : 0);
		put_numbers(&j, "ready", t.lanes.ready, t.lanes.ready ? steps : 0);
		if (put_lanes(&j, &t, limit, shown))
			err = fail_errno(why, -ENOMEM, NULL, "cannot answer");
		json_close(&j, '}');
	}
	end(&t);
	return err;
}

static void put_slices(struct json *j, const struct timeline *t)
{
	json_open(j, "lanes", '[');
	vec_foreach (&t->lanes.all, lane) {
		json_open(j, NULL, '{');
		json_u64(j, "pid", lane->pid);
		json_u64(j, "tid", lane->tid);
		json_bool(j, "goroutine", lane->is_goroutine);
		put_runs(j, lane, t->lanes.from);
		json_close(j, '}');
	}
	json_close(j, ']');
}

int api_timeline_slices(const struct http_request *request, struct answer *answer, struct fail *why)
{
	struct json j = {.out = answer->out};
	struct timeline t = {0};
	const struct store_ask *ask = &t.ask.ask;
	int err = begin(request, "lanes pixel", &t, why);

	if (!err)
		err = parse_lanes(request, &t, why);
	if (!err)
		err = ask_number(request->url, "pixel", 1, INT64_MAX, 0, &t.lanes.pixel, why);
	if (!err && (!t.of || !ask->from || !ask->to))
		err = fail(why, -EINVAL, NULL, "slices are asked for by lanes, from and to");
	if (!err)
		err = choose_pixel(&t.lanes.pixel, ask->from, ask->to, why);
	if (!err)
		err = store_lanes(request->store, ask, &t.lanes, &t.sum, why);
	if (!err) {
		json_open(&j, NULL, '{');
		put_sum(&j, "sum", &t.sum);
		put_base(&j, &t);
		json_u64(&j, "pixel", t.lanes.pixel);
		json_bool(&j, "cut", t.lanes.is_cut || t.lanes.are_runs_cut);
		put_slices(&j, &t);
		json_close(&j, '}');
	}
	end(&t);
	return err;
}

/* Known to a part of itself: not more than the longest. */
static void put_quantile(struct json *j, const char *key, const struct lane_state *state,
			 unsigned int of_thousand)
{
	uint64_t ns = latency_quantile(&state->lengths, of_thousand);

	json_u64(j, key, ns < state->longest ? ns : state->longest);
}

static void put_states(struct json *j, const struct lanes *lanes)
{
	json_open(j, "states", '[');
	for (unsigned int kind = 0; kind < SLICE_KINDS; kind++) {
		const struct lane_state *state = &lanes->states[kind];

		if (!state->count)
			continue;
		json_open(j, NULL, '{');
		json_u64(j, "class", kind);
		json_u64(j, "count", state->count);
		json_u64(j, "sum", state->sum);
		put_quantile(j, "p50", state, 500);
		put_quantile(j, "p99", state, 990);
		json_u64(j, "longest", state->longest);
		json_close(j, '}');
	}
	json_close(j, ']');
}

int api_timeline_states(const struct http_request *request, struct answer *answer, struct fail *why)
{
	struct json j = {.out = answer->out};
	struct timeline t = {.lanes.wants_states = true};
	int err = begin(request, "lanes", &t, why);

	if (!err)
		err = parse_lanes(request, &t, why);
	if (!err)
		err = store_lanes(request->store, &t.ask.ask, &t.lanes, &t.sum, why);
	if (!err) {
		json_open(&j, NULL, '{');
		put_sum(&j, "sum", &t.sum);
		put_base(&j, &t);
		json_u64(&j, "lanes", t.lanes.all.count);
		json_bool(&j, "cut", t.lanes.is_cut);
		put_states(&j, &t.lanes);
		json_close(&j, '}');
	}
	end(&t);
	return err;
}

/* Names the threads of all runs; numbers becomes the place of each in that list, by its lane. */
static bool number_threads(struct json *j, const struct lanes *lanes, struct map *numbers)
{
	json_open(j, "threads", '[');
	vec_foreach (&lanes->cpus.runs, run) {
		const struct lane *lane = &lanes->all.at[run->thread];

		if (map_get(numbers, run->thread))
			continue;
		if (!map_put(numbers, run->thread, numbers->count))
			return false;
		json_open(j, NULL, '{');
		json_u64(j, "pid", lane->pid);
		json_u64(j, "tid", lane->tid);
		json_text(j, "comm", lane->comm);
		json_text(j, "process", lane->process);
		json_close(j, '}');
	}
	json_close(j, ']');
	return true;
}

/* As put_runs(): a thread stands for the kind, and stays for the slices. */
static size_t put_cpu(struct json *j, const struct lanes *lanes, size_t first,
		      const struct map *numbers)
{
	const struct cpu_run *runs = lanes->cpus.runs.at;
	uint64_t at = lanes->from;
	size_t i = first;

	json_open(j, NULL, '{');
	json_u64(j, "cpu", runs[first].cpu);
	json_open(j, "runs", '[');
	for (; i < lanes->cpus.runs.count && runs[i].cpu == runs[first].cpu; i++) {
		uint64_t start = runs[i].start > at ? runs[i].start : at;

		if (runs[i].end <= start)
			continue;
		json_u64(j, NULL, start - at);
		json_u64(j, NULL, runs[i].end - start);
		json_u64(j, NULL, *map_get(numbers, runs[i].thread));
		json_u64(j, NULL, runs[i].count);
		json_u64(j, NULL, runs[i].dominant);
		at = runs[i].end;
	}
	json_close(j, ']');
	json_close(j, '}');
	return i;
}

static int put_cpus(struct json *j, const struct lanes *lanes)
{
	struct map numbers = {0};
	bool is_done = number_threads(j, lanes, &numbers);

	json_open(j, "cpus", '[');
	for (size_t i = 0; is_done && i < lanes->cpus.runs.count;)
		i = put_cpu(j, lanes, i, &numbers);
	json_close(j, ']');
	map_free(&numbers);
	return is_done ? 0 : -ENOMEM;
}

int api_timeline_cpus(const struct http_request *request, struct answer *answer, struct fail *why)
{
	struct json j = {.out = answer->out};
	struct timeline t = {0};
	const struct store_ask *ask = &t.ask.ask;
	int err = begin(request, "pixel", &t, why);

	if (!err)
		err = ask_number(request->url, "pixel", 1, INT64_MAX, 0, &t.lanes.cpus.pixel, why);
	if (!err && (!ask->from || !ask->to))
		err = fail(why, -EINVAL, NULL, "lanes of CPUs are asked for by from and to");
	if (!err)
		err = choose_pixel(&t.lanes.cpus.pixel, ask->from, ask->to, why);
	if (!err)
		err = store_lanes(request->store, ask, &t.lanes, &t.sum, why);
	if (!err) {
		json_open(&j, NULL, '{');
		put_sum(&j, "sum", &t.sum);
		put_base(&j, &t);
		json_u64(&j, "pixel", t.lanes.cpus.pixel);
		json_bool(&j, "cut", t.lanes.is_cut || t.lanes.cpus.is_cut);
		if (put_cpus(&j, &t.lanes))
			err = fail_errno(why, -ENOMEM, NULL, "cannot answer");
		json_close(&j, '}');
	}
	end(&t);
	return err;
}
