// SPDX-License-Identifier: Apache-2.0
#include "record/drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/vec.h"
#include "bpf/capture/abi.h"

/*
 * At most this many records and events are taken between two looks at processes that wait for
 * probes.
 */
#define TURNS 256

/* The last stack handed over on each ring: its record comes right behind. */
struct handover_slot {
	struct capture_handover *at;
	size_t room;
};

struct drain {
	struct drain_parts parts;
	struct arrivals *arrivals;	 /* null: no process is held */
	struct handover_slot *handovers; /* by ring */
	vec(struct target_event) events; /* of the drain under way; paths are copies */
	size_t next_event;
	unsigned int turns; /* records and events taken */
	uint64_t sideband_lost;
	uint64_t events_dropped; /* for lack of memory */
};

int drain_new(const struct drain_parts *parts, struct drain **result)
{
	struct drain *drain = calloc(1, sizeof(*drain));

	if (!drain)
		return -ENOMEM;
	drain->parts = *parts;
	drain->handovers = calloc(rings_count(parts->rings), sizeof(*drain->handovers));
	if (!drain->handovers) {
		free(drain);
		return -ENOMEM;
	}
	*result = drain;
	return 0;
}

void drain_for(struct drain *drain, struct arrivals *arrivals)
{
	drain->arrivals = arrivals;
}

static void forget_events(struct drain *drain)
{
	vec_foreach (&drain->events, event)
		free((char *)(uintptr_t)event->path);
	drain->events.count = drain->next_event = 0;
}

void drain_free(struct drain *drain)
{
	unsigned int i;

	if (!drain)
		return;
	for (i = 0; i < rings_count(drain->parts.rings); i++)
		free(drain->handovers[i].at);
	free(drain->handovers);
	forget_events(drain);
	vec_free(&drain->events);
	free(drain);
}

/* Where much is taken at a time, another thread may come to wait meanwhile. */
static void handle_arrivals(struct drain *drain)
{
	if (!(++drain->turns % TURNS))
		arrivals_handle(drain->arrivals);
}

static void keep_event(void *context, const struct target_event *event)
{
	struct drain *drain = context;
	struct target_event copy = *event;

	handle_arrivals(drain);
	copy.path = event->path ? strdup(event->path) : NULL;
	if ((event->path && !copy.path) || !vec_push(&drain->events, copy)) {
		drain->events_dropped++;
		free((char *)(uintptr_t)copy.path);
		samples_events_lost(drain->parts.samples);
	}
}

/* Handles all events up to time. */
static void handle_events(struct drain *drain, uint64_t time)
{
	while (drain->next_event < drain->events.count &&
	       drain->events.at[drain->next_event].time <= time) {
		const struct target_event *event = &drain->events.at[drain->next_event++];

		handle_arrivals(drain);
		arrivals_event(drain->arrivals, event);
		samples_event(drain->parts.samples, event);
		arrivals_event(drain->arrivals, NULL);
	}
}

/* Keeps a stack that was handed over until its record comes: it has to leave the ring before. */
static void keep_handover(struct handover_slot *slot, const struct capture_handover *handover)
{
	size_t size = sizeof(*handover) + handover->copied;

	if (slot->room < size) {
		free(slot->at);
		slot->at = malloc(sizeof(*handover) + CAPTURE_COPY_MAX);
		slot->room = slot->at ? sizeof(*handover) + CAPTURE_COPY_MAX : 0;
	}
	if (slot->at && size <= slot->room)
		memcpy(slot->at, handover, size);
}

static void handle_record(struct drain *drain, unsigned int ring, const struct capture_head *head)
{
	struct handover_slot *slot = &drain->handovers[ring];

	/* CAPTURE_HOLD has done its work when it woke this thread */
	if (head->kind == CAPTURE_HANDOVER)
		keep_handover(slot, (const struct capture_handover *)head);
	else
		sources_handle(drain->parts.sources, head, slot->at);
}

/* The recording is over, and was not when that round began. */
static bool is_over(const struct drain *drain, uint64_t now)
{
	const uint64_t until = *drain->parts.until;

	return until && now < until && clock_ns() >= until;
}

int drain_step(struct drain *drain, uint64_t now, struct fail *why)
{
	const struct drain_parts *parts = &drain->parts;
	const uint64_t until = *parts->until;
	/*
	 * a record that was made just before the recording's end became known to programs in the
	 * kernel, and is later than that, stands before others in its ring (source_handle() leaves
	 * it out)
	 */
	const uint64_t limit = until && now >= until ? UINT64_MAX : now;
	uint64_t lost = sideband_lost(parts->sideband);
	const struct capture_head *head;
	unsigned int ring;
	int err;

	/* another thread waits for that */
	arrivals_handle(drain->arrivals);
	if (lost != drain->sideband_lost)
		samples_events_lost(parts->samples);
	drain->sideband_lost = lost;
	err = sideband_read(parts->sideband, now, keep_event, drain, why);
	/* a damaged event counts as lost; the rest can go on */
	if (err && err != -EIO)
		return err;
	while ((head = rings_next(parts->rings, limit, &ring))) {
		handle_arrivals(drain);
		handle_events(drain, head->time < now ? head->time : now);
		handle_record(drain, ring, head);
		if (is_over(drain, now))
			return 0;
	}
	handle_events(drain, now);
	forget_events(drain);
	sources_drained(parts->sources, now);
	return 0;
}

uint64_t drain_events_lost(const struct drain *drain)
{
	return drain ? drain->sideband_lost + drain->events_dropped : 0;
}
