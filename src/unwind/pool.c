// SPDX-License-Identifier: Apache-2.0
#include "unwind/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"
#include "bpf/unwind/abi.h"

/*
 * Each chunk keeps its free spans sorted by address; what is taken is the first that is large
 * enough, from the lowest chunk on, so that the chunks at the end become empty and can be dropped.
 * Giving back must never fail, so the room for it is made when memory is taken: a chunk with n
 * spans in use has at most n + 1 free ones.
 */

/* Spans are handed out in steps of two words: mappings hold 64-bit fields. */
#define GRANULE 2u

/* An image gets this part of what is left; that much it may try in any case. */
#define SHARE_PART  4
#define SHARE_LEAST ((uint64_t)1 << 20)

struct span {
	uint32_t start, words; /* within the chunk, or a reference for those that wait */
};

struct chunk {
	uint8_t *memory;    /* null: not made */
	uint32_t live;	    /* spans handed out and not settled */
	uint32_t free_most; /* no free span is larger than this */
	vec(struct span) free;
};

struct unwind_pool {
	struct unwind_pool_memory memory;
	uint32_t chunks_max;
	uint32_t chunks; /* made */
	uint64_t used;	 /* bytes, with those that wait */
	size_t live;	 /* spans handed out and not settled, of all chunks */
	vec(struct span) waiting;
	struct chunk chunk[UNWIND_CHUNKS_MAX];
};

int unwind_pool_new(const struct unwind_pool_memory *memory, uint64_t limit,
		    struct unwind_pool **pool)
{
	uint64_t chunks = limit / UNWIND_CHUNK_BYTES;
	struct unwind_pool *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->memory = *memory;
	p->chunks_max = chunks < UNWIND_CHUNKS_MAX ? (uint32_t)chunks : UNWIND_CHUNKS_MAX;
	*pool = p;
	return 0;
}

static void drop_chunk(struct unwind_pool *pool, uint32_t n)
{
	struct chunk *c = &pool->chunk[n];

	pool->memory.drop(pool->memory.context, n, c->memory);
	vec_free(&c->free);
	*c = (struct chunk){0};
	pool->chunks--;
}

void unwind_pool_free(struct unwind_pool *pool)
{
	uint32_t n;

	if (!pool)
		return;
	for (n = 0; n < UNWIND_CHUNKS_MAX; n++) {
		if (pool->chunk[n].memory)
			drop_chunk(pool, n);
	}
	vec_free(&pool->waiting);
	free(pool);
}

/* Words of chunk n that can be handed out: reference 0 means none, so it is kept back. */
static uint32_t first_word(uint32_t n)
{
	return n ? 0 : GRANULE;
}

static bool make_chunk(struct unwind_pool *pool, uint32_t n)
{
	struct chunk *c = &pool->chunk[n];
	struct fail why = {0};

	if (!vec_reserve(&c->free, 8))
		return false;
	c->memory = pool->memory.make(pool->memory.context, n, &why);
	if (!c->memory) {
		vec_free(&c->free);
		return false;
	}
	c->free_most = UNWIND_CHUNK_WORDS - first_word(n);
	c->free.at[c->free.count++] = (struct span){first_word(n), c->free_most};
	pool->chunks++;
	return true;
}

/* The first word of words free ones in the chunk, or -1. */
static int64_t get_from(struct chunk *c, uint32_t words)
{
	uint32_t most = 0, start;
	struct span *s;

	vec_foreach (&c->free, candidate) {
		if (candidate->words >= words) {
			s = candidate;
			goto found;
		}
		if (candidate->words > most)
			most = candidate->words;
	}
	c->free_most = most;
	return -1;

found:
	start = s->start;
	s->start += words;
	s->words -= words;
	if (!s->words) {
		memmove(s, s + 1, (size_t)(c->free.at + c->free.count - (s + 1)) * sizeof(*s));
		c->free.count--;
	}
	return start;
}

uint32_t unwind_pool_get(struct unwind_pool *pool, uint32_t words)
{
	bool can_make = true;
	uint32_t n;

	if (!words || words > UNWIND_CHUNK_WORDS)
		return 0;
	words = (words + GRANULE - 1) & ~(GRANULE - 1);
	if (!vec_reserve(&pool->waiting, pool->live + 1))
		return 0;
	for (n = 0; n < pool->chunks_max; n++) {
		struct chunk *c = &pool->chunk[n];
		int64_t start;

		if (words > UNWIND_CHUNK_WORDS - first_word(n))
			continue;
		if (!c->memory) {
			can_make = can_make && make_chunk(pool, n);
			if (!can_make)
				continue;
		}
		if (words > c->free_most)
			continue;
		if (!vec_reserve(&c->free, (size_t)c->live + 2))
			return 0;
		start = get_from(c, words);
		if (start < 0)
			continue;
		c->live++;
		pool->live++;
		pool->used += words * 4ull;
		return n << UNWIND_CHUNK_SHIFT | (uint32_t)start;
	}
	return 0;
}

void unwind_pool_put(struct unwind_pool *pool, uint32_t reference, uint32_t words)
{
	if (!reference || !words)
		return;
	words = (words + GRANULE - 1) & ~(GRANULE - 1);
	pool->waiting.at[pool->waiting.count++] = (struct span){reference, words};
}

/* Puts a span back between its neighbours, and makes one of those that touch. */
static void put_back(struct chunk *c, uint32_t start, uint32_t words)
{
	size_t low = search_first(c->free.count, i, c->free.at[i].start < start);
	struct span *at;
	bool joins_before, joins_behind;

	at = c->free.at + low;
	joins_before = low && at[-1].start + at[-1].words == start;
	joins_behind = low < c->free.count && start + words == at->start;
	if (joins_before) {
		at--;
		at->words += words;
		if (joins_behind) {
			at->words += at[1].words;
			memmove(at + 1, at + 2, (c->free.count - low - 1) * sizeof(*at));
			c->free.count--;
		}
	} else if (joins_behind) {
		at->start = start;
		at->words += words;
	} else {
		memmove(at + 1, at, (c->free.count - low) * sizeof(*at));
		*at = (struct span){start, words};
		c->free.count++;
	}
	if (at->words > c->free_most)
		c->free_most = at->words;
}

void unwind_pool_settle(struct unwind_pool *pool)
{
	vec_foreach (&pool->waiting, s) {
		uint32_t n = s->start >> UNWIND_CHUNK_SHIFT;
		struct chunk *c = &pool->chunk[n];

		put_back(c, s->start & (UNWIND_CHUNK_WORDS - 1), s->words);
		pool->used -= s->words * 4ull;
		pool->live--;
		if (!--c->live)
			drop_chunk(pool, n);
	}
	pool->waiting.count = 0;
}

int unwind_pool_unsettled(const struct unwind_pool *pool)
{
	return pool->waiting.count > 0;
}

void *unwind_pool_at(const struct unwind_pool *pool, uint32_t reference)
{
	uint32_t n = reference >> UNWIND_CHUNK_SHIFT;

	if (!reference || n >= UNWIND_CHUNKS_MAX || !pool->chunk[n].memory)
		return NULL;
	return pool->chunk[n].memory + (size_t)(reference & (UNWIND_CHUNK_WORDS - 1)) * 4;
}

uint64_t unwind_pool_share(const struct unwind_pool *pool)
{
	uint64_t limit = (uint64_t)pool->chunks_max * UNWIND_CHUNK_BYTES;
	uint64_t share = pool->used < limit ? (limit - pool->used) / SHARE_PART : 0;

	return share > SHARE_LEAST ? share : SHARE_LEAST;
}

void unwind_pool_usage(const struct unwind_pool *pool, uint64_t *chunks, uint64_t *used)
{
	*chunks = (uint64_t)pool->chunks * UNWIND_CHUNK_BYTES;
	*used = pool->used;
}
