/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_CALLS_VIEW_H
#define QUERY_CALLS_VIEW_H

#include "query/calls/paths.h"
#include "query/filter.h"
#include "query/latency.h"

/* The calls of one function. Times in ns, without the tracer's cost unless that is wanted. */
struct call_stats {
	uint64_t calls;
	uint64_t inferred; /* of calls: their return was not seen, a guess */
	/* ns of these: after the last that shows them open, and after the last that they called */
	uint64_t unsure, unsure_self;
	uint64_t open; /* of calls: had not ended */
	uint64_t cut;  /* of calls: reach over the span that is looked at; only that part counts */
	/* of the calls that are neither open nor cut: */
	uint64_t measured, sum, min, max;
	uint64_t
		error; /* sum of what each is known to, as the tracer's cost varies; 0: not known */
	uint64_t
		/* of them: took less than the tracer's cost, and count with 0; not of sums */
		clamped;
	bool is_bound; /* so did all calls by some way: 0 ns of self there are a bound */
	struct latency latency;
	/* in which the thread was on no CPU; calls within a call of the same function count once */
	uint64_t waited;
	uint64_t total; /* only of sums: recursion counts once */
	uint32_t
		own; /* only of sums: the tracer's cost within each call, which latency still has */
};

/*
 * Adds what one call took, without the tracer's cost, to those that are measured; false: no memory.
 */
bool call_stats_measure(struct call_stats *stats, uint64_t ns);

/* Adds other's numbers, but not waited. False: no memory. */
bool call_stats_merge(struct call_stats *stats, const struct call_stats *other);
void call_stats_free(struct call_stats *stats); /* and stats itself; null is allowed */

/* The mean of measured calls; 0 where there are none. */
uint64_t call_stats_average(const struct call_stats *stats);

/* The duration of each of them is known to this many ns. */
uint64_t call_stats_error(const struct call_stats *stats);

/* A quantile of measured calls, in thousandths, within min and max. */
uint64_t call_stats_quantile(const struct call_stats *stats, unsigned int of_thousand);

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
