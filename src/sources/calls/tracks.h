/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_CALLS_TRACKS_H
#define SOURCES_CALLS_TRACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "bpf/calls/abi.h"
#include "bpf/inspect/abi.h"
#include "sources/calls/calls.h"
#include "film/film.h"

/* What calls add up to. */
struct calls_ended {
	uint64_t cost;	/* ns: the tracer's */
	uint64_t ns;	/* durations without that */
	uint64_t error; /* ns to which these are known */
};

/* The arguments of a call, and its results; both are owned, and null until they come. */
struct calls_values {
	uint64_t start;
	uint32_t depth;
	struct inspect_record *record, *result;
};

/*
 * The callers: the threads, and the stacks of each, under the numbers that the kernel side gave
 * them.
 */
struct calls_track_row {
	uint32_t thread; /* of the film */
	uint32_t pid, tid, lane;
	bool known;    /* it was announced */
	bool unwanted; /* its process is not meant after all */
	char comm[16];
	/* by depth: of calls that have ended, and whose caller has not */
	vec(struct calls_ended) ended;
	/* --args: of calls that have not ended as far as is known, in the order of their starts */
	vec(struct calls_values) given;
	struct call_heard held; /* --args: has begun, and its arguments are waited for */
	bool has_held;
};

struct calls_tracks {
	vec(struct calls_track_row) rows;
};

void calls_tracks_free(struct calls_tracks *tracks);

/*
 * A track was announced; null: no memory, or its number is not to be believed. Lives until the next
 * one.
 */
struct calls_track_row *calls_tracks_put(struct calls_tracks *tracks,
					 const struct calls_track *record);

/*
 * The row of a track that may still be announced: null: no memory, or its number is not to be
 * believed.
 */
struct calls_track_row *calls_tracks_row(struct calls_tracks *tracks, uint32_t number);

/* The track of that number, or null. */
struct calls_track_row *calls_tracks_get(struct calls_tracks *tracks, uint32_t number);

/*
 * A call of that depth has ended, after that many ns. Returns its duration without the tracer's
 * cost, that of the call itself and of all calls below it, which ended before; it is not less than
 * theirs. *error: ns by which that may be off. probe: what tracing the function costs; its frame is
 * not used.
 */
uint64_t calls_tracks_end(struct calls_track_row *track, uint16_t depth, uint64_t ns,
			  const struct film_probe *probe, uint64_t *error);

#endif
