/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_SUMMARY_FIND_H
#define QUERY_SUMMARY_FIND_H

#include "query/report.h"
#include "query/summary.h"

/*
 * What stands out of one event of a film, by the query that knows it: each adds its findings, what
 * is most first. q asks for that event. Returns 0 or a negative errno; those with why fill it.
 */

static inline bool summary_wants(const struct summary *s, enum summary_kind kind)
{
	return s->wanted.kinds >> kind & 1;
}

/* Functions and stacks; of an event of calls, its functions. 0 or -ENOMEM. */
int summary_find_stacks(struct summary *s, uint32_t event, const struct report *report);

/* SUMMARY_WAIT: what waits were for. SUMMARY_LOCK: for which locks, and who held them. */
int summary_find_groups(struct summary *s, const struct question *q, uint32_t event,
			enum summary_kind kind, struct fail *why);

/* What a level has grown by in the second half of the time up to its peak. */
int summary_find_growth(struct summary *s, const struct question *q,
			const struct summary_event *row, struct fail *why);

/* States of threads, and what they waited for; row gets how many turns there were. */
int summary_find_states(struct summary *s, const struct question *q, struct summary_event *row,
			struct fail *why);

/* Endpoints and requests; row gets how many there were. */
int summary_find_requests(struct summary *s, const struct question *q, struct summary_event *row,
			  struct fail *why);

/*
 * The innermost functions of a flame's stack, "parse < work < main", that does not name the
 * kernel's below the last one: to be freed; null: no memory.
 */
char *summary_stack_words(const struct flame *flame, uint32_t node);

#endif
