/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_LOGS_H
#define STORE_LOGS_H

#include "query/log_lines.h"
#include "query/lanes.h"
#include "store/ask.h"

/* Lines of logs of the time and the threads of an ask. */
struct store_logs {
	/* what is wanted; set before store_logs() */
	const char *find;	  /* lines with this text alone; null: all */
	const struct lane_id *of; /* of these threads alone; null: all */
	size_t of_count, limit;	  /* lines */

	uint64_t from, to;	     /* ns since 1970 */
	vec(struct log_shown) lines; /* in order of time, the first limit of them */
	uint64_t left;		     /* that are not there */
	struct arena texts;
};

/*
 * Answered by films, as store_lanes(). To be freed with store_logs_free(), also after a failure.
 * Returns 0 or a negative errno with *why filled.
 */
int store_logs(struct store *store, const struct store_ask *ask, struct store_logs *logs,
	       struct store_sum *sum, struct fail *why);
void store_logs_free(struct store_logs *logs);

#endif
