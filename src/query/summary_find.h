/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_SUMMARY_FIND_H
#define QUERY_SUMMARY_FIND_H

#include "query/report.h"
#include "query/summary.h"

/*
 * Finders for one event of a film, each based on one query: they add findings, largest first. q
 * selects that event. They return 0 or a negative errno, with *why filled if they have it.
 */

static inline bool summary_wants(const struct summary *s, enum summary_kind kind)
{
	return s->wanted.kinds >> kind & 1;
}

/* Finds functions and stacks; for an event of calls only functions. */
int summary_find_stacks(struct summary *s, uint32_t event, const struct report *report);

/* SUMMARY_WAIT: finds causes of waits. SUMMARY_LOCK: finds locks with their holders. */
int summary_find_groups(struct summary *s, const struct question *q, uint32_t event,
			enum summary_kind kind, struct fail *why);

/* Finds the growth of a level in the second half of the time up to its peak. */
int summary_find_growth(struct summary *s, const struct question *q,
			const struct summary_event *row, struct fail *why);

/* Finds states of threads and objects of waits; sets the number of turns in row. */
int summary_find_states(struct summary *s, const struct question *q, struct summary_event *row,
			struct fail *why);

/* Finds endpoints and requests; sets the number of requests in row. */
int summary_find_requests(struct summary *s, const struct question *q, struct summary_event *row,
			  struct fail *why);

#endif
