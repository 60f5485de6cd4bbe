/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_REPLAY_H
#define QUERY_REPLAY_H

#include "base/fail.h"
#include "film/reader.h"
#include "query/calls/walk.h"
#include "query/patterns.h"
#include "query/question.h"

/* Replays the calls of a film: entries and exits in order of time, across all threads. */

/* Selects what is replayed. All zero: everything. */
struct replay_question {
	const char *event;	   /* null: the film's event of calls */
	struct filter filter;	   /* its focus acts as under, if under is empty */
	struct patterns functions; /* only calls of these functions */
	struct patterns under;	   /* only calls of these functions, and what they call */
	uint64_t min_time;	   /* ns, including the tracer's cost */
	unsigned int max_depth;	   /* levels; 0: all */
	bool no_values;		   /* without arguments and results */
	bool raw;		   /* durations as measured, including the tracer's cost */
	size_t window;		   /* most calls in memory at a time; 0: a million */
};

void replay_question_free(struct replay_question *q);

struct replay_sums {
	uint64_t film_calls; /* calls of the event, before filtering */
	uint64_t told;	     /* calls of which emit() got an entry or exit */
};

/*
 * Calls emit() with each selected entry and exit. A film with more calls than q->window is read
 * three times, one window at a time: memory then holds the calls of a window, and those that span
 * windows. Returns 0, the result of emit() if that is not 0, or a negative errno with *why filled;
 * -ENOENT: the film has no calls.
 */
int replay_film(struct film *film, const struct replay_question *q,
		int (*emit)(void *context, const struct call_event *event), void *context,
		struct replay_sums *sums, struct fail *why);

/* The name of a frame. place: a buffer of at least 256 bytes for the name of an unnamed frame. */
const char *replay_name(const struct film *film, uint32_t frame, char *place, size_t size);

#endif
