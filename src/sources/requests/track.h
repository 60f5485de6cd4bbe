/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_REQUESTS_TRACK_H
#define SOURCES_REQUESTS_TRACK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sources/requests/record.h"
#include "film/film.h"
#include "protocol/protocol.h"

/*
 * Follows connections, piece by piece in order of time, and finds which answer is of which request,
 * and for which request that was served another one was made. Bounded in all that it keeps.
 */
struct requests_track;

/* What it needs of others. */
struct requests_to {
	/* the film's row for a thread; 0: none */
	uint32_t (*thread)(void *context, const struct capture_identity *identity);
	/*
	 * fills the row's endpoint and stack, and writes it; endpoint: as a text; identity: of
	 * row->thread
	 */
	void (*write)(void *context, struct film_request *row, const char *endpoint,
		      const struct capture_identity *identity, bool is_slow);
	/*
	 * one that is served is not over yet, and has taken row->duration; asked about once a
	 * second. True: it is slow, and is not asked of again. write() has is_slow then. May be
	 * null
	 */
	bool (*lasts)(void *context, const struct film_request *row, const char *endpoint,
		      const struct capture_identity *identity);
	/*
	 * whether a process has goroutines: then they tell for which request another one is made,
	 * and not its threads. May be null
	 */
	bool (*has_goroutines)(void *context, pid_t pid);
	void *context;
	bool keep_query; /* as of struct protocol_sink */
	/* a number that this machine has since it was started, and most likely no other one */
	uint64_t machine;
};

/* What was lost, and how often. */
struct requests_counts {
	struct protocol_losses protocols;
	uint64_t refused;      /* connections for which there was no room */
	uint64_t queued;       /* requests of a connection that had too many without an answer */
	uint64_t unknown_side; /* pieces of which it is not known who sent them */
	uint64_t before;       /* answers to requests from before the recording, or to none */
	uint64_t unread;       /* pieces whose beginning could not be read */
	uint64_t no_call;      /* those of calls whose memory is not found */
	uint64_t gaps;	       /* pieces whose records were lost */
	uint64_t ambiguous;    /* requests made by a thread that served several at once */
	uint64_t unchecked;    /* of the first ones that a thread made: too many (early.h) */
	uint64_t damaged;      /* records that are none */
};

/* first: the number of the first request, higher than those of all recordings before. */
struct requests_track *requests_track_new(const struct requests_to *to, uint64_t first);
void requests_track_free(struct requests_track *track); /* null is allowed */

/* A record of the kernel, of a process that is meant. */
void requests_track_handle(struct requests_track *track, const struct requests_record *record);
/*
 * The same of one from before all programs of the recording were attached: what it moves does not
 * count, as an answer may have gone unseen, but what it says of its connection and its thread is
 * not said again.
 */
void requests_track_meet(struct requests_track *track, const struct requests_record *record);
/* A thread of such a process connects: a REQUESTS_OPENED. */
void requests_track_opened(struct requests_track *track, const struct requests_record *record);
/* A REQUESTS_STARTED, REQUESTS_HANDLES, or REQUESTS_ASKS. */
void requests_track_started(struct requests_track *track, const struct requests_started *started);
/* time: ns, when it was. */
void requests_track_closed(struct requests_track *track, uint64_t connection, uint64_t time);

/*
 * About once a second: answers without a known end that had nothing for a second are over, and
 * connections that had nothing for long are forgotten.
 */
void requests_track_tick(struct requests_track *track, uint64_t now);

/*
 * The film ends and another one follows: what has gone on for a while is written as it is, and will
 * be again. Returns how many of them were too many.
 */
uint64_t requests_track_leave(struct requests_track *track, uint64_t now);

/* Another film: threads have other rows. */
void requests_track_turn(struct requests_track *track);

/* The recording ends: all that goes on is written as it is. */
void requests_track_finish(struct requests_track *track, uint64_t now);

struct requests_counts requests_track_counts(const struct requests_track *track);

#endif
