// SPDX-License-Identifier: Apache-2.0
/*
 * malloc/malloc.c and malloc/arena.c of glibc 2.26 to 2.41, on 64-bit machines. A heap is a row of
 * chunks, each beginning with
 *
 *	size_t prev_size;	of the chunk before, if that is free
 *	size_t size;		of this one, with bits: 1 the chunk before is in use, 2 the chunk
 *				has a mapping of its own, 4 it is of a thread's arena
 *
 * up to the "top", which is free and ends with the heap. Free chunks of up to 128 bytes (fastbins)
 * and those that a thread keeps (tcache, at most 7 of each size by default) count as in use for
 * their neighbours. A thread's tcache is itself a chunk of 0x290 bytes: 64 counts of 16 bits, and
 * 64 heads of lists; the n-th one has chunks of (n + 2) * 16 bytes.
 *
 * struct malloc_state: fastbinsY[10] at 16, top at 96, next at 2160, system_mem at 2184; 2200 bytes
 * in all. Links in the lists of fastbins are mangled since 2.32 with their own address >> 12.
 *
 * A thread's arena has heaps of up to 64 MiB, at multiples of that: struct heap_info { arena, prev,
 * size, mprotect_size; since 2.35 pagesize }; in the first one the arena follows.
 */
#include "runtime/allocators/glibc.h"

#include <string.h>

#define PREV_IN_USE   1ull
#define IS_MAPPED     2ull
#define BITS	      7ull

#define HEADER	      16ull
#define CHUNK_MIN     32ull
#define FENCE	      16ull /* the size of what ends a heap that is not the last one */

#define TCACHE_CHUNK  0x290ull
#define TCACHE_BINS   64
#define TCACHE_MOST   128 /* of a size; more may be asked for, and are then not seen as such */

#define ARENA_BYTES   2200ull
#define ARENA_FAST    16ull
#define ARENA_TOP     96ull
#define ARENA_NEXT    2160ull
#define ARENA_MEMORY  2184ull
#define FASTBINS      10

#define HEAP_INFO_OLD 0x20ull
#define HEAP_INFO_NEW 0x30ull

/* The most chunks that are looked at in all lists of an arena. */
#define FAST_MAX 20000

#define TO_16(n) (((n) + 15) & ~15ull)

struct tcache {
	uint16_t counts[TCACHE_BINS];
	uint64_t heads[TCACHE_BINS];
};

/* What a chunk of that size that is in use keeps free, if it is a tcache. */
static uint64_t kept_by(struct resident *memory, uint64_t chunk)
{
	struct tcache tcache;
	uint64_t sum = 0;

	if (!resident_read(memory, &tcache, sizeof(tcache), chunk + HEADER))
		return 0;
	for (size_t i = 0; i < TCACHE_BINS; i++) {
		if (tcache.counts[i] > TCACHE_MOST || tcache.heads[i] % 16 ||
		    !tcache.counts[i] != !tcache.heads[i])
			return 0;
		sum += tcache.counts[i] * (i + 2) * 16;
	}
	return sum;
}

bool glibc_heap_walk(struct resident *memory, uint64_t first, uint64_t end, struct glibc_heap *heap)
{
	uint64_t at = first, word;

	*heap = (struct glibc_heap){0};
	resident_forget(memory, end);
	if (first % 16 || !resident_word(memory, at + 8, &word) || !(word & PREV_IN_USE) ||
	    word & IS_MAPPED)
		return false;
	while (end - at >= CHUNK_MIN) {
		uint64_t size = word & ~BITS, next = at + size, bytes;

		if ((size < CHUNK_MIN && size != FENCE) || size % 16 || size > end - at)
			break;
		if (end - next < HEADER) {
			heap->free += resident_bytes(memory, at, end);
			heap->top = next == end ? at : 0;
			return true;
		}
		/* in pages that are all read, as most are */
		bytes = next - memory->at <= memory->count && at >= memory->at
				? size
				: resident_bytes(memory, at, next);
		if (!resident_word(memory, next + 8, &word))
			break;
		if (word & PREV_IN_USE)
			heap->in_use += bytes;
		else
			heap->free += bytes;
		if (size == TCACHE_CHUNK && word & PREV_IN_USE)
			heap->cached += kept_by(memory, at);
		at = next;
	}
	return at > first;
}

bool glibc_heap_of_thread(struct resident *memory, uint64_t at, uint64_t *first, uint64_t *end,
			  uint64_t *arena)
{
	struct {
		uint64_t arena, prev, size, mprotect_size;
	} info;
	uint64_t header;

	if (at % GLIBC_HEAP_ALIGNMENT || !resident_read(memory, &info, sizeof(info), at))
		return false;
	header = info.arena % GLIBC_HEAP_ALIGNMENT;
	if ((header != HEAP_INFO_OLD && header != HEAP_INFO_NEW) || info.size % RESIDENT_PAGE ||
	    info.size <= header + ARENA_BYTES || info.size > info.mprotect_size ||
	    info.mprotect_size > GLIBC_HEAP_ALIGNMENT)
		return false;
	/* the first one of an arena has no other before it */
	if (!info.prev != (info.arena - header == at))
		return false;
	*arena = info.arena;
	*first = at + TO_16(info.prev ? header : header + ARENA_BYTES);
	*end = at + info.size;
	return true;
}

uint64_t glibc_heap_main_arena(struct resident *memory, uint64_t from, uint64_t to, uint64_t top)
{
	uint64_t word;

	resident_forget(memory, to);
	for (uint64_t at = from + ARENA_TOP; top && to - from >= ARENA_BYTES && at < to; at += 8) {
		uint64_t arena = at - ARENA_TOP, next, bytes;

		if (!resident_word(memory, at, &word)) {
			at = (at | (RESIDENT_PAGE - 1)) + 1 - 8;
			continue;
		}
		if (word == top && resident_word(memory, arena + ARENA_NEXT, &next) &&
		    resident_word(memory, arena + ARENA_MEMORY, &bytes) && next && !(next % 16) &&
		    bytes && !(bytes % RESIDENT_PAGE))
			return arena;
	}
	return 0;
}

uint64_t glibc_heap_fast(struct resident *memory, uint64_t arena)
{
	uint64_t heads[FASTBINS], sum = 0;
	unsigned int left = FAST_MAX;

	if (!resident_read(memory, heads, sizeof(heads), arena + ARENA_FAST))
		return 0;
	for (uint64_t i = 0; i < FASTBINS; i++) {
		uint64_t at = heads[i], size = (i + 2) * 16, chunk[3];

		for (; at && left; left--) {
			uint64_t link;

			if (at % 16 || !resident_read(memory, chunk, sizeof(chunk), at) ||
			    (chunk[1] & ~BITS) != size)
				break;
			sum += size;
			link = chunk[2] ^ (at + HEADER) >> 12;
			at = link % 16 ? chunk[2] : link;
		}
	}
	return sum;
}

uint64_t glibc_heap_mapped(struct resident *memory, uint64_t at, uint64_t end)
{
	uint64_t before, size;

	if (!resident_word(memory, at, &before) || !resident_word(memory, at + 8, &size) ||
	    (size & BITS) != IS_MAPPED)
		return 0;
	size &= ~BITS;
	/* an aligned one has something before its size, and begins later than its mapping */
	if (!size || size % RESIDENT_PAGE || before || size > end - at)
		return 0;
	return size;
}
