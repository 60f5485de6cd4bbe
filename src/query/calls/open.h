/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_CALLS_OPEN_H
#define QUERY_CALLS_OPEN_H

#include "base/fail.h"
#include "film/reader.h"
#include "query/calls/view.h"

/*
 * Adds up an event's calls; or its sums, if it has no calls. Returns 0 or a negative errno with
 * *why filled; call_view_free() is needed in either case.
 */
int call_view_open(struct film *film, uint32_t event, const struct call_question *q,
		   struct call_view *calls, struct fail *why);

#endif
