// SPDX-License-Identifier: Apache-2.0
/*
 * Objects/obmalloc.c and Include/internal/pycore_obmalloc.h of CPython 3.7 to 3.14: objects of up
 * to 512 bytes lie in pools of 4 KiB, since 3.10 of 16 KiB, each for objects of one size. A pool
 * begins with
 *
 *	uint32_t count; (and 4 bytes)	objects in use
 *	block *freeblock;		the first free one, in the pool; or null
 *	pool *nextpool, *prevpool;
 *	uint32_t arenaindex, szidx;	objects have (szidx + 1) * 16 bytes
 *	uint32_t nextoffset, maxnextoffset;
 */
#include "runtime/python/pools.h"

#include <string.h>

#define HEADER	     PYTHON_POOL_HEAD
#define OBJECT_STEP  16u
#define SIZE_CLASSES 32u

static const uint64_t sizes[] = {16384, 4096};

uint64_t python_pool_of(const uint64_t words[PYTHON_POOL_WORDS], uint64_t at,
			struct python_pool *pool)
{
	uint32_t count, size_class, next, last, size;

	count = (uint32_t)words[0];
	size_class = (uint32_t)(words[4] >> 32);
	next = (uint32_t)words[5];
	last = (uint32_t)(words[5] >> 32);
	if (size_class >= SIZE_CLASSES)
		return 0;
	size = (size_class + 1) * OBJECT_STEP;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (at % sizes[i] || last != sizes[i] - size || next < HEADER ||
		    next % OBJECT_STEP || next > sizes[i] + size ||
		    count > (sizes[i] - HEADER) / size ||
		    (words[1] && (words[1] <= at || words[1] - at >= sizes[i])))
			continue;
		*pool = (struct python_pool){
			.in_use = (uint64_t)count * size,
			.object_size = size,
			.used = next < sizes[i] ? next : (uint32_t)sizes[i],
		};
		return sizes[i];
	}
	return 0;
}

uint64_t python_pool(struct resident *memory, uint64_t at, struct python_pool *pool)
{
	uint64_t words[PYTHON_POOL_WORDS];

	for (size_t i = 0; i < PYTHON_POOL_WORDS; i++)
		if (!resident_word(memory, at + i * 8, &words[i]))
			return 0;
	return python_pool_of(words, at, pool);
}
