/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_CALLS_STATS_H
#define QUERY_CALLS_STATS_H

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

#endif
