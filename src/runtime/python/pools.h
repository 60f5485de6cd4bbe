/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_PYTHON_POOLS_H
#define RUNTIME_PYTHON_POOLS_H

#include <stdint.h>

#include "process/resident.h"

/* Its head; objects begin behind it. */
#define PYTHON_POOL_HEAD  48u
#define PYTHON_POOL_WORDS (PYTHON_POOL_HEAD / 8)

/* The most bytes of one. */
#define PYTHON_POOL_MAX 16384u

struct python_pool {
	uint64_t in_use;      /* bytes of objects in it */
	uint32_t object_size; /* of each */
	uint32_t used;	      /* bytes, with the head, in which there have been objects */
};

/*
 * Is there a pool of CPython's small objects at this address, which is that of a page? Returns its
 * size in bytes, 0: there is none.
 */
uint64_t python_pool(struct resident *memory, uint64_t at, struct python_pool *pool);

/* The same by what is there. */
uint64_t python_pool_of(const uint64_t words[PYTHON_POOL_WORDS], uint64_t at,
			struct python_pool *pool);

#endif
