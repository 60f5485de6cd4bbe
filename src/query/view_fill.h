/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_VIEW_FILL_H
#define QUERY_VIEW_FILL_H

#include "query/filter.h"
#include "query/view.h"

/* How a view is filled, by what its event has: samples or calls. Only view.c calls these. */

/* [from, to): of the film's time. Return 0 or a negative errno with *why filled. */
int view_fill_samples(struct view *view, const struct shape *shape, const struct filter_kept *kept,
		      uint64_t from, uint64_t to, struct fail *why);
int view_fill_calls(struct view *view, const struct question *q, const struct filter_kept *kept,
		    uint64_t from, uint64_t to, struct fail *why);

#endif
