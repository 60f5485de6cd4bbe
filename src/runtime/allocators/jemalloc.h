/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_ALLOCATORS_JEMALLOC_H
#define RUNTIME_ALLOCATORS_JEMALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/resident.h"

/*
 * What of the heap of jemalloc is in use, and what it keeps free: its extents, read from outside
 * while the program runs.
 */

/* A page that was read before. */
struct jemalloc_page {
	uint64_t at;
	bool is_there;
	uint8_t bytes[RESIDENT_PAGE];
};

#define JEMALLOC_LEVELS_MAX 3

/* One reading of a heap. All zero: there is none. */
struct jemalloc_heap {
	uint64_t root;	/* of the tree that leads from a page to its extent */
	bool is_wide;	/* it was built for addresses of 57 bits, else for 48 */
	bool is_known;	/* its extents are those of 5.3: what of them is in use can be read */
	uint32_t looks; /* extents that were read */
	struct jemalloc_page nodes[JEMALLOC_LEVELS_MAX]; /* of each level, leaves last */
	struct jemalloc_page extent;			 /* of what describes extents */
};

/* What jemalloc has at an address. */
struct jemalloc_extent {
	uint64_t bytes;	 /* from there on; a multiple of pages */
	uint64_t in_use; /* of them: handed out, or kept by threads for their next malloc() */
	bool is_read;	 /* else in_use is not known */
};

/* The most extents that are read in one reading; behind them, all else is one that is not read. */
#define JEMALLOC_LOOKS_MAX 100000u

/* What is known before the tree is found. */
struct jemalloc_search {
	uint64_t from, to;	 /* data that is zero at first, of a program or library */
	const uint64_t *samples; /* pages that an extent may begin at */
	size_t count;
	/* Whether some bytes may be jemalloc's own: memory that no file is in. */
	bool (*may_be_own)(void *context, uint64_t at, uint64_t bytes);
	void *context;
};

/*
 * Looks for the tree: it is where it leads from one of the samples to an extent that begins there.
 * False: it is not there, or the search has taken too long.
 */
bool jemalloc_heap_find(struct resident *memory, const struct jemalloc_search *search,
			struct jemalloc_heap *heap);

/*
 * The extent that begins at the page of an address, as far as end goes at least. False: none begins
 * there.
 */
bool jemalloc_heap_extent(struct resident *memory, struct jemalloc_heap *heap, uint64_t at,
			  uint64_t end, struct jemalloc_extent *extent);

/*
 * The size of a block of jemalloc's own data (the tree, and what describes extents) that begins at
 * an address; 0: none does.
 */
uint64_t jemalloc_heap_own(struct resident *memory, uint64_t at);

#endif
