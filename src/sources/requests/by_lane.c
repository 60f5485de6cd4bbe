// SPDX-License-Identifier: Apache-2.0
/* Evidence: the goroutine that makes a request serves just one, or the one that started it does. */
#include "sources/requests/track_private.h"

/*
 * The request of the goroutine that has started that one, or of one further up: if it has served
 * that one alone ever since it started what leads there. 0: not known.
 */
static uint64_t find_by_start(struct requests_track *track, struct asked *asked, uint64_t goroutine)
{
	const struct requests_start *start = requests_starts_find(track->starts, goroutine);
	struct requests_line *line = &asked->line;
	uint64_t parent = 0, open = 0;

	while (start && !start->handles && !open && line->count < REQUESTS_LINE_MAX) {
		uint64_t starter = start->starter, since = start->since;

		line->goroutines[line->count++] = start->goroutine;
		open = requests_open_find(&track->by_goroutine, starter, &parent);
		parent = requests_open_since(&track->by_goroutine, starter, since);
		start = requests_starts_find(track->starts, starter);
	}
	/* of several it may yet be the one that it has worked for before */
	if (open > 1 || !requests_starts_made(track->starts, line, parent))
		parent = 0;
	if (!parent)
		line->count = 0;
	return parent;
}

/*
 * A goroutine does one thing after the other, on whichever thread: what it makes while it serves
 * one request is made for that one. If it serves none, the one may that has started it.
 */
static void find_by_goroutine(struct requests_track *track, struct asked *asked, uint64_t maker)
{
	uint64_t key = requests_served_task(&asked->identity, maker);
	uint64_t open = key ? requests_open_find(&track->by_goroutine, key, &asked->row.parent) : 0;

	if (open == 1 && asked->row.parent) {
		asked->row.flags |= FILM_REQUEST_PARENT_BY_GOROUTINE;
		return;
	}
	asked->row.parent = key && !open ? find_by_start(track, asked, key) : 0;
	if (asked->row.parent)
		asked->row.flags |= FILM_REQUEST_PARENT_BY_START;
}

void requests_streams_asker(struct requests_track *track, struct asked *asked, uint64_t number)
{
	asked->row.goroutine = number;
	if (!asked->row.parent)
		find_by_goroutine(track, asked, number);
}

/* One that is made in Go: its threads run goroutines in turn, and say nothing. */
static bool made_by_lane(void *state, const struct requests_event *event)
{
	const struct requests_record *record = event->record;
	struct requests_track *track = event->track;
	struct asked *asked = event->asked;
	uint64_t maker = record->works_for ? record->works_for : record->task;
	const struct requests_start *start;
	uint64_t asker;

	(void)state;
	if (!requests_served_has_lanes(track, &asked->identity))
		return false;
	asker = asked->stream ? requests_streams_made(track, asked, event->connection->reader) : 0;
	if (asked->row.flags & FILM_REQUEST_PARENT_BY_ID)
		return true;
	asked->row.parent = 0;
	if (asker) {
		requests_streams_asker(track, asked, asker);
		return true;
	}
	find_by_goroutine(track, asked, maker);
	start = asked->stream && asked->line.count
			? requests_starts_find(track->starts, asked->line.goroutines[0])
			: NULL;
	/* net/http starts a goroutine for each request of HTTP/2, and waits for it */
	if (start)
		asked->row.goroutine = start->number;
	return true;
}

/* -- those that the start of a goroutine tells: it may yet work for others --------------------- */

static bool keep(void *state, const struct asked *asked, struct asked *kept)
{
	return asked->line.count && kept &&
	       requests_starts_keep(state, &asked->line, asked->row.parent, kept);
}

static void release(void *context, void *kept, bool is_right)
{
	struct asked *asked = kept;

	if (!is_right) {
		asked->row.parent = 0;
		asked->row.flags &= ~(uint32_t)FILM_REQUEST_PARENT_BY_START;
		asked->is_one_of = true;
	}
	requests_evidence_settle(context, &requests_by_lane, asked, 0);
}

static bool is_served(void *context, uint64_t number)
{
	return map_get(context, number);
}

static void tick(const struct requests_track *track)
{
	struct map open = {0};

	if (!requests_starts_has_kept(track->starts))
		return;
	vec_foreach (&track->all, connection)
		vec_foreach (&connection->queue, asked)
			/* without memory it is taken to be over */
			if (asked->row.role == FILM_REQUEST_SERVED)
				(void)!map_put(&open, asked->row.number, 1);
	requests_starts_tick(track->starts, is_served, &open);
	map_free(&open);
}

static void see(void *state, const struct requests_event *event)
{
	switch (event->fact) {
	case REQUESTS_FACT_SERVES:
	case REQUESTS_FACT_STREAMS:
		if (event->asked->stream)
			requests_streams_begin(event->track, event->asked, event->record);
		break;
	case REQUESTS_FACT_OVER:
		requests_streams_end(event->track, event->asked);
		break;
	case REQUESTS_FACT_TICK:
		tick(event->track);
		break;
	case REQUESTS_FACT_ENDS:
		requests_starts_flush(state);
		break;
	default:
		break;
	}
}

static void *create(struct requests_track *track)
{
	return track->starts = requests_starts_new(release, track);
}

static void free_state(void *state)
{
	requests_starts_free(state);
}

const struct requests_evidence requests_by_lane = {
	.flags = FILM_REQUEST_PARENT_BY_GOROUTINE | FILM_REQUEST_PARENT_BY_START,
	.create = create,
	.free = free_state,
	.made = made_by_lane,
	.keep = keep,
	.see = see,
};
