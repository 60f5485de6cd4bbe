/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_SPANS_H
#define QUERY_EXPLAIN_SPANS_H

#include "query/explain/explain.h"

/* A time of a thread that is to be explained. */
struct explain_span {
	uint64_t start, end;
};

/*
 * Explains what a thread did in several times, which are in order and do not overlap, in one
 * explanation: its parts add up to x->to - x->from, all of these times in which the thread lived.
 * Waits for new work count as waits for their cause. 0 or -ENOMEM; explanation_free() is needed in
 * either case.
 */
int explain_spans(struct explainer *e, uint32_t thread, const struct explain_span *spans,
		  size_t count, struct explanation *x);

#endif
