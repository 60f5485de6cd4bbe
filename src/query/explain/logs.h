/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_LOGS_H
#define QUERY_EXPLAIN_LOGS_H

#include "query/explain/explain.h"

/*
 * Calls emit() with each line of a log that belongs to an explanation, in order of time: that was
 * written in its time, and is of the thread that is explained, or of one that received or answered
 * the request. Returns how many they are.
 */
size_t explain_each_log(const struct explainer *e, const struct explanation *x,
			void (*emit)(void *context, const struct log_line *line), void *context);

#endif
