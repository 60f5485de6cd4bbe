/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_CALLS_PASS_H
#define QUERY_CALLS_PASS_H

#include "base/fail.h"
#include "film/reader.h"
#include "query/calls/view.h"

/*
 * Walks the single calls of an event once, the last first, and adds them up in calls, whose costs
 * are known. Returns 0 or a negative errno with *why filled.
 */
int call_pass(struct film *film, uint32_t event, const struct call_question *q,
	      struct call_view *calls, struct fail *why);

#endif
