/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_GROUPS_H
#define QUERY_EXPLAIN_GROUPS_H

#include "query/explain/explain.h"

/* Threads of a process whose names differ by numbers alone, and where their time went. */
struct explain_group {
	uint32_t process, thread; /* the first one of them, whose name stands for all */
	uint64_t threads, life, worth;
	uint64_t ns[SLICE_KINDS];
	uint64_t conditions; /* of the waits for locks: for conditions and semaphores */
};

struct explain_groups {
	vec(struct explain_group) all; /* those worth most first */
};

/* Of the chosen threads. 0 or -ENOMEM; explain_groups_free() is needed in either case. */
int explain_group(struct explain_groups *groups, const struct explainer *e,
		  const struct explain_choice *choices, size_t count);
void explain_groups_free(struct explain_groups *groups);

/* The name of a group: that of its threads, with "*" for numbers at its end. */
void explain_group_name(const struct film *film, const struct explain_group *group, char *to,
			size_t size);

#endif
