/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_CALLS_VIEW_H
#define QUERY_CALLS_VIEW_H

#include "query/calls/paths.h"
#include "query/calls/stats.h"
#include "query/filter.h"

/* What a film tells of calls, seen through a filter. */
struct call_view {
	struct call_paths paths;
	struct call_stats *
		*of_frame; /* per frame of the film: null where it has no calls that count */
	uint32_t frame_count;
	struct call_cost *costs; /* per frame; null: not known, or not wanted */
	bool is_summary;	 /* sums, no single calls: a path per function, without callers */
	bool is_raw;		 /* the tracer's cost was not to be subtracted */
	uint64_t calls, inferred, open, cut;
	uint64_t film_calls;	    /* in the film, for any question */
	uint64_t below[CALL_MARKS]; /* of calls: made by one that is not in the film */
	uint64_t subtracted;	    /* ns of the tracer's cost */
	uint64_t no_path;  /* of calls: their time stands with their callers, see CALL_PATHS_MAX */
	uint64_t no_track; /* calls that do not count: made on too many stacks */
};

/* Which calls are asked for; [from, to) of the film's time. */
struct call_question {
	const struct filter_kept *kept;
	uint64_t from, to;
	bool by_thread; /* each thread has its own paths; else each process */
	bool is_raw;
	bool is_whole; /* no filter but one on functions' names: sums can answer no other */
};

void call_view_free(struct call_view *calls);

/* The stats of a frame, made if there are none yet; null: no memory. */
struct call_stats *call_view_stats(struct call_view *calls, uint32_t frame);

#endif
