// SPDX-License-Identifier: Apache-2.0
#include "sources/calls/tracks.h"

#include <stdlib.h>
#include <string.h>

/* At most this many stacks of threads, in a recording; a higher number is none of ours. */
#define TRACKS_MAX (1u << 24)

void calls_tracks_free(struct calls_tracks *tracks)
{
	vec_foreach (&tracks->rows, track) {
		vec_foreach (&track->given, given) {
			free(given->record);
			free(given->result);
		}
		vec_free(&track->given);
		vec_free(&track->ended);
	}
	vec_free(&tracks->rows);
}

struct calls_track_row *calls_tracks_row(struct calls_tracks *tracks, uint32_t number)
{
	while (tracks->rows.count <= number)
		if (number >= TRACKS_MAX || !vec_push(&tracks->rows, (struct calls_track_row){0}))
			return NULL;
	return &tracks->rows.at[number];
}

struct calls_track_row *calls_tracks_put(struct calls_tracks *tracks,
					 const struct calls_track *record)
{
	struct calls_track_row *track = calls_tracks_row(tracks, record->track);

	if (!track)
		return NULL;
	memcpy(track->comm, record->identity.comm, sizeof(track->comm));
	track->comm[sizeof(track->comm) - 1] = 0;
	track->pid = record->identity.pid;
	track->tid = record->identity.tid;
	/* goroutines that were first seen on the same thread are not on the same stack */
	track->lane =
		record->identity.key ? CALLS_LANES + record->track / CALLS_LANES : record->lane;
	track->known = true;
	return track;
}

struct calls_track_row *calls_tracks_get(struct calls_tracks *tracks, uint32_t number)
{
	return number < tracks->rows.count && tracks->rows.at[number].known
		       ? &tracks->rows.at[number]
		       : NULL;
}

uint64_t calls_tracks_end(struct calls_track_row *track, uint16_t depth, uint64_t ns,
			  const struct film_probe *probe, uint64_t *error)
{
	struct calls_ended below, *caller;
	uint64_t cost;

	*error = 0;
	while (track->ended.count <= depth + 1u)
		if (!vec_push(&track->ended, (struct calls_ended){0}))
			return ns;
	below = track->ended.at[depth + 1];
	track->ended.at[depth + 1] = (struct calls_ended){0};
	cost = below.cost + probe->own;
	ns = ns > cost ? ns - cost : 0;
	ns = ns > below.ns ? ns : below.ns;
	*error = below.error + probe->error;
	caller = &track->ended.at[depth];
	caller->cost += below.cost + probe->outer;
	caller->ns += ns;
	caller->error += *error;
	return ns;
}
