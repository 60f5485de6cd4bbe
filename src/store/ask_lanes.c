// SPDX-License-Identifier: Apache-2.0
/* What threads did, slice by slice: the films have it, the index does not. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "film/events.h"
#include "store/ask_private.h"
#include "store/index_series.h"
#include "store/lanes.h"

struct adder {
	struct lanes *lanes;
	struct store_sum *sum;
	const struct lane_id *lane;
	uint64_t at; /* ns since 1970 */
	int (*emit)(void *context, const struct film *film, const struct lane_slice *found);
	void *context;
	bool has_taken;
	struct fail *why;
};

static int has_slices(const struct ask_film *of, struct fail *why)
{
	return film_has_turns(of->film, of->event)
		       ? 0
		       : fail(why, -EINVAL, "ask for an event of threads' slices: threads",
			      "%s has no slices", of->film->events[of->event].name);
}

/* The next event of goroutines' slices, where those of threads are asked for; 0: no more. */
static uint32_t beside(const struct ask_film *of, uint32_t last)
{
	bool is_of_threads =
		!strcmp(of->film->events[of->event].name, event_type(EVENT_THREADS)->name);

	return is_of_threads ? slices_beside(of->film, of->event, last) : 0;
}

/* Sums of states, and of CPUs, are of threads alone, unless lanes of goroutines were named. */
static bool wants_lanes(const struct lanes *lanes)
{
	return lanes->of || (!lanes->wants_states && !lanes->cpus.pixel);
}

static int add_film(void *context, const struct ask_film *of)
{
	struct adder *t = context;
	uint64_t from, to, slices = t->lanes->slices;
	int err = has_slices(of, t->why);

	if (!err)
		err = filter_span(&of->question->filter, &of->film->info, &from, &to, t->why);
	if (!err)
		err = lanes_add(t->lanes, of->film, of->event, of->host, &of->question->filter,
				from, to, t->why);
	/* lanes of goroutines are shown beside those of threads */
	for (uint32_t event = 0; !err && wants_lanes(t->lanes) && (event = beside(of, event));)
		err = lanes_add(t->lanes, of->film, event, of->host, &of->question->filter, from,
				to, t->why);
	return err ? err : sum_add(t->sum, t->lanes->slices - slices, 0, t->why);
}

static_assert((int)LANE_SERVICE_SIZE >= (int)INDEX_SERVICE_SIZE, "a service's name has room");

static void service_of(void *context, const struct film_process *process, char *service)
{
	const struct asked *asked = context;

	index_service_of(asked->index, process, service);
}

int store_lanes(struct store *store, const struct store_ask *ask, struct lanes *lanes,
		struct store_sum *sum, struct fail *why)
{
	struct adder t = {.lanes = lanes, .sum = sum, .why = why};
	struct asked asked = {0};
	int err;

	*sum = (struct store_sum){0};
	err = asked_begin(&asked, store, ask, why);
	lanes->from = asked.from;
	lanes->to = asked.to;
	lanes->service_of = service_of;
	lanes->context = &asked;
	if (!err)
		err = ask_films(&asked, film_open, sum, add_film, &t, why);
	lanes->service_of = NULL; /* it ends with the question */
	if (!err && lanes_end(lanes))
		err = fail_errno(why, -ENOMEM, NULL, "cannot make the lanes of threads");
	asked_free(&asked);
	return err;
}

static int find_slice(void *context, const struct ask_film *of)
{
	struct adder *t = context;
	uint64_t at = t->at - (uint64_t)of->film->info.wall_offset;
	struct lane_slice found = {0};
	uint32_t event = t->lane->is_goroutine ? beside(of, 0) : of->event;
	int err = has_slices(of, t->why);

	if (!event)
		event = of->event;
	while (!err && !t->has_taken && !found.is_found && event) {
		err = lanes_slice_at(of->film, event, t->lane, at, &found, t->why);
		event = t->lane->is_goroutine && event != of->event ? beside(of, event) : 0;
	}
	if (err || t->has_taken || !found.is_found || !ask_film_keeps(of, found.slice.thread))
		return err;
	t->has_taken = true;
	return t->emit(t->context, of->film, &found);
}

int store_slice(struct store *store, const struct store_ask *ask, const struct lane_id *lane,
		int (*emit)(void *context, const struct film *film, const struct lane_slice *found),
		void *context, struct fail *why)
{
	struct adder t = {
		.lane = lane, .at = ask->from, .emit = emit, .context = context, .why = why};
	struct asked asked = {0};
	struct store_sum sum = {0};
	int err = asked_begin(&asked, store, ask, why);

	if (!err)
		err = ask_films(&asked, film_open, &sum, find_slice, &t, why);
	asked_free(&asked);
	return err;
}
