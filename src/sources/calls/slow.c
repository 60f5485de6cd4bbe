// SPDX-License-Identifier: Apache-2.0
#include "sources/calls/slow.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"

/* Calls of one track, and of all, that wait: about 100 MB. */
#define WAITING_MAX (1u << 20)

struct waiting_call {
	struct film_call call;
	bool kept;
};

struct slow_track {
	vec(struct waiting_call) calls;
};

struct calls_slow {
	uint64_t threshold;
	calls_slow_keep *keep;
	void *context;
	struct map tracks; /* number -> struct slow_track * */
	size_t waiting;
	uint64_t dropped, not_waited_for;
};

struct calls_slow *calls_slow_new(uint64_t threshold, calls_slow_keep *keep, void *context)
{
	struct calls_slow *slow = calloc(1, sizeof(*slow));

	if (!slow)
		return NULL;
	slow->threshold = threshold;
	slow->keep = keep;
	slow->context = context;
	return slow;
}

static struct slow_track *track_of(struct calls_slow *slow, uint32_t number)
{
	uint64_t *known = map_get(&slow->tracks, number);
	struct slow_track *track;

	if (known)
		return (struct slow_track *)(uintptr_t)*known;
	track = calloc(1, sizeof(*track));
	if (track && !map_put(&slow->tracks, number, (uintptr_t)track)) {
		free(track);
		track = NULL;
	}
	return track;
}

/* All that waits in a track leaves: kept ones to the film. *fast counts the others. */
static void let_go(struct calls_slow *slow, struct slow_track *track, uint64_t *fast)
{
	vec_foreach (&track->calls, waiting) {
		if (waiting->kept)
			slow->keep(slow->context, &waiting->call);
		else
			++*fast;
	}
	slow->waiting -= track->calls.count;
	track->calls.count = 0;
}

static void let_all_go(struct calls_slow *slow, uint64_t *fast)
{
	uint64_t number, track;
	size_t i = 0;

	while (map_next(&slow->tracks, &i, &number, &track))
		let_go(slow, (struct slow_track *)(uintptr_t)track, fast);
}

void calls_slow_free(struct calls_slow *slow)
{
	uint64_t number, track;
	size_t i = 0;

	if (!slow)
		return;
	while (map_next(&slow->tracks, &i, &number, &track)) {
		vec_free(&((struct slow_track *)(uintptr_t)track)->calls);
		free((void *)(uintptr_t)track);
	}
	map_free(&slow->tracks);
	free(slow);
}

/* A slow call has ended: what it called stands right before it, deeper than it. */
static void keep_subtree(struct slow_track *track)
{
	size_t i = track->calls.count - 1;
	uint32_t depth = track->calls.at[i].call.depth;

	track->calls.at[i].kept = true;
	while (i-- && track->calls.at[i].call.depth > depth)
		track->calls.at[i].kept = true;
}

void calls_slow_add(struct calls_slow *slow, uint32_t number, const struct film_call *call)
{
	struct slow_track *track = track_of(slow, number);

	if (slow->waiting >= WAITING_MAX)
		let_all_go(slow, &slow->not_waited_for);
	if (!track || !vec_push(&track->calls, (struct waiting_call){*call, false})) {
		slow->not_waited_for++;
		return;
	}
	slow->waiting++;
	if (call->duration >= slow->threshold)
		keep_subtree(track);
	if (!call->depth)
		let_go(slow, track, &slow->dropped);
}

void calls_slow_finish(struct calls_slow *slow)
{
	let_all_go(slow, &slow->dropped);
}

void calls_slow_counts(const struct calls_slow *slow, uint64_t *dropped, uint64_t *not_waited_for)
{
	*dropped = slow->dropped;
	*not_waited_for = slow->not_waited_for;
}
