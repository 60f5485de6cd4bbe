/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_VIEW_FILL_H
#define QUERY_VIEW_FILL_H

#include "query/filter.h"
#include "query/served.h"
#include "query/view.h"

/* How a view is filled, by what its event has: samples or calls. Only view.c calls these. */

/* [from, to): of the film's time. Return 0 or a negative errno with *why filled. */
int view_fill_samples(struct view *view, const struct shape *shape, const struct filter_kept *kept,
		      uint64_t from, uint64_t to, struct fail *why);
int view_fill_waits(struct view *view, const struct question *q, const struct filter_kept *kept,
		    uint64_t from, uint64_t to, struct fail *why);
int view_fill_locks(struct view *view, const struct question *q, const struct filter_kept *kept,
		    uint64_t from, uint64_t to, struct fail *why);
int view_fill_calls(struct view *view, const struct question *q, const struct filter_kept *kept,
		    uint64_t from, uint64_t to, struct fail *why);

int view_fill_requests(struct view *view, const struct question *q, const struct filter_kept *kept,
		       uint64_t from, uint64_t to, struct fail *why);

/* Whether a question is of requests: what their threads did. */
bool view_asks_of_requests(const struct question *q);
/* Whether a question can be answered only from waits. */
bool view_asks_of_waits(const struct question *q);
/* Or from waits for locks: what is asked of waits is asked of them, if the event has them. */
bool view_asks_of_locks(const struct view *view, const struct question *q);

/*
 * Tells how far the stacks of that many samples, by stack as it is shown, could be followed. 0 or
 * -ENOMEM.
 */
int view_account_stacks(struct view *view, const uint64_t *samples);

#endif
