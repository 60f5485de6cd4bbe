/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_MEMORY_PLACES_H
#define SOURCES_MEMORY_PLACES_H

#include <stdbool.h>
#include <stddef.h>

#include "attach/uprobes.h"
#include "process/image.h"

/* Where probes of running processes go that count what is allocated. */

/* Whose allocations; each kind has its own program and budget (MEM_HEAP_BUDGET_…). */
enum mem_places_of {
	MEM_PLACES_MALLOC, /* functions of allocators: malloc() and those like it */
	MEM_PLACES_JAVA,   /* where HotSpot takes memory from its heap for a thread */
	MEM_PLACES_GO,	   /* where Go's runtime takes spans from its heap for a thread */
	MEM_PLACES_KINDS
};

/* The most of one file. */
#define MEM_PLACES_MAX 144

/*
 * Finds them in a file; their groups are the caller's. Returns how many; 0: it has none of that
 * kind. is_refused: it should have them, and its symbols do not say where.
 */
size_t mem_places_find(enum mem_places_of of, const struct image *image,
		       struct uprobe_place places[MEM_PLACES_MAX], bool *is_refused);

#endif
