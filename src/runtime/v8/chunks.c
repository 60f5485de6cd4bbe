// SPDX-License-Identifier: Apache-2.0
/*
 * V8's heap consists of chunks (src/heap/memory-chunk.h and its neighbours), each of which is a
 * mapping of its own. What describes one lies at its beginning, since V8 13 in a structure of
 * malloc() of which the second word of the chunk is the address. Of its words, whose order changes
 * between versions, these are looked for:
 *
 *	chunk, size			the mapping: two words behind each other
 *	area_start, area_end		where objects lie, in any order
 *	allocated_bytes			behind area_end up to V8 12, behind size since V8 13
 *
 * A word that is the chunk's own address, with three that agree with it, is not an accident.
 */
#include "runtime/v8/chunks.h"

enum {
	WORDS = 16
};

/* What describes a chunk takes less than this. */
#define AREA_WITHIN (32u << 10)

/* The first word that is within bounds; WORDS: none is. */
static int find(const uint64_t words[WORDS], uint64_t low, uint64_t high)
{
	int i = 0;

	while (i < WORDS && (words[i] < low || words[i] > high))
		i++;
	return i;
}

static bool describes(const uint64_t words[WORDS], uint64_t at, struct v8_chunk *chunk)
{
	int self = find(words, at, at), start, end;
	uint64_t size = self + 1 < WORDS ? words[self + 1] : 0;

	if (!size || size > UINT32_MAX || size % RESIDENT_PAGE)
		return false;
	start = find(words, at + 8, at + AREA_WITHIN);
	if (start == WORDS)
		return false;
	end = find(words, words[start] + 1, at + size);
	if (end == WORDS)
		return false;
	*chunk = (struct v8_chunk){
		.at = at,
		.end = at + size,
		.area = words[start],
		.area_end = words[end],
	};
	if (end == start + 1 && end + 1 < WORDS)
		chunk->allocated = words[end + 1];
	else if (self + 2 < WORDS)
		chunk->allocated = words[self + 2];
	return chunk->allocated <= chunk->area_end - chunk->area;
}

static bool read_words(struct resident *memory, uint64_t at, uint64_t words[WORDS])
{
	return resident_read(memory, words, WORDS * sizeof(words[0]), at);
}

bool v8_chunk_at(struct resident *memory, uint64_t at, struct v8_chunk *chunk)
{
	uint64_t words[WORDS];

	return read_words(memory, at, words) &&
	       (describes(words, at, chunk) ||
		(words[1] && words[1] % 8 == 0 && read_words(memory, words[1], words) &&
		 describes(words, at, chunk)));
}
