/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_RUNTIME_NO_TABLES_H
#define TESTS_RUNTIME_NO_TABLES_H

/*
 * For tests of what single functions of a step read: the walk of a process that runs, which finds
 * nothing in its tables and keeps no frames. Memory is unwind_read(), of the file that includes
 * this.
 */

#include "one_memory.h"

static inline const __u32 *unwind_chunk(const struct unwind_walk *w, __u32 n)
{
	(void)w, (void)n;
	return NULL;
}

static inline const struct unwind_rule *unwind_rules(const struct unwind_walk *w)
{
	(void)w;
	return NULL;
}

static inline __u64 *unwind_frames(struct unwind_walk *w)
{
	(void)w;
	return NULL;
}

static inline int unwind_is_live(const struct unwind_walk *w)
{
	(void)w;
	return 1;
}

#endif
