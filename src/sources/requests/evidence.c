// SPDX-License-Identifier: Apache-2.0
#include "sources/requests/evidence.h"

#include <stdlib.h>

#include "sources/requests/track_private.h"

/* -- the id ------------------------------------------------------------------------------------ */

/* Just one that the process serves has the same id. */
static bool made_by_id(void *state, const struct requests_event *event)
{
	struct requests_track *track = event->track;
	struct asked *asked = event->asked;

	(void)state;
	if (asked->id_key)
		requests_open_find(&track->by_id, asked->id_key, &asked->row.parent);
	if (asked->row.parent)
		asked->row.flags |= FILM_REQUEST_PARENT_BY_ID;
	return false;
}

static const struct requests_evidence by_id = {
	.flags = FILM_REQUEST_PARENT_BY_ID,
	.made = made_by_id,
};

/* -- the thread -------------------------------------------------------------------------------- */

/* Its thread serves just one. */
static bool made_by_thread(void *state, const struct requests_event *event)
{
	struct requests_track *track = event->track;
	struct asked *asked = event->asked;
	uint64_t only;

	(void)state;
	asked->thread_serves =
		requests_open_find(&track->by_thread, key_of_thread(&asked->identity), &only);
	if (!asked->row.parent)
		asked->row.parent = only;
	asked->is_one_of = asked->thread_serves && !asked->row.parent;
	return false;
}

static const struct requests_evidence by_thread = {.made = made_by_thread};

/* -- the table --------------------------------------------------------------------------------- */

/* The first one has the highest rank. */
static const struct requests_evidence *const rows[] = {
	&by_id,
	&requests_by_marker,
	&by_thread,
	/* of Go: it replaces what the thread says, which runs goroutines in turn */
	&requests_by_lane,
	&requests_by_task,
	&requests_by_order,
	&requests_by_content,
	/* doubts what the thread says */
	&requests_by_thread_alone,
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))
_Static_assert(ROWS <= REQUESTS_EVIDENCES_MAX, "states of struct requests_track");

bool requests_evidence_create(struct requests_track *track)
{
	for (size_t i = 0; i < ROWS; i++) {
		if (!rows[i]->create)
			continue;
		track->states[i] = rows[i]->create(track);
		if (!track->states[i])
			return false;
	}
	return true;
}

/* Whether a row is there: requests may be made or over while others are freed. */
static bool is_there(const struct requests_track *track, size_t i)
{
	return !rows[i]->create || track->states[i];
}

void requests_evidence_free(struct requests_track *track)
{
	requests_evidence_see(&(struct requests_event){.track = track, .fact = REQUESTS_FACT_ENDS});
	for (size_t i = 0; i < ROWS; i++) {
		if (rows[i]->free && track->states[i])
			rows[i]->free(track->states[i]);
		track->states[i] = NULL;
	}
}

void requests_evidence_made(const struct requests_event *event)
{
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i]->made && rows[i]->made(event->track->states[i], event))
			return;
}

void requests_evidence_see(const struct requests_event *event)
{
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i]->see && is_there(event->track, i))
			rows[i]->see(event->track->states[i], event);
}

bool requests_evidence_is_thread(const struct asked *asked)
{
	uint32_t flags = 0;

	for (size_t i = 0; i < ROWS; i++)
		flags |= rows[i]->flags;
	return asked->row.parent && !(asked->row.flags & flags);
}

/* -- requests that are over -------------------------------------------------------------------- */

/* It is known now, as far as it ever will be. */
static void write_row(struct requests_track *track, struct asked *asked)
{
	track->counts.ambiguous += asked->is_one_of && !asked->row.parent;
	track->to.write(track->to.context, &asked->row, asked->endpoint, &asked->identity,
			asked->is_slow);
}

/* Whether one of the rows from there on keeps it. */
static bool is_kept(struct requests_track *track, size_t from, const struct asked *asked,
		    struct asked *kept)
{
	for (size_t i = from; i < ROWS; i++)
		if (rows[i]->keep && is_there(track, i) &&
		    rows[i]->keep(track->states[i], asked, kept))
			return true;
	return false;
}

void requests_evidence_over(struct requests_track *track, struct asked *asked, uint64_t time)
{
	bool is_made = asked->row.role == FILM_REQUEST_MADE;
	struct asked *kept = is_made ? malloc(sizeof(*kept)) : NULL;

	if (kept)
		*kept = *asked;
	if (!is_made || !is_kept(track, 0, asked, kept)) {
		free(kept);
		write_row(track, asked);
	}
	requests_evidence_see(&(struct requests_event){
		.track = track, .fact = REQUESTS_FACT_OVER, .asked = asked, .time = time});
}

void requests_evidence_settle(struct requests_track *track, const struct requests_evidence *row,
			      struct asked *kept, uint64_t parent)
{
	size_t rank = 0;

	while (rows[rank] != row)
		rank++;
	if (parent) {
		kept->row.parent = parent;
		kept->row.flags |= row->flags;
	}
	if (is_kept(track, rank + 1, kept, kept))
		return;
	write_row(track, kept);
	free(kept);
}
