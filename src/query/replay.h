/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_REPLAY_H
#define QUERY_REPLAY_H

#include "base/fail.h"
#include "film/reader.h"
#include "query/calls/walk.h"
#include "query/patterns.h"
#include "query/question.h"

/*
 * The calls of a film as they happened: beginnings and ends in order of time, across all threads.
 */

/* What is shown. All zero shows everything. */
struct replay_question {
	const char *event;	   /* null: that of calls */
	struct filter filter;	   /* its focus is as under, where that is empty */
	struct patterns functions; /* only calls of these */
	struct patterns under;	   /* only calls of these, and what they call */
	uint64_t min_time;	   /* ns, the tracer's cost included */
	unsigned int max_depth;	   /* levels; 0: all */
	bool no_values;		   /* calls are shown without arguments and results */
	bool raw;		   /* durations as measured: the tracer's cost stays in */
	size_t window;		   /* calls in memory at a time; 0: a million */
};

void replay_question_free(struct replay_question *q);

struct replay_sums {
	uint64_t film_calls; /* of the event, for any question */
	uint64_t told;	     /* of them, how many began or ended for take() */
};

/*
 * Calls take() with each event of what is asked for. A film with more calls than fit into a window
 * is read three times, a window at a time: then memory is for the calls of a window, and for those
 * that begin in one window and end in another. Returns 0, what take() returned if that is not 0, or
 * a negative errno with *why filled: -ENOENT if the film has no calls.
 */
int replay_film(struct film *film, const struct replay_question *q,
		int (*take)(void *context, const struct call_event *event), void *context,
		struct replay_sums *sums, struct fail *why);

/* What a frame is called; place is at least 256 bytes of the caller's, for one that has no name. */
const char *replay_name(const struct film *film, uint32_t frame, char *place, size_t size);

#endif
