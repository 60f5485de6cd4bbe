/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_ALLOCATORS_GLIBC_H
#define RUNTIME_ALLOCATORS_GLIBC_H

#include <stdbool.h>
#include <stdint.h>

#include "process/resident.h"

/*
 * What of a heap of glibc's malloc() is in use, and what it keeps free: its chunks, read from
 * outside while the program runs. A walk that meets a chunk that is just being changed may end
 * early: the rest is not known.
 */

/* Of a heap; bytes of pages that are in RAM. */
struct glibc_heap {
	uint64_t in_use, free;
	uint64_t cached; /* of the chunks in use: those that threads keep for their next malloc() */
	uint64_t top;	 /* address of the last chunk; 0: not reached */
};

/*
 * Walks the chunks between two addresses: those of the main heap, from its first byte on, or what
 * glibc_heap_of_thread() has found. False: they are not chunks.
 */
bool glibc_heap_walk(struct resident *memory, uint64_t first, uint64_t end,
		     struct glibc_heap *heap);

/*
 * Is there a heap of a thread's arena at this address? Then *first and *end are those of its
 * chunks, and *arena is its arena's address.
 */
bool glibc_heap_of_thread(struct resident *memory, uint64_t at, uint64_t *first, uint64_t *end,
			  uint64_t *arena);
#define GLIBC_HEAP_ALIGNMENT (64ull << 20)

/*
 * The arena of the main heap lies in the data of libc; top: as the walk has found it. 0: it is not
 * there.
 */
uint64_t glibc_heap_main_arena(struct resident *memory, uint64_t from, uint64_t to, uint64_t top);

/* Bytes in an arena's lists of small free chunks, which look as if they were in use. */
uint64_t glibc_heap_fast(struct resident *memory, uint64_t arena);

/*
 * The bytes of an allocation that has a mapping of its own, from this address to at most end; 0:
 * there is none.
 */
uint64_t glibc_heap_mapped(struct resident *memory, uint64_t at, uint64_t end);

#endif
