/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_CALLS_H
#define FILM_CALLS_H

#include "base/map.h"
#include "film/column.h"
#include "film/film.h"

/*
 * The layout of a block of calls. doc/film.md describes it; the idea: calls lie track by track (a
 * track is one stack of one thread), and what can be told from the calls of the same track before
 * is left out.
 *
 * A call is a leaf if the call before it in its track is not deeper; else that call and those
 * before it that are deeper lie within it. A leaf has the gap since the end of the call before and
 * its duration; an inner call has the time from its start to that of the first call within it, and
 * from the end of the last one to its own. These are small numbers, also where durations are long.
 */

/* One stack of one thread, in a block. */
struct film_track {
	uint32_t thread, lane;
	size_t count;
	uint64_t start; /* of its first call */
	size_t next;	/* where its next call goes, or is taken from */
};

/* Calls of one depth that follow each other, with all that lies within them. */
struct call_run {
	uint32_t depth;
	uint64_t start;	 /* of the first one */
	uint64_t waited; /* by all of them */
};

/* Those of a track whose caller is still to come, deeper ones last. */
struct call_runs {
	vec(struct call_run) open;
};

/* Makes blocks of calls; one of these serves many blocks. All zero is empty. */
struct calls_packer {
	struct map tracks; /* by thread and lane */
	vec(struct film_track) track;
	vec(uint32_t) track_of; /* by call */
	vec(uint32_t) order;	/* calls by track, those of one by their end */
	vec(uint64_t) numbers;
	struct call_runs runs;
};

/*
 * Packs calls (at least one, at most FILM_BLOCK_MAX; those of one track in the order of their ends,
 * else they are put in that order) into c->packed. 0, or a negative errno.
 */
int calls_pack(struct calls_packer *p, struct columns *c, const struct film_call *calls,
	       size_t count);
void calls_packer_free(struct calls_packer *p);

/* Which track's call comes next, when the tracks are merged. */
struct call_turn {
	uint64_t end;
	uint32_t track;
};

/* Takes blocks of calls apart; one of these serves many blocks. All zero is empty. */
struct calls_reader {
	struct column_reader columns;
	vec(struct film_track) track;
	vec(struct call_turn) heap; /* that of the least end first */
	vec(uint32_t) order;
	vec(uint64_t) numbers;
	vec(uint64_t) times; /* three columns, twice: by track, and in order */
	vec(uint32_t) rest;  /* six columns, twice */
	struct call_runs runs;
};

/*
 * Takes a block of count calls apart; *calls points into r until the next call. -EBADMSG when the
 * data is not valid, or names a thread or frame from threads or frames on.
 */
int calls_unpack(struct calls_reader *r, const void *data, size_t size, size_t count,
		 uint64_t threads, uint64_t frames, struct film_calls *calls);
void calls_reader_free(struct calls_reader *r);

/*
 * For both: takes the next call of a track. Returns true if calls before it lie within it; *inner
 * then is the start of the first and what all have waited.
 */
bool call_runs_within(struct call_runs *runs, uint32_t depth, struct call_run *inner);
/* And when its times are known; false: no memory. */
bool call_runs_add(struct call_runs *runs, uint32_t depth, uint64_t start, uint64_t waited);

#endif
