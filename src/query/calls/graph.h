/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_CALLS_GRAPH_H
#define QUERY_CALLS_GRAPH_H

#include "query/calls/functions.h"

/*
 * The calls of one function by another. Times are those of the callee's calls, with all that they
 * called, in ns without the tracer's cost. A function that calls itself, also through others, would
 * count twice: time_in leaves out what lies within another call of the callee, so that the edges to
 * a function add up to its total; time_out what lies within another call of the caller, so that
 * those from it do not exceed its total.
 */
struct call_edge {
	uint32_t caller, callee; /* labels of the tree, or enum call_graph_end */
	uint64_t calls, time_in, time_out;
};

/* Ends of an edge that are no function. */
enum call_graph_end {
	CALL_GRAPH_OUTSIDE = UINT32_MAX, /* nothing that was traced */
	/* and from here on down, one for each enum call_mark */
	CALL_GRAPH_FIRST_MARK = CALL_GRAPH_OUTSIDE - CALL_MARKS,
};

struct call_graph {
	struct call_edge *at;
	size_t count, room;
};

/*
 * The edges of the calls that the view's filter keeps; none of a view of samples, or of sums.
 * Returns 0 or -ENOMEM; call_graph_free() is needed in either case.
 */
int call_graph_of(const struct view *view, const struct call_functions *calls,
		  struct call_graph *graph);
void call_graph_free(struct call_graph *graph);

#endif
