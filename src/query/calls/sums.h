/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_CALLS_SUMS_H
#define QUERY_CALLS_SUMS_H

#include "base/fail.h"
#include "film/reader.h"
#include "query/calls/view.h"

/*
 * Adds up the sums of an event, where no single calls were kept: a path for each function, below
 * one root. Sets calls->is_summary if there are any. Returns 0 or a negative errno with *why
 * filled.
 */
int call_sums(struct film *film, uint32_t event, const struct call_question *q,
	      struct call_view *calls, struct fail *why);

#endif
