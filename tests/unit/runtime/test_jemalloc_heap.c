// SPDX-License-Identifier: Apache-2.0
/* Extents of jemalloc, in memory that is made here of a few words. */
#include "../prelude.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/allocators/jemalloc.h"

#define DATA	   0x7f0000000000ull /* of the library, with the root at ROOT */
#define ROOT_BYTES (8ull << 18)
#define ROOT	   (DATA + 0x1238)
#define NODE	   0x7f1000400080ull
#define LEAF	   0x7f1000000040ull
#define OF_EXTENTS 0x7f1000800000ull /* their descriptions, 128 bytes each */
#define HEAP	   0x7f2000000000ull

#define WORDS_MAX  64u

/* What is not set is 0 where its page has a word, and else not there. */
static struct {
	uint64_t at[WORDS_MAX], word[WORDS_MAX];
	size_t count;
} made;

static void set(uint64_t at, uint64_t word)
{
	for (size_t i = 0; i < made.count; i++)
		if (made.at[i] == at) {
			made.word[i] = word;
			return;
		}
	assert_true(made.count < WORDS_MAX);
	made.at[made.count] = at;
	made.word[made.count++] = word;
}

static int look_at_made(void *context, uint64_t address, size_t count, bool *is)
{
	(void)context;
	for (size_t i = 0; i < count; i++) {
		is[i] = false;
		for (size_t k = 0; k < made.count; k++)
			is[i] |= made.at[k] / RESIDENT_PAGE == address / RESIDENT_PAGE + i;
	}
	return 0;
}

static int read_made(void *context, void *to, size_t size, uint64_t address)
{
	(void)context;
	memset(to, 0, size);
	for (size_t k = 0; k < made.count; k++)
		if (made.at[k] >= address && made.at[k] + 8 <= address + size)
			memcpy((char *)to + (made.at[k] - address), &made.word[k], 8);
	return 0;
}

/* As jemalloc is built for addresses of 57 bits, with three levels; else for 48, with two. */
static bool is_wide;

static uint64_t root_bytes(void)
{
	return is_wide ? 8ull << 15 : ROOT_BYTES;
}

/* The word of the root that leads to the heap. */
static uint64_t in_root(void)
{
	return ROOT + 8 * (is_wide ? HEAP >> 42 & 0x7fff : HEAP >> 30 & 0x3ffff);
}

static void element(uint64_t at, uint64_t description, uint64_t class, uint64_t flags)
{
	if (!is_wide) {
		set(LEAF + 8 * (at >> 12 & 0x3ffff), class << 48 | description | flags);
		return;
	}
	set(LEAF + 16 * (at >> 12 & 0x7fff), description);
	set(LEAF + 16 * (at >> 12 & 0x7fff) + 8, class << 5 | flags);
}

struct made_extent {
	uint64_t at, size, class, is_slab, state, free;
};

/* One of version 5.3, at an offset in the heap; it begins in its first page. */
static void extent(unsigned int number, const struct made_extent *e)
{
	uint64_t at = HEAP + e->at, description = OF_EXTENTS + 128 * (uint64_t)number;

	element(at, description, e->class, e->state << 2 | e->is_slab);
	set(description, e->is_slab << 12 | e->state << 17 | e->class << 20 | e->free << 28 | 5);
	set(description + 8, at + (e->is_slab ? 0 : 0x340));
	set(description + 16, e->size | 7);
}

static struct resident begin(void)
{
	memset(&made, 0, sizeof(made));
	set(DATA, 17);
	set(in_root(), is_wide ? NODE : LEAF);
	if (is_wide)
		set(NODE + 8 * (HEAP >> 27 & 0x7fff), LEAF);
	/* a slab of 256 regions of 16 bytes */
	extent(0, &(struct made_extent){0, 4096, 1, 1, 0, 56});
	extent(1, &(struct made_extent){4096, 3 * 4096, 39, 0, 0, 0});
	extent(2, &(struct made_extent){5 * 4096, 8192, 232, 0, 3, 0});
	return (struct resident){.read = read_made, .present = look_at_made};
}

static bool is_own(void *context, uint64_t at, uint64_t bytes)
{
	(void)context;
	return at == (is_wide ? NODE : LEAF) && bytes == root_bytes();
}

static bool find_in(struct resident *memory, uint64_t bytes, struct jemalloc_heap *heap)
{
	const uint64_t samples[] = {HEAP - (1 << 30), HEAP + 4 * 4096, HEAP};
	const struct jemalloc_search search = {DATA, DATA + bytes, samples, 3, is_own, NULL};

	return jemalloc_heap_find(memory, &search, heap);
}

static bool find(struct resident *memory, struct jemalloc_heap *heap)
{
	return find_in(memory, root_bytes() + 0x10000, heap);
}

static void the_tree_is_found(void **state)
{
	struct resident memory = begin();
	struct jemalloc_heap heap;

	(void)state;
	assert_true(find(&memory, &heap));
	assert_int_equal(heap.root, ROOT);
	assert_true(heap.is_known);
	/* a description of another page is not a proof, nor is a root that ends behind the data */
	set(OF_EXTENTS + 8, HEAP + 4096);
	assert_false(find(&memory, &heap));
	assert_int_equal(heap.root, 0);
	set(OF_EXTENTS + 8, HEAP);
	assert_true(find(&memory, &heap));
	assert_false(find_in(&memory, root_bytes(), &heap));
	assert_false(find_in(&memory, root_bytes() - 8, &heap));
	/* a node that cannot be one */
	set(in_root(), (is_wide ? NODE : LEAF) + 64);
	assert_false(find(&memory, &heap));
	set(in_root(), is_wide ? NODE : LEAF);
	if (is_wide) {
		set(NODE + 8 * (HEAP >> 27 & 0x7fff), LEAF + 8);
		assert_false(find(&memory, &heap));
		set(NODE + 8 * (HEAP >> 27 & 0x7fff), LEAF);
	}
	/* another version */
	set(OF_EXTENTS, 1 << 18);
	assert_true(find(&memory, &heap));
	assert_false(heap.is_known);
	free(memory.bytes);
}

static struct jemalloc_extent look(struct resident *memory, uint64_t at)
{
	struct jemalloc_extent result;
	struct jemalloc_heap heap;

	assert_true(find(memory, &heap));
	jemalloc_heap_extent(memory, &heap, HEAP + at, HEAP + 0x10000, &result);
	return result;
}

static void extents_in_use_and_free(void **state)
{
	struct resident memory = begin();
	struct jemalloc_extent result;

	(void)state;
	result = look(&memory, 0);
	assert_true(result.is_read);
	assert_int_equal(result.bytes, 4096);
	assert_int_equal(result.in_use, 200 * 16);
	result = look(&memory, 4096);
	assert_int_equal(result.bytes, 3 * 4096);
	assert_int_equal(result.in_use, 3 * 4096);
	result = look(&memory, 5 * 4096);
	assert_true(result.is_read);
	assert_int_equal(result.bytes, 8192);
	assert_int_equal(result.in_use, 0);
	/* within one, and where there is none */
	assert_int_equal(look(&memory, 2 * 4096).bytes, 0);
	assert_int_equal(look(&memory, 4 * 4096).bytes, 0);
	/* regions of 224 bytes */
	extent(0, &(struct made_extent){0, 7 * 4096, 11, 1, 0, 28});
	assert_int_equal(look(&memory, 0).in_use, 100 * 224);
	/* more free ones than there can be; a class that no slab has */
	extent(0, &(struct made_extent){0, 7 * 4096, 11, 1, 0, 129});
	assert_false(look(&memory, 0).is_read);
	extent(0, &(struct made_extent){0, 7 * 4096, 64, 1, 0, 0});
	assert_false(look(&memory, 0).is_read);
	free(memory.bytes);
}

static void what_is_too_much_is_not_read(void **state)
{
	struct resident memory = begin();
	struct jemalloc_extent result;
	struct jemalloc_heap heap;

	(void)state;
	assert_true(find(&memory, &heap));
	heap.looks = JEMALLOC_LOOKS_MAX;
	assert_true(jemalloc_heap_extent(&memory, &heap, HEAP, HEAP + 0x10000, &result));
	assert_false(result.is_read);
	assert_int_equal(result.bytes, 0x10000);
	free(memory.bytes);
}

static void blocks_of_its_own(void **state)
{
	const uint64_t at = 0x7f1001000000ull, size = 4 << 20;
	struct resident memory = begin();

	(void)state;
	set(at, size);
	set(at + 8, at + size);
	set(at + 24, at + 0x500c0);
	set(at + 32, size - 0x500c0);
	assert_int_equal(jemalloc_heap_own(&memory, at), size);
	set(at + 32, size - 0x500c8);
	assert_int_equal(jemalloc_heap_own(&memory, at), 0);
	set(at, UINT64_MAX & ~0x1fffffull);
	assert_int_equal(jemalloc_heap_own(&memory, at), 0);
	assert_int_equal(jemalloc_heap_own(&memory, at + 4096), 0);
	free(memory.bytes);
}

static int with_48_bits(void **state)
{
	(void)state;
	is_wide = false;
	return 0;
}

static int with_57_bits(void **state)
{
	(void)state;
	is_wide = true;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tree_is_found),
		cmocka_unit_test(extents_in_use_and_free),
		cmocka_unit_test(what_is_too_much_is_not_read),
		cmocka_unit_test(blocks_of_its_own),
	};

	return cmocka_run_group_tests_name("48 bits", tests, with_48_bits, NULL) +
	       cmocka_run_group_tests_name("57 bits", tests, with_57_bits, NULL);
}
