// SPDX-License-Identifier: Apache-2.0
#include "query/calls/walk.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"

/* When that many tracks are known, those of which nothing is open are forgotten. */
#define TRACKS_FIRST_SWEEP 65536

struct open_call {
	struct film_call call;
	uint64_t start, end; /* within those of the call around it */
	uint64_t below;	     /* what tracing the calls within it cost */
	uint64_t children;   /* durations of the calls within it, without cost */
	uint64_t error;	     /* to which these are known */
	uint64_t serial;
	unsigned int level;
	bool is_shown, is_told, is_under, is_ignored;
};

struct track {
	uint32_t thread, lane;
	vec(struct open_call) open;
	uint64_t now; /* of its last event */
	/* where a caller is missing: below which call and how deep, so that it is reported once */
	uint64_t hole_in;
	unsigned int hole_depth;
	bool gap_was_last;
};

/* When an open call ends: the one with that serial, if it is still the innermost of its track. */
struct due {
	uint64_t end, serial;
	uint32_t track;
	uint32_t depth;
};

struct call_walk {
	struct call_walk_options options;
	vec(struct track) tracks;
	struct map by_thread; /* thread << 32 | lane: index in tracks */
	size_t sweep_at;
	uint64_t serial;
	vec(struct due) dues; /* a heap, the earliest first */
};

int call_walk_new(const struct call_walk_options *options, struct call_walk **walk)
{
	*walk = calloc(1, sizeof(**walk));
	if (!*walk)
		return -ENOMEM;
	(*walk)->options = *options;
	(*walk)->sweep_at = TRACKS_FIRST_SWEEP;
	return 0;
}

void call_walk_free(struct call_walk *w)
{
	if (!w)
		return;
	vec_foreach (&w->tracks, t)
		vec_free(&t->open);
	vec_free(&w->tracks);
	vec_free(&w->dues);
	map_free(&w->by_thread);
	free(w);
}

/* At the same time, what lies deeper ends first. */
static bool is_due_before(const struct due *a, const struct due *b)
{
	if (a->end != b->end)
		return a->end < b->end;
	if (a->depth != b->depth)
		return a->depth > b->depth;
	return a->serial < b->serial;
}

static bool push_due(struct call_walk *w, struct due due)
{
	size_t at = w->dues.count;

	if (!vec_push(&w->dues, due))
		return false;
	while (at && is_due_before(&due, &w->dues.at[(at - 1) / 2])) {
		w->dues.at[at] = w->dues.at[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	w->dues.at[at] = due;
	return true;
}

static struct due pop_due(struct call_walk *w)
{
	struct due first = w->dues.at[0], last = w->dues.at[--w->dues.count];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < w->dues.count) {
		if (child + 1 < w->dues.count &&
		    is_due_before(&w->dues.at[child + 1], &w->dues.at[child]))
			child++;
		if (!is_due_before(&w->dues.at[child], &last))
			break;
		w->dues.at[at] = w->dues.at[child];
		at = child;
	}
	if (w->dues.count)
		w->dues.at[at] = last;
	return first;
}

static struct call_event event_of(enum call_event_kind kind, const struct open_call *open)
{
	return (struct call_event){.kind = kind,
				   .call = &open->call,
				   .start = open->start,
				   .end = open->end,
				   .level = open->level};
}

static int emit_event(struct call_walk *w, struct track *t, const struct call_event *event)
{
	t->gap_was_last = event->kind == CALL_EVENT_GAP;
	return w->options.emit(w->options.context, event);
}

/* Emits the beginnings of what is open and was not emitted yet: they began before the span. */
static int emit_open(struct call_walk *w, struct track *t)
{
	int err = 0;

	vec_foreach (&t->open, open) {
		struct call_event event = event_of(CALL_EVENT_BEGIN, open);

		if (open->is_told)
			continue;
		open->is_told = true;
		event.time = open->start;
		event.is_before = open->start < w->options.from;
		if (open->is_shown && !err)
			err = emit_event(w, t, &event);
	}
	return err;
}

static bool is_in_span(const struct call_walk *w, uint64_t time)
{
	return time >= w->options.from && time < w->options.to;
}

static int emit_gap(struct call_walk *w, struct track *t, const struct open_call *open,
		    unsigned int level)
{
	struct call_event event = event_of(CALL_EVENT_GAP, open);

	event.time = t->now;
	event.level = level;
	if (!is_in_span(w, t->now) || t->gap_was_last)
		return 0;
	return emit_event(w, t, &event);
}

/*
 * What is left of a duration when the tracer's own part is taken away. That part varies: no call
 * lasts less than those that it made.
 */
static uint64_t without_cost(const struct call_walk *w, const struct open_call *open)
{
	uint64_t cost, ns;

	if (!w->options.costs)
		return open->call.duration;
	cost = open->below + w->options.costs[open->call.frame].own;
	ns = open->call.duration > cost ? open->call.duration - cost : 0;
	return ns > open->children ? ns : open->children;
}

/* Ends the innermost call of a track, at that time or when it ended itself. */
static int close_last(struct call_walk *w, struct track *t, uint64_t time)
{
	struct open_call *open = vec_last(&t->open);
	struct call_event event = event_of(CALL_EVENT_END, open);
	int err = 0;

	if (event.end > time)
		event.end = time;
	if (event.end > t->now)
		t->now = event.end;
	if (is_in_span(w, t->now)) {
		err = emit_open(w, t);
		if (!err && open->call.flags & CALL_WALK_GAP_WITHIN)
			err = emit_gap(w, t, open, open->level + open->is_shown);
	}
	event.time = event.end = t->now;
	event.duration = without_cost(w, open);
	event.error =
		open->error + (w->options.costs ? w->options.costs[open->call.frame].error : 0);
	event.is_before = open->start < w->options.from;
	event.is_beyond = event.time >= w->options.to;
	if (!err && open->is_shown && open->is_told)
		err = emit_event(w, t, &event);
	if (t->open.count > 1 && w->options.costs) {
		open[-1].below += open->below + w->options.costs[open->call.frame].outer;
		open[-1].children += event.duration;
		open[-1].error += event.error;
	}
	t->open.count--;
	return err;
}

static int close_due(struct call_walk *w)
{
	struct due due = pop_due(w);
	struct track *t = &w->tracks.at[due.track];

	/* what is not the innermost any more was ended already */
	if (!t->open.count || vec_last(&t->open)->serial != due.serial)
		return 0;
	return close_last(w, t, due.end);
}

/* Ends all that ends before that time. */
int call_walk_until(struct call_walk *w, uint64_t time)
{
	int err = 0;

	while (!err && w->dues.count && w->dues.at[0].end < time)
		err = close_due(w);
	return err;
}

/* Whether the open call is one of those around the new one. */
static bool contains(const struct open_call *open, const struct film_call *call)
{
	return open->call.depth < call->depth && open->end >= call->end;
}

/* Whether it is the caller, or there should be others between them. */
static unsigned int missing_callers(const struct track *t, const struct film_call *call)
{
	return t->open.count ? call->depth - vec_last(&t->open)->call.depth - 1u : call->depth;
}

static bool is_shown(const struct call_walk *w, const struct open_call *open)
{
	const struct call_walk_options *o = &w->options;

	return (!o->frames || o->frames[open->call.frame]) && (!o->under || open->is_under) &&
	       !open->is_ignored && open->call.duration >= o->min_time &&
	       (!o->max_level || open->level < o->max_level);
}

/* A gap is also reported before a call whose caller is missing, but only once for each caller. */
static bool is_hole(const struct call_walk *w, struct track *t, const struct open_call *open,
		    unsigned int missing)
{
	uint64_t around = t->open.count ? vec_last(&t->open)->serial : 0;
	const uint8_t *has_gaps = w->options.has_gaps;

	if (!missing || !has_gaps || !has_gaps[open->call.thread] ||
	    (t->hole_in == around && t->hole_depth == open->call.depth))
		return false;
	t->hole_in = around;
	t->hole_depth = open->call.depth;
	return true;
}

static int begin_gaps(struct call_walk *w, struct track *t, struct open_call *open,
		      unsigned int missing)
{
	bool before = (open->call.flags & (FILM_CALL_GAP | CALL_WALK_GAP_WITHIN)) == FILM_CALL_GAP;
	int err = 0;

	if (!is_hole(w, t, open, missing) && !before)
		return 0;
	t->now = open->start > t->now ? open->start : t->now;
	if (is_in_span(w, t->now))
		err = emit_open(w, t);
	return err ? err : emit_gap(w, t, open, open->level);
}

static int open_new(struct call_walk *w, struct track *t, const struct film_call *call)
{
	struct open_call open = {.call = *call, .end = call->end, .serial = ++w->serial};
	const struct open_call *around = t->open.count ? vec_last(&t->open) : NULL;
	unsigned int missing = missing_callers(t, call);
	struct due due = {call->end, open.serial, (uint32_t)(t - w->tracks.at),
			  (uint32_t)t->open.count};
	int err;

	open.start = call->duration < call->end ? call->end - call->duration : 0;
	open.level = missing + (around ? around->level + around->is_shown : 0);
	open.is_under =
		(around && around->is_under) || (w->options.under && w->options.under[call->frame]);
	open.is_ignored = (around && around->is_ignored) ||
			  (w->options.ignored && w->options.ignored[call->frame]);
	open.is_shown = is_shown(w, &open);
	err = begin_gaps(w, t, &open, missing);
	if (err)
		return err;
	/* what a hostile film claims to have begun before what came earlier */
	if (open.start < t->now)
		open.start = t->now;
	if (open.end < open.start)
		due.end = open.end = open.start;
	t->now = open.start;
	if (!vec_push(&t->open, open) || !push_due(w, due))
		return -ENOMEM;
	return is_in_span(w, open.start) ? emit_open(w, t) : 0;
}

/* Forgets tracks of which nothing is open. Dues refer to none of them, or to what has ended. */
static int sweep(struct call_walk *w)
{
	size_t kept = 0, dues = 0;
	uint32_t *moved = malloc(w->tracks.count * sizeof(*moved));

	if (!moved)
		return -ENOMEM;
	map_free(&w->by_thread);
	for (size_t i = 0; i < w->tracks.count; i++) {
		struct track t = w->tracks.at[i];

		w->tracks.at[i].open.at = NULL;
		moved[i] = UINT32_MAX;
		if (!t.open.count) {
			vec_free(&t.open);
			continue;
		}
		moved[i] = (uint32_t)kept;
		w->tracks.at[kept++] = t;
	}
	w->tracks.count = kept;
	/* in place and in order, but what is left out must not break the heap: build it anew */
	for (size_t i = 0; i < w->dues.count; i++) {
		struct due due = w->dues.at[i];

		if (moved[due.track] == UINT32_MAX)
			continue;
		due.track = moved[due.track];
		w->dues.at[dues] = due;
		for (size_t at = dues++; at; at = (at - 1) / 2) {
			if (!is_due_before(&w->dues.at[at], &w->dues.at[(at - 1) / 2]))
				break;
			due = w->dues.at[at];
			w->dues.at[at] = w->dues.at[(at - 1) / 2];
			w->dues.at[(at - 1) / 2] = due;
		}
	}
	w->dues.count = dues;
	free(moved);
	for (size_t i = 0; i < kept; i++)
		if (!map_put(&w->by_thread,
			     (uint64_t)w->tracks.at[i].thread << 32 | w->tracks.at[i].lane, i))
			return -ENOMEM;
	w->sweep_at = 2 * kept > TRACKS_FIRST_SWEEP ? 2 * kept : TRACKS_FIRST_SWEEP;
	return 0;
}

static struct track *track_of(struct call_walk *w, const struct film_call *call)
{
	uint64_t key = (uint64_t)call->thread << 32 | call->lane;
	const uint64_t *known = map_get(&w->by_thread, key);

	if (known)
		return &w->tracks.at[*known];
	if (w->tracks.count >= w->sweep_at && sweep(w))
		return NULL;
	if (!vec_push(&w->tracks, (struct track){.thread = call->thread, .lane = call->lane}))
		return NULL;
	if (!map_put(&w->by_thread, key, w->tracks.count - 1)) {
		w->tracks.count--;
		return NULL;
	}
	return vec_last(&w->tracks);
}

int call_walk_add(struct call_walk *w, const struct film_call *call)
{
	uint64_t start = call->duration < call->end ? call->end - call->duration : 0;
	int err = call_walk_until(w, start);
	struct track *t;

	if (err)
		return err;
	t = track_of(w, call);
	if (!t)
		return -ENOMEM;
	while (!err && t->open.count && !contains(vec_last(&t->open), call))
		err = close_last(w, t, start);
	return err ? err : open_new(w, t, call);
}

/* What is still open here ends behind the span: told of, since it was there. */
int call_walk_end(struct call_walk *w)
{
	int err = call_walk_until(w, w->options.to);

	vec_foreach (&w->tracks, t)
		if (!err && t->open.count)
			err = emit_open(w, t);
	while (!err && w->dues.count)
		err = close_due(w);
	return err;
}
