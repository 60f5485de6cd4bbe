// SPDX-License-Identifier: Apache-2.0
#include "sources/requests/early.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"
#include "sources/requests/track_private.h"

/* How long after the recording's beginning that is; and for how many ticks they are kept. */
#define EARLY_NS   10000000000ull
#define KEPT_TICKS 5

/* The most threads and requests. */
#define THREADS_MAX 65536
#define KEPT_MAX    65536

struct kept {
	uint64_t thread, begun;
	void *kept;
	unsigned int ticks;
};

struct requests_early {
	requests_early_release *release;
	void *context;
	uint64_t first;	     /* when the recording began */
	struct map answered; /* threads: when they answered one from before last */
	vec(struct kept) kept;
	bool has_unnoted; /* there are more threads than those of answered */
	uint64_t unchecked;
};

struct requests_early *requests_early_new(requests_early_release *release, void *context)
{
	struct requests_early *early = calloc(1, sizeof(*early));

	if (early) {
		early->release = release;
		early->context = context;
	}
	return early;
}

void requests_early_free(struct requests_early *early)
{
	if (!early)
		return;
	requests_early_flush(early);
	map_free(&early->answered);
	vec_free(&early->kept);
	free(early);
}

void requests_early_now(struct requests_early *early, uint64_t time)
{
	if (!early->first)
		early->first = time;
}

void requests_early_answered(struct requests_early *early, uint64_t thread, uint64_t time)
{
	bool has_room = early->answered.count < THREADS_MAX || map_get(&early->answered, thread);

	if (!has_room || !map_put(&early->answered, thread, time))
		early->has_unnoted = true;
}

bool requests_early_keep(struct requests_early *early, uint64_t thread, uint64_t begun, void *kept)
{
	const struct kept one = {thread, begun, kept, 0};

	if (begun >= early->first + EARLY_NS)
		return false;
	if (kept && early->kept.count < KEPT_MAX && vec_push(&early->kept, one))
		return true;
	early->unchecked++;
	return false;
}

static void release_one(struct requests_early *early, const struct kept *one)
{
	const uint64_t *answered = map_get(&early->answered, one->thread);

	early->unchecked += !answered && early->has_unnoted;
	early->release(early->context, one->kept, answered && *answered >= one->begun);
}

void requests_early_tick(struct requests_early *early)
{
	size_t rest = 0;

	for (size_t i = 0; i < early->kept.count; i++) {
		struct kept one = early->kept.at[i];

		if (++one.ticks < KEPT_TICKS)
			early->kept.at[rest++] = one;
		else
			release_one(early, &one);
	}
	early->kept.count = rest;
}

void requests_early_flush(struct requests_early *early)
{
	vec_foreach (&early->kept, one)
		release_one(early, one);
	early->kept.count = 0;
}

uint64_t requests_early_unchecked(const struct requests_early *early)
{
	return early->unchecked;
}

/* -- the row of the table of evidence ---------------------------------------------------------- */

static bool keep(void *state, const struct asked *asked, struct asked *kept)
{
	return requests_evidence_is_thread(asked) &&
	       requests_early_keep(state, key_of_thread(&asked->identity), asked->begun, kept);
}

static void release_asked(void *context, void *kept, bool is_wrong)
{
	struct asked *asked = kept;

	if (is_wrong) {
		asked->row.parent = 0;
		asked->is_one_of = true;
	}
	requests_evidence_settle(context, &requests_by_thread_alone, asked, 0);
}

static void see(void *state, const struct requests_event *event)
{
	switch (event->fact) {
	case REQUESTS_FACT_RECORD:
		requests_early_now(state, event->record->head.time);
		break;
	case REQUESTS_FACT_ANSWERS_OLDER:
		requests_early_answered(state, event->number, event->time);
		break;
	case REQUESTS_FACT_TICK:
		requests_early_tick(state);
		break;
	case REQUESTS_FACT_ENDS:
		requests_early_flush(state);
		break;
	default:
		break;
	}
	/* each of its functions is followed by an event */
	event->track->counts.unchecked = requests_early_unchecked(state);
}

REQUESTS_EVIDENCE_STATE(requests_early, release_asked)

const struct requests_evidence requests_by_thread_alone = {
	.create = create,
	.free = free_state,
	.keep = keep,
	.see = see,
};
