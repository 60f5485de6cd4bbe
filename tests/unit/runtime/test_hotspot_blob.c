// SPDX-License-Identifier: Apache-2.0
/*
 * HotSpot: the blob of an address, by the map of segments, by the block that it was in before, and
 * by what was seen there.
 */
// clang-format off
// clang-format on

#include "../prelude.h"

#include <string.h>

#define HERE_REMEMBERS_WORDS
#include "bpf/unwind/unwind.h"

/* A heap of code, with its map of segments behind it. */
#define HEAP	     0x7f0000000000ull
#define HEAP_BYTES   4096u
#define SHIFT	     7
#define HEADER	     16u
#define SEGMAP	     (HEAP + HEAP_BYTES)
#define SEGMAP_BYTES (HEAP_BYTES >> SHIFT)

#define COMPILE_ID   77

/* What one place has is remembered, as a cache may lose any other. */
struct here {
	struct unwind_walk walk;
	uint64_t key, words[2];
	uint8_t memory[HEAP_BYTES + SEGMAP_BYTES];
};

static inline void unwind_recall_words(const struct unwind_walk *w, __u64 at, __u64 words[2])
{
	const struct here *here = (const struct here *)w;

	words[0] = here->key == at ? here->words[0] : 0;
	words[1] = here->key == at ? here->words[1] : 0;
}

static inline void unwind_remember_words(const struct unwind_walk *w, __u64 at, __u64 first,
					 __u64 second)
{
	struct here *here = (struct here *)(uintptr_t)w;

	here->key = at;
	here->words[0] = first;
	here->words[1] = second;
}

#include "no_tables.h"

static inline long unwind_read(const struct unwind_walk *w, void *to, __u32 size, __u64 address)
{
	const struct here *here = (const struct here *)w;
	uint64_t offset = address - HEAP;

	if (offset > sizeof(here->memory) || size > sizeof(here->memory) - offset)
		return -1;
	memcpy(to, here->memory + offset, size);
	return 0;
}

/*
 * What a blob has here: its name, its kind, where its code begins, the words of its frame, its
 * compile id.
 */
struct blob {
	uint64_t name;
	uint32_t kind, code_offset, frame_size, compile_id;
};

static const struct hotspot_data data = {
	.heaps = {{HEAP, HEAP + HEAP_BYTES, SEGMAP, SHIFT, HEADER}},
	.code_start = HEAP,
	.code_end = HEAP + HEAP_BYTES,
	.blob_from = 8,
	.blob_bytes = 24,
	.block_length = {0, 8},
	.block_used = {8, 1},
	.fields = {[HOTSPOT_NAME] = {0, 8},
		   [HOTSPOT_KIND] = {8, 1},
		   [HOTSPOT_CODE] = {12, 4},
		   [HOTSPOT_FRAME_SIZE] = {16, 4},
		   [HOTSPOT_COMPILE_ID] = {20, 4}},
	.code_is_offset = 1,
	.nmethod_kind = 1,
};

/* Makes a block of that many segments. Returns where its blob is. */
static uint64_t put_block(struct here *here, uint32_t segment, uint64_t length, uint32_t frame_size)
{
	struct blob blob = {0x1234, 1, 64, frame_size, COMPILE_ID};
	uint8_t *block = here->memory + (segment << SHIFT);
	uint32_t i;

	memset(block, 0, HEADER);
	memcpy(block, &length, sizeof(length));
	block[8] = 1;
	memcpy(block + HEADER + data.blob_from, &blob, data.blob_bytes);
	for (i = 0; i < length; i++)
		here->memory[HEAP_BYTES + segment + i] = (uint8_t)i;
	return HEAP + (segment << SHIFT) + HEADER;
}

static void read_of(struct here *here, uint64_t at, int with_block, struct hotspot_blob *b)
{
	*b = (struct hotspot_blob){.at = at};
	assert_int_equal(hotspot_read_blob(&here->walk, &data, b, with_block), 0);
}

/* With its block or without: what is read of a blob is the same. */
static void with_its_block(void **state)
{
	struct here here = {0};
	uint64_t at = put_block(&here, 3, 20, 5);
	struct hotspot_blob plain, whole;
	__u64 found = 0;

	(void)state;
	assert_int_equal(hotspot_find(&here.walk, &data, at + 2000, &found), 0);
	assert_int_equal(found, at);
	read_of(&here, at, 0, &plain);
	read_of(&here, at, 1, &whole);
	assert_int_equal(plain.block_end, 0);
	assert_int_equal(whole.block_end, HEAP + (23 << SHIFT));
	assert_int_equal(whole.name, plain.name);
	assert_int_equal(whole.code, plain.code);
	assert_int_equal(whole.frame_size, plain.frame_size);
	assert_int_equal(whole.is_nmethod, plain.is_nmethod);
	assert_int_equal(plain.name, 0x1234);
	assert_int_equal(plain.code, at + 64);
	assert_int_equal(plain.frame_size, 40);
	assert_true(plain.is_nmethod);
}

/*
 * A block that was given back, and one whose end has become another one: what was there says no
 * more.
 */
static void gone_blocks(void **state)
{
	struct here here = {0};
	uint64_t at = put_block(&here, 0, 10, 5), inside = HEAP + (7 << SHIFT), next;
	__u64 found = 0;
	struct hotspot_blob b;

	(void)state;
	read_of(&here, at, 1, &b);
	assert_true(inside >= b.code && inside < b.block_end);
	here.memory[8] = 0;
	read_of(&here, at, 1, &b);
	assert_int_equal(b.block_end, 0);

	put_block(&here, 0, 6, 5);
	next = put_block(&here, 6, 4, 7);
	read_of(&here, at, 1, &b);
	assert_true(inside >= b.block_end);
	assert_int_equal(hotspot_find(&here.walk, &data, inside, &found), 0);
	assert_int_equal(found, next);
}

/* What a block says of itself may be anything. */
static void any_block(void **state)
{
	struct here here = {0};
	uint64_t at = put_block(&here, 0, 10, 5), i;
	struct hotspot_blob b;

	(void)state;
	for (i = 2; i < 256; i++) {
		here.memory[8] = (uint8_t)i;
		read_of(&here, at, 1, &b);
		assert_int_equal(b.block_end, 0);
	}
	/* the header of this one would lie before all memory */
	b = (struct hotspot_blob){.at = HEAP};
	assert_int_not_equal(hotspot_read_blob(&here.walk, &data, &b, 1), 0);
}

/* What was seen of a place holds as long as the blob is that nmethod. */
static void seen_again(void **state)
{
	struct here here = {0};
	uint64_t at = put_block(&here, 0, 10, 5);
	struct blob *blob = (struct blob *)(here.memory + HEADER + data.blob_from);

	(void)state;
	assert_true(hotspot_is_still(&here.walk, &data, at, COMPILE_ID));
	assert_false(hotspot_is_still(&here.walk, &data, at, COMPILE_ID + 1));
	assert_false(hotspot_is_still(&here.walk, &data, HEAP, COMPILE_ID));
	blob->kind = 2;
	assert_false(hotspot_is_still(&here.walk, &data, at, COMPILE_ID));
	put_block(&here, 0, 10, 5);
	here.memory[8] = 0;
	assert_false(hotspot_is_still(&here.walk, &data, at, COMPILE_ID));
}

static void remembered(void **state)
{
	struct hotspot_blob b = {.at = 0x7f1234567880ull, .frame_size = 48};
	const uint64_t place = 0x7f1234567900ull, detail = 77ull << 32 | 0x80;
	struct hotspot_data unknown = data;
	struct hotspot_seen seen;
	struct here here = {0};

	(void)state;
	unknown.block_used.size = 0;
	hotspot_remember(&here.walk, &unknown, place, &b, HOTSPOT_C2, detail);
	assert_int_equal(hotspot_recall(&here.walk, place).blob, 0);

	hotspot_remember(&here.walk, &data, place, &b, HOTSPOT_NATIVE, detail);
	seen = hotspot_recall(&here.walk, place);
	assert_int_equal(seen.blob, b.at);
	assert_int_equal(seen.frame_size, 48);
	assert_int_equal(seen.variant, HOTSPOT_NATIVE);
	assert_int_equal(seen.detail, detail);
	assert_int_equal(hotspot_recall(&here.walk, place + 1).blob, 0);

	/* the blob alone: there is no more to say, or too much */
	hotspot_remember(&here.walk, &data, place, &b, 0, 0);
	assert_int_equal(hotspot_recall(&here.walk, place).frame_size, 0);
	b.frame_size = HOTSPOT_FRAME_MAX;
	hotspot_remember(&here.walk, &data, place, &b, HOTSPOT_C2, detail);
	seen = hotspot_recall(&here.walk, place);
	assert_int_equal(seen.blob, b.at);
	assert_int_equal(seen.frame_size, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_its_block), cmocka_unit_test(gone_blocks),
		cmocka_unit_test(any_block),	  cmocka_unit_test(seen_again),
		cmocka_unit_test(remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
