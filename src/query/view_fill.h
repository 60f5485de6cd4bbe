/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_VIEW_FILL_H
#define QUERY_VIEW_FILL_H

#include "query/filter.h"
#include "query/served.h"
#include "query/view.h"

/* Functions that fill a view, one for each kind of event. Only view.c calls them. */

/* [from, to): by the film's clock. Return 0 or a negative errno with *why filled. */
int view_fill_samples(struct view *view, const struct shape *shape, const struct filter_kept *kept,
		      uint64_t from, uint64_t to, struct fail *why);
int view_fill_waits(struct view *view, const struct question *q, const struct filter_kept *kept,
		    uint64_t from, uint64_t to, struct fail *why);
int view_fill_locks(struct view *view, const struct question *q, const struct filter_kept *kept,
		    uint64_t from, uint64_t to, struct fail *why);
int view_fill_cpus(struct view *view, const struct question *q, const struct filter_kept *kept,
		   uint64_t from, uint64_t to, struct fail *why);
int view_fill_calls(struct view *view, const struct question *q, const struct filter_kept *kept,
		    uint64_t from, uint64_t to, struct fail *why);

int view_fill_requests(struct view *view, const struct question *q, const struct filter_kept *kept,
		       uint64_t from, uint64_t to, struct fail *why);

/*
 * Whether what an event has may be grouped by CPU. Returns 0, or -EINVAL with *why filled: it is
 * not of samples of threads that ran.
 */
int view_check_cpus(const struct view *view, struct fail *why);
/* Whether a question is about requests: what their threads did. */
bool view_asks_of_requests(const struct question *q);
/* Whether a question needs waits. */
bool view_asks_of_waits(const struct question *q);
/*
 * Whether a question needs waits for locks. If the event has them, questions about waits use them,
 * too.
 */
bool view_asks_of_locks(const struct view *view, const struct question *q);

/* Fills view->stacks. samples: number of samples by displayed stack. Returns 0 or -ENOMEM. */
int view_account_stacks(struct view *view, const uint64_t *samples);

#endif
