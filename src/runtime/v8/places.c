// SPDX-License-Identifier: Apache-2.0
/*
 * Tables of places (src/codegen/source-position-table.cc of V8): for each entry two numbers, each
 * the difference to the entry before, in groups of seven bits, the lowest first, the eighth set if
 * more follow. The second is a place, with the sign of the difference in the lowest bit. The first
 * is an offset into the code, likewise, as -1 - offset where no statement begins; since V8 14.6
 * with two flags in the lowest bits and no sign. Before the first entry is the offset -1, the place
 * of a function's entry (kFunctionEntryBytecodeOffset in src/common/globals.h).
 */
#include <stdlib.h>

#include "runtime/v8/internal.h"

#define TABLE_MAX (4u << 20)

struct numbers {
	const uint8_t *at, *end;
};

static bool next_number(struct numbers *n, uint64_t *bits)
{
	uint32_t shift;

	*bits = 0;
	for (shift = 0; shift < 64; shift += 7) {
		if (n->at == n->end)
			return false;
		*bits |= (uint64_t)(*n->at & 0x7f) << shift;
		if (!(*n->at++ & 0x80))
			return true;
	}
	return false;
}

static int64_t with_sign(uint64_t bits)
{
	return (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
}

/* How far an entry is behind the one before. */
static uint64_t distance_of(const struct v8_facts *facts, uint64_t bits)
{
	int64_t distance = with_sign(bits);

	/* 14.6: whether a statement begins there, and whether debuggers may stop there */
	if (facts->places_flagged)
		return bits >> 2;
	return (uint64_t)(distance >= 0 ? distance : -1 - distance);
}

/*
 * A place as V8 packs it: one bit for code of other languages, 30 for the place + 1, 16 for what is
 * inlined + 1.
 */
void v8_place_unpack(uint64_t packed, struct v8_place *place)
{
	place->at = (uint32_t)(packed >> 1 & 0x3fffffff) - 1;
	place->inlining = (int32_t)(packed >> 31 & 0xffff) - 1;
	place->found = !(packed & 1);
}

static void search(const struct v8_facts *facts, struct numbers *n, uint32_t offset,
		   struct v8_places *places)
{
	struct v8_place place = {0};
	uint64_t behind = 0, packed = 0, bits; /* behind: the offset + 1 */

	while (next_number(n, &bits)) {
		bits = distance_of(facts, bits);
		if (bits > UINT32_MAX - behind)
			break;
		if (places->count && bits && bits < places->nearest)
			places->nearest = (uint32_t)bits;
		behind += bits;
		if (!next_number(n, &bits))
			break;
		packed += (uint64_t)with_sign(bits);
		v8_place_unpack(packed, &place);
		if (behind <= (uint64_t)offset + 1)
			places->before = place;
		else if (!places->behind.found)
			places->behind = place;
		places->count++;
	}
}

bool v8_places_of(const struct v8_reader *r, uint64_t table, uint32_t offset,
		  struct v8_places *places)
{
	struct numbers numbers;
	uint64_t size;
	uint8_t *bytes;
	int err;

	*places = (struct v8_places){.nearest = UINT32_MAX};
	if (v8_expect(r, table, r->facts->type_places) ||
	    v8_read_word(r, &size, table, r->facts->array_length) || !v8_is_small(size))
		return false;
	size >>= 32;
	if (!size || size > TABLE_MAX)
		return false;
	bytes = malloc(size);
	if (!bytes)
		return false;
	err = runtime_read(r->at, bytes, size, table - 1 + r->facts->array_data);
	numbers = (struct numbers){bytes, bytes + size};
	if (!err)
		search(r->facts, &numbers, offset, places);
	free(bytes);
	return !err;
}

uint32_t v8_bytecode_place(const struct v8_reader *r, uint64_t bytecode, uint32_t offset)
{
	uint32_t head = r->facts->bytecode_data - 1;
	struct v8_places places;
	uint64_t table;

	/* frames have offsets from the pointer on, so that the array's head counts */
	if (!bytecode || offset < head ||
	    v8_read_word(r, &table, bytecode, r->facts->bytecode_positions) ||
	    !v8_places_of(r, table, offset - head, &places) || !places.before.found)
		return UINT32_MAX;
	return places.before.at;
}
