// SPDX-License-Identifier: Apache-2.0
/* Requests that are not over for a while: one that hangs has no end that could show it. */
#include "sources/requests/track_private.h"

/* What is shorter than that shows at its end alone. */
#define LASTING_NS 100000000ull

/* The most that are written into a film which they do not end in. */
#define LEAVING_MAX 4096

/* Its row, if it lasts; with the flags of one that has an end. */
static bool is_lasting(const struct asked *asked, uint64_t now, struct asked *copy)
{
	if (now < asked->begun || now - asked->begun < LASTING_NS)
		return false;
	*copy = *asked;
	copy->row.flags |= FILM_REQUEST_OPEN;
	requests_asked_row(copy, now);
	return true;
}

void requests_lasting_look(struct requests_track *track, uint64_t now)
{
	struct asked copy;

	if (!track->to.lasts)
		return;
	vec_foreach (&track->all, connection) {
		if (connection->role != FILM_REQUEST_SERVED)
			continue;
		vec_foreach (&connection->queue, asked)
			if (!asked->is_slow && is_lasting(asked, now, &copy))
				asked->is_slow = track->to.lasts(track->to.context, &copy.row,
								 copy.endpoint, &copy.identity);
	}
}

uint64_t requests_track_leave(struct requests_track *track, uint64_t now)
{
	uint64_t count = 0;
	struct asked copy;

	requests_evidence_see(&(struct requests_event){.track = track, .fact = REQUESTS_FACT_ENDS});
	vec_foreach (&track->all, connection)
		vec_foreach (&connection->queue, asked) {
			if (!is_lasting(asked, now, &copy) || count++ >= LEAVING_MAX)
				continue;
			copy.row.flags |= FILM_REQUEST_GOES_ON;
			/* also one with a part of an answer: its film ends now */
			copy.row.end = now;
			copy.row.duration = now - copy.begun;
			track->to.write(track->to.context, &copy.row, copy.endpoint, &copy.identity,
					true);
		}
	return count > LEAVING_MAX ? count - LEAVING_MAX : 0;
}

void requests_track_turn(struct requests_track *track)
{
	vec_foreach (&track->all, connection)
		vec_foreach (&connection->queue, asked) {
			asked->row.thread = track->to.thread(track->to.context, &asked->identity);
			asked->row.answerer =
				asked->is_answered
					? track->to.thread(track->to.context, &asked->answerer)
					: 0;
		}
}
