/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_POOL_H
#define QUERY_EXPLAIN_POOL_H

#include "query/explain/explain.h"

/*
 * The threads that end waits at one place in a program are a pool of workers. Where a thread waited
 * there until one of them had ended the waits of others, and none of them was idle until then, they
 * were too few for it.
 */
struct explain_pool {
	uint32_t threads; /* of the pool; 0: there is none, or it had time */
	uint64_t before;  /* waits of others that the thread which ended this one ended first */
};

/* part: its longest wait counts. 0 or -ENOMEM. */
int explain_pool_of(const struct explainer *e, const struct explain_part *part,
		    struct explain_pool *pool);

#endif
