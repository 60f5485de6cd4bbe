/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_RUNTIME_ONE_MEMORY_H
#define TESTS_RUNTIME_ONE_MEMORY_H

/* The walk where all memory is read in one way: unwind_read(), of the file that includes this. */

#include "unwind/here.h"

static inline long unwind_read_code(const struct unwind_walk *w, void *to, __u32 size,
				    __u64 address)
{
	return unwind_read(w, to, size, address);
}

static inline long unwind_read_far(const struct unwind_walk *w, void *to, __u32 size, __u64 address)
{
	return unwind_read(w, to, size, address);
}

#endif
