/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNWIND_PLAIN_MEMORY_H
#define TESTS_UNWIND_PLAIN_MEMORY_H

#include <stdlib.h>

#include "bpf/unwind/abi.h"
#include "unwind/pool.h"
#include "unwind/rules.h"

/* A pool and rules in plain memory, for tests. */
struct plain_memory {
	struct unwind_pool *pool;
	struct unwind_rules *rules;
	struct unwind_rule *rules_memory;
};

static inline void *plain_make(void *context, uint32_t n, struct fail *why)
{
	(void)context;
	(void)n;
	(void)why;
	return calloc(1, UNWIND_CHUNK_BYTES);
}

static inline void plain_drop(void *context, uint32_t n, void *chunk)
{
	(void)context;
	(void)n;
	free(chunk);
}

static inline int plain_memory_new(struct plain_memory *m, uint64_t limit)
{
	static const struct unwind_pool_memory memory = {.make = plain_make, .drop = plain_drop};

	m->rules_memory = calloc(UNWIND_RULES_MAX, sizeof(*m->rules_memory));
	if (!m->rules_memory || unwind_pool_new(&memory, limit, &m->pool) ||
	    unwind_rules_new(m->rules_memory, &m->rules))
		return -1;
	return 0;
}

static inline void plain_memory_free(struct plain_memory *m)
{
	unwind_pool_free(m->pool);
	unwind_rules_free(m->rules);
	free(m->rules_memory);
}

#endif
