// SPDX-License-Identifier: Apache-2.0
#include "query/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/search.h"
#include "base/vec.h"
#include "film/events.h"
#include "query/filter.h"
#include "query/names.h"

enum {
	WINDOW = 1 << 20,
	/* calls that begin in one window and end in another; each takes 56 bytes */
	CROSSING_MAX = 8 << 20,
};

/* A call that waits until the window in which it begins is reported. */
struct crossing {
	struct film_call call;
	uint32_t window;
};

/* Where a call stands in the order in which calls begin. */
struct place {
	uint64_t start;
	uint32_t index;
	uint16_t depth;
};

struct replay {
	struct film *film;
	const struct replay_question *q;
	uint32_t event;
	uint64_t from, to; /* what is shown */
	struct filter_kept kept;
	uint8_t *frames, *under; /* as call_walk_options has them */
	uint8_t *has_gaps;
	struct call_cost *costs;
	size_t window;
	vec(uint64_t) bounds; /* windows end there; the last one at to */
	size_t since_bound;
	vec(struct crossing) crossing; /* by window, once sorted */
	size_t crossing_told;
	struct map ended; /* thread << 32 | lane: when the last call of that track ended */
	/* the window that is loaded: its number, and its calls */
	uint32_t current;
	uint64_t current_from;
	vec(struct film_call) calls;
	vec(struct place) places;
	struct call_walk *walk;
	struct replay_sums *sums;
	int (*emit)(void *context, const struct call_event *event);
	void *context;
	int err; /* why a walk over the film was ended from within */
};

void replay_question_free(struct replay_question *q)
{
	struct question whole = {.filter = q->filter};

	question_free(&whole);
	patterns_free(&q->functions);
	patterns_free(&q->under);
	*q = (struct replay_question){0};
}

const char *replay_name(const struct film *film, uint32_t frame, char *place, size_t size)
{
	const struct film_frame *f = &film->frames[frame];

	if (!frame)
		return NAME_UNKNOWN;
	return f->function ? film->functions[f->function].name
			   : name_of_place(film, f, place, size);
}

static struct film_call call_at(const struct film_calls *calls, size_t i)
{
	return (struct film_call){
		.end = calls->end[i],
		.duration = calls->duration[i],
		.waited = calls->waited[i],
		.thread = calls->thread[i],
		.frame = calls->frame[i],
		.lane = calls->lane[i],
		.depth = (uint16_t)calls->depth[i],
		.cpu = (uint16_t)calls->cpu[i],
		.flags = calls->flags[i] &
			 (FILM_CALL_GAP | FILM_CALL_INFERRED | FILM_CALL_OPEN | FILM_CALL_UNKNOWN),
	};
}

static uint64_t start_of(const struct film_call *call)
{
	return call->duration < call->end ? call->end - call->duration : 0;
}

/*
 * Calls come by end here, so this is the place to see where a gap belongs: between this call and
 * the one that ended before it on its track, which may lie within it.
 */
static bool mark_gap(struct replay *r, struct film_call *call)
{
	uint64_t key = (uint64_t)call->thread << 32 | call->lane;
	uint64_t *last = map_get(&r->ended, key);

	if (call->flags & FILM_CALL_GAP) {
		r->has_gaps[call->thread] = 1;
		if (last && *last > start_of(call))
			call->flags |= CALL_WALK_GAP_WITHIN;
	}
	if (last)
		*last = call->end;
	return last || map_put(&r->ended, key, call->end);
}

/* First pass: the film is cut into windows that hold about as many calls as shall be in memory. */
static int add_bounds(void *context, const struct film_calls *calls)
{
	struct replay *r = context;

	for (size_t i = 0; i < calls->count; i++) {
		if (!r->kept.threads[calls->thread[i]])
			continue;
		r->since_bound++;
		/* calls that end at the same time stay together */
		if (r->since_bound <= r->window || calls->end[i] <= r->current_from)
			continue;
		if (!vec_push(&r->bounds, calls->end[i]))
			return r->err = -ENOMEM;
		r->current_from = calls->end[i];
		r->since_bound = 1;
	}
	return 0;
}

/* The window in which that time lies; to and later: none, which is the number of windows. */
static uint32_t window_of(const struct replay *r, uint64_t time)
{
	return (uint32_t)search_first(r->bounds.count, i, r->bounds.at[i] <= time);
}

static int add_crossing_calls(void *context, const struct film_calls *calls)
{
	struct replay *r = context;

	for (size_t i = 0; i < calls->count; i++) {
		struct film_call call;
		uint32_t starts, ends;

		if (!r->kept.threads[calls->thread[i]])
			continue;
		call = call_at(calls, i);
		if (!mark_gap(r, &call))
			return r->err = -ENOMEM;
		ends = window_of(r, call.end);
		starts = window_of(r, start_of(&call));
		if (starts == ends || starts == r->bounds.count)
			continue;
		if (r->crossing.count >= CROSSING_MAX)
			return r->err = -E2BIG;
		if (!vec_push(&r->crossing, (struct crossing){call, starts}))
			return r->err = -ENOMEM;
	}
	return 0;
}

static int add_calls(void *context, const struct film_calls *calls)
{
	struct replay *r = context;

	for (size_t i = 0; i < calls->count; i++) {
		struct film_call call;
		struct place place;

		if (!r->kept.threads[calls->thread[i]])
			continue;
		call = call_at(calls, i);
		if (!mark_gap(r, &call))
			return r->err = -ENOMEM;
		place = (struct place){start_of(&call), (uint32_t)r->calls.count, call.depth};
		/* it was reported in the window where it began */
		if (window_of(r, place.start) != r->current)
			continue;
		if (r->calls.count == UINT32_MAX)
			return r->err = -E2BIG;
		if (!vec_push(&r->calls, call) || !vec_push(&r->places, place))
			return r->err = -ENOMEM;
	}
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct place *p = a, *q = b;

	if (p->start != q->start)
		return p->start < q->start ? -1 : 1;
	if (p->depth != q->depth)
		return p->depth < q->depth ? -1 : 1;
	return p->index < q->index ? -1 : p->index > q->index;
}

static int by_window(const void *a, const void *b)
{
	const struct crossing *c = a, *d = b;

	return c->window < d->window ? -1 : c->window > d->window;
}

static int add_crossing(struct replay *r)
{
	for (; r->crossing_told < r->crossing.count; r->crossing_told++) {
		const struct crossing *c = &r->crossing.at[r->crossing_told];
		struct place place = {start_of(&c->call), (uint32_t)r->calls.count, c->call.depth};

		if (c->window != r->current)
			break;
		if (!vec_push(&r->calls, c->call) || !vec_push(&r->places, place))
			return -ENOMEM;
	}
	return 0;
}

static int each_calls(struct replay *r, uint64_t from, uint64_t to,
		      int (*emit)(void *context, const struct film_calls *calls), struct fail *why)
{
	int err;

	r->err = 0;
	err = film_each_calls(r->film, r->event, from, to, false, emit, r, why);
	if (r->err == -ENOMEM)
		return fail_errno(why, r->err, NULL, "cannot replay the film");
	if (r->err == -E2BIG)
		return fail(why, r->err, "look at a part, with --from and --to, or --tid",
			    "too many calls are open at the same time");
	return err;
}

static int emit_window(struct replay *r, uint64_t from, uint64_t to, struct fail *why)
{
	int err;

	r->calls.count = r->places.count = 0;
	err = each_calls(r, from, to, add_calls, why);
	if (err)
		return err;
	err = add_crossing(r);
	if (!err && r->places.count)
		qsort(r->places.at, r->places.count, sizeof(*r->places.at), by_start);
	vec_foreach (&r->places, place) {
		if (err)
			break;
		err = call_walk_add(r->walk, &r->calls.at[place->index]);
	}
	if (!err)
		err = call_walk_until(r->walk, to);
	return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot replay the film") : err;
}

static int count_event(void *context, const struct call_event *event)
{
	struct replay *r = context;

	r->sums->told += event->kind != CALL_EVENT_GAP;
	return r->emit(r->context, event);
}

static int start_walk(struct replay *r)
{
	return call_walk_new(
		&(struct call_walk_options){
			.frames = r->frames,
			.under = r->under ? r->under : r->kept.focus,
			.ignored = r->kept.ignored,
			.min_time = r->q->min_time,
			.max_level = r->q->max_depth,
			.from = r->from,
			.to = r->to,
			.costs = r->costs,
			.has_gaps = r->has_gaps,
			.emit = count_event,
			.context = r,
		},
		&r->walk);
}

static int emit_windows(struct replay *r, uint64_t first, struct fail *why)
{
	uint64_t from = first;
	int err = start_walk(r);

	if (err)
		return fail_errno(why, err, NULL, "cannot replay the film");
	for (r->current = 0; !err && r->current < r->bounds.count; r->current++) {
		err = emit_window(r, from, r->bounds.at[r->current], why);
		from = r->bounds.at[r->current];
	}
	if (!err)
		err = call_walk_end(r->walk);
	return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot replay the film") : err;
}

/* The tracer's own cost of the frames of which it is known. */
static int add_probe(void *context, const struct film_probe *probe)
{
	struct replay *r = context;

	if (!r->costs)
		r->costs = calloc(r->film->frame_count + 1ull, sizeof(*r->costs));
	if (!r->costs)
		return r->err = -ENOMEM;
	r->costs[probe->frame] = (struct call_cost){probe->own, probe->outer, probe->error};
	return 0;
}

static int find_event(struct replay *r, struct fail *why)
{
	const char *name = r->q->event ? r->q->event : event_type(EVENT_CALLS)->name;

	r->event = film_find_event(r->film, name);
	r->sums->film_calls = r->event ? film_call_count(r->film, r->event) : 0;
	if (r->event && !r->sums->film_calls && film_sum_count(r->film, r->event))
		return fail(why, -ENOENT, "'stackcam report' shows them",
			    "the film has sums of --summary, and no single calls to replay");
	if (r->event && (r->sums->film_calls || !r->q->event))
		return 0;
	return fail(why, -ENOENT,
		    "'stackcam report' shows what it has; 'stackcam trace' films calls",
		    "the film has no calls '%s'", name);
}

static int prepare(struct replay *r, struct fail *why)
{
	int err = find_event(r, why);

	if (!err)
		err = filter_span(&r->q->filter, &r->film->info, &r->from, &r->to, why);
	if (err)
		return err;
	err = filter_apply(&r->q->filter, r->film, &r->kept, why);
	if (!err && r->q->functions.all.count)
		err = patterns_frames(&r->q->functions, r->film, &r->frames, why);
	if (!err && r->q->under.all.count)
		err = patterns_frames(&r->q->under, r->film, &r->under, why);
	if (err)
		return err;
	r->has_gaps = calloc(r->film->thread_count + 1ull, 1);
	if (!r->has_gaps)
		return fail_errno(why, -ENOMEM, NULL, "cannot replay the film");
	if (!r->q->raw)
		err = film_each_probe(r->film, r->event, add_probe, r, why);
	return r->err ? fail_errno(why, r->err, NULL, "cannot replay the film") : err;
}

/* Where what is shown ends, or where windows end, calls are open: they are looked for. */
static int cut(struct replay *r, uint64_t first, struct fail *why)
{
	int err = 0;

	if (r->sums->film_calls > r->window)
		err = each_calls(r, first, r->to, add_bounds, why);
	if (!err && !vec_push(&r->bounds, r->to))
		err = fail_errno(why, -ENOMEM, NULL, "cannot replay the film");
	if (err || (r->bounds.count == 1 && r->to == UINT64_MAX))
		return err;
	err = each_calls(r, first, UINT64_MAX, add_crossing_calls, why);
	if (!err && r->crossing.count)
		qsort(r->crossing.at, r->crossing.count, sizeof(*r->crossing.at), by_window);
	map_free(&r->ended);
	return err;
}

int replay_film(struct film *film, const struct replay_question *q,
		int (*emit)(void *context, const struct call_event *event), void *context,
		struct replay_sums *sums, struct fail *why)
{
	struct replay r = {.film = film,
			   .q = q,
			   .window = q->window ? q->window : WINDOW,
			   .sums = sums,
			   .emit = emit,
			   .context = context};
	uint64_t first;
	int err;

	*sums = (struct replay_sums){0};
	err = prepare(&r, why);
	/* to know what tracing cost the calls that are open there, all before them must be seen */
	first = r.costs ? 0 : r.from;
	if (!err)
		err = cut(&r, first, why);
	if (!err)
		err = emit_windows(&r, first, why);
	call_walk_free(r.walk);
	filter_kept_free(&r.kept);
	free(r.frames);
	free(r.under);
	free(r.has_gaps);
	free(r.costs);
	map_free(&r.ended);
	vec_free(&r.bounds);
	vec_free(&r.crossing);
	vec_free(&r.calls);
	vec_free(&r.places);
	return err;
}
