/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_MEMORY_RSS_READING_H
#define SOURCES_MEMORY_RSS_READING_H

/* What the files that find the parts of a process's memory share. */
#include "sources/memory/rss_parts.h"
#include "process/resident.h"
#include "process/smaps.h"
#include "runtime/allocators/jemalloc.h"
#include "runtime/v8/chunks.h"

/* One reading. */
struct rss_reading {
	struct rss_parts *parts;
	struct resident memory;
	vec(struct smaps_mapping) mappings; /* their paths are their own */
	struct jemalloc_heap jemalloc;
	struct jemalloc_extent extent; /* that goes on behind the mapping */
	uint64_t extent_at;
	struct v8_chunk chunk;	    /* the last one, which may go on behind the mapping */
	struct runtime_spans spans; /* in order of their addresses */
	size_t span;		    /* those before end below what comes */
	uint64_t walked;
	uint64_t looks, reads; /* that are left */
	bool has_go_heap, has_libc, no_memory;
};

/* Adds bytes of a kind, and of a name if the kind has names. Without memory, no_memory is set. */
void rss_add(struct rss_reading *r, enum rss_kind kind, const char *name, uint64_t bytes);

/* Memory of a process's own that no file is behind, and data of a file. */
bool rss_is_plain(const struct smaps_mapping *mapping);

/* What is behind the data of a file begins with its .bss: that file; null: it is another one. */
const char *rss_bss_of(const struct smaps_mapping *mapping, const struct smaps_mapping *below);

/* -- rss_jemalloc.c ---------------------------------------------------------------------------- */

/* Looks for jemalloc in the mappings, once they are known. */
void rss_find_jemalloc(struct rss_reading *r);

/* What jemalloc has at a page. Returns where that ends; at: it has nothing. */
uint64_t rss_add_jemalloc(struct rss_reading *r, uint64_t at, uint64_t end);

/* -- rss_v8.c ---------------------------------------------------------------------------------- */

/* The same of V8, the engine of Node.js. */
uint64_t rss_add_v8(struct rss_reading *r, uint64_t at, uint64_t end);

#endif
