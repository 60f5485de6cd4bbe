// SPDX-License-Identifier: Apache-2.0
/* What jemalloc has of the memory of a process. */
#include "sources/memory/rss_reading.h"

/* The least of a mapping whose first page is looked for in the tree, and the most of them. */
#define SAMPLE_MIN  (64u << 10)
#define SAMPLES_MAX 16u

static bool is_in_plain(void *context, uint64_t at, uint64_t bytes)
{
	const struct rss_reading *r = context;
	size_t low = 0, high = r->mappings.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->mappings.at[middle].at.end <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low < r->mappings.count && r->mappings.at[low].at.start <= at &&
	       r->mappings.at[low].at.end - at >= bytes && rss_is_plain(&r->mappings.at[low]);
}

/* The tree is in the .bss of a file, whose first bytes are in the last page of its data. */
void rss_find_jemalloc(struct rss_reading *r)
{
	const struct smaps_mapping *below = NULL;
	uint64_t samples[SAMPLES_MAX];
	struct jemalloc_search search = {
		.samples = samples, .may_be_own = is_in_plain, .context = r};

	vec_foreach (&r->mappings, mapping)
		if (rss_is_plain(mapping) && mapping->rss >= SAMPLE_MIN &&
		    search.count < SAMPLES_MAX)
			samples[search.count++] = mapping->at.start;
	if (!search.count)
		return;
	vec_foreach (&r->mappings, mapping) {
		if (rss_is_plain(mapping) && rss_bss_of(mapping, below)) {
			search.from = mapping->at.start - RESIDENT_PAGE;
			search.to = mapping->at.end;
			if (jemalloc_heap_find(&r->memory, &search, &r->jemalloc))
				return;
		}
		below = mapping;
	}
}

/* Where an extent ends, or the mapping before that: then its rest is in r->extent. */
static uint64_t add_extent(struct rss_reading *r, uint64_t at, uint64_t end)
{
	const struct jemalloc_extent *extent = &r->extent;
	uint64_t bytes = extent->bytes < end - at ? extent->bytes : end - at,
		 there = resident_bytes(&r->memory, at, at + bytes), in_use;

	in_use =
		extent->in_use < extent->bytes
			? (uint64_t)((double)extent->in_use * (double)bytes / (double)extent->bytes)
			: bytes;
	in_use = in_use < there ? in_use : there;
	if (extent->is_read) {
		rss_add(r, RSS_JEMALLOC_IN_USE, NULL, in_use);
		rss_add(r, RSS_JEMALLOC_FREE, NULL, there - in_use);
	} else {
		rss_add(r, RSS_JEMALLOC_UNREAD, NULL, there);
	}
	r->extent.bytes -= bytes;
	r->extent.in_use = extent->in_use > in_use ? extent->in_use - in_use : 0;
	r->extent_at = at + bytes;
	return at + bytes;
}

uint64_t rss_add_jemalloc(struct rss_reading *r, uint64_t at, uint64_t end)
{
	uint64_t size;

	if (!r->jemalloc.root)
		return at;
	if ((r->extent.bytes && r->extent_at == at) ||
	    jemalloc_heap_extent(&r->memory, &r->jemalloc, at, end, &r->extent))
		return add_extent(r, at, end);
	size = jemalloc_heap_own(&r->memory, at);
	size = size < end - at ? size : end - at;
	rss_add(r, RSS_JEMALLOC_OWN, NULL, resident_bytes(&r->memory, at, at + size));
	return at + size;
}
