// SPDX-License-Identifier: Apache-2.0
/* What V8, the engine of Node.js, has of the memory of a process. */
#include "sources/memory/rss_reading.h"

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * The part of a chunk's area between two addresses: objects have the share that they have of the
 * whole.
 */
static void add_area(struct rss_reading *r, uint64_t from, uint64_t to)
{
	const struct v8_chunk *chunk = &r->chunk;
	uint64_t there = resident_bytes(&r->memory, from, to),
		 objects = (uint64_t)((double)chunk->allocated * (double)(to - from) /
				      (double)(chunk->area_end - chunk->area));

	objects = least(objects, there);
	rss_add(r, RSS_V8_OBJECTS, NULL, objects);
	rss_add(r, RSS_V8_FREE, NULL, there - objects);
}

uint64_t rss_add_v8(struct rss_reading *r, uint64_t at, uint64_t end)
{
	struct v8_chunk *chunk = &r->chunk;
	uint64_t from, to, there, sum;

	/* chunks of code consist of several mappings, of other protections */
	if ((at < chunk->at || at >= chunk->end) &&
	    (at % V8_CHUNK_ALIGNMENT || !resident_has(&r->memory, at) ||
	     !v8_chunk_at(&r->memory, at, chunk)))
		return at;
	end = least(end, chunk->end);
	from = least(most(at, chunk->area), end);
	to = most(least(end, chunk->area_end), from);
	there = resident_bytes(&r->memory, at, end);
	sum = resident_bytes(&r->memory, from, to);
	if (from < to)
		add_area(r, from, to);
	rss_add(r, RSS_V8_OWN, NULL, there > sum ? there - sum : 0);
	return end;
}
