/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAMERA_CALLS_TRACKS_H
#define CAMERA_CALLS_TRACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "bpf/calls_abi.h"

/* Who calls: the threads, and the stacks of each, under the numbers that the kernel side gave them. */
struct calls_track_row {
	uint32_t thread; /* of the film */
	uint32_t pid, tid, lane;
	bool known;    /* it was announced */
	bool unwanted; /* its process is not meant after all */
	char comm[16];
	/* by depth: the tracer's cost in calls that have ended, and whose caller has not */
	vec(uint64_t) costs;
};

struct calls_tracks {
	vec(struct calls_track_row) rows;
};

void calls_tracks_free(struct calls_tracks *tracks);

/* A track was announced; null: no memory, or its number is not to be believed. Lives until the next one. */
struct calls_track_row *calls_tracks_put(struct calls_tracks *tracks,
					 const struct calls_track *record);

/* The track of that number, or null. */
struct calls_track_row *calls_tracks_get(struct calls_tracks *tracks, uint32_t number);

/*
 * A call of that depth has ended, whose probe costs own ns within its duration, and outer ns of its callers.
 * Returns the tracer's whole cost within its duration: its own, and that of all calls below it, which ended
 * before.
 */
uint64_t calls_tracks_cost(struct calls_track_row *track, uint16_t depth, uint32_t own,
			   uint32_t outer);

#endif
