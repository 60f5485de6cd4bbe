// SPDX-License-Identifier: Apache-2.0
/*
 * Places in V8's bytecode and in what it compiles: their lines, and the functions that are inlined
 * there.
 */
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>

#include "v8_made.h"

/* As V8 writes them: seven bits in each byte. */
static size_t put_bits(uint8_t *to, uint64_t bits)
{
	size_t count = 0;

	do {
		to[count++] = (uint8_t)((bits & 0x7f) | (bits > 0x7f ? 0x80 : 0));
		bits >>= 7;
	} while (bits);
	return count;
}

/* With its sign in the lowest bit. */
static size_t put_number(uint8_t *to, int64_t value)
{
	return put_bits(to, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static uint64_t place_of(uint32_t at, int32_t inlining)
{
	return (uint64_t)(at + 1) << 1 | (uint64_t)(inlining + 1) << 31;
}

struct entry {
	int32_t offset; /* -1: where the function is entered */
	uint32_t at;
	int32_t inlining;
};

static uint64_t make_places(struct heap *heap, const struct entry *entries, size_t count)
{
	uint64_t table, before = 0;
	int32_t offset = -1;
	uint8_t bytes[256];
	size_t size = 0, i;

	for (i = 0; i < count; i++) {
		uint64_t place = place_of(entries[i].at, entries[i].inlining);
		int64_t distance = entries[i].offset - offset;

		/* every other one is not a statement, and in later versions a place to stop at */
		size += heap->r.facts->places_flagged
				? put_bits(bytes + size, (uint64_t)distance << 2 | (i & 1 ? 2 : 1))
				: put_number(bytes + size, i & 1 ? -1 - distance : distance);
		size += put_number(bytes + size, (int64_t)(place - before));
		offset = entries[i].offset;
		before = place;
	}
	table = make(heap, 190, 16 + size);
	put_word(heap, table, 8, small((uint32_t)size));
	put(heap, table, 16, bytes, size);
	return table;
}

static void assert_places_in_bytecode(struct heap *heap)
{
	static const struct entry entries[] = {
		{-1, 3, -1}, {0, 5, -1}, {10, 60, -1}, {11, 7, -1}, {200, 8, -1}};
	uint64_t bytecode = make(heap, 191, 64);

	put_word(heap, bytecode, 32, make_places(heap, entries, 5));
	/* frames count the head of the array, without the tag */
	assert_int_equal(v8_bytecode_place(&heap->r, bytecode, 53), 5);
	assert_int_equal(v8_bytecode_place(&heap->r, bytecode, 53 + 9), 5);
	assert_int_equal(v8_bytecode_place(&heap->r, bytecode, 53 + 10), 60);
	assert_int_equal(v8_bytecode_place(&heap->r, bytecode, 53 + 11), 7);
	assert_int_equal(v8_bytecode_place(&heap->r, bytecode, 53 + 199), 7);
	assert_int_equal(v8_bytecode_place(&heap->r, bytecode, 53 + 300), 8);
	assert_int_equal(v8_bytecode_place(&heap->r, bytecode, 52), UINT32_MAX);
	/* V8 makes the table only when it needs it */
	put_word(heap, bytecode, 32, make(heap, 131, 32));
	assert_int_equal(v8_bytecode_place(&heap->r, bytecode, 60), UINT32_MAX);
}

static void test_places_in_bytecode(void **state)
{
	assert_places_in_bytecode(*state);
}

/* As V8 14.6 writes them. */
static void test_places_with_flags(void **state)
{
	struct heap *heap = *state;
	struct v8_facts flagged = *heap->r.facts;

	flagged.places_flagged = true;
	heap->r.facts = &flagged;
	assert_places_in_bytecode(heap);
}

static uint64_t make_array(struct heap *heap, const uint64_t *words, size_t count)
{
	uint64_t array = make(heap, 175, 16 + 8 * count);

	put_word(heap, array, 8, small((uint32_t)count));
	put(heap, array, 16, words, count * sizeof(*words));
	return array;
}

/* Optimized code of `outer`, in which `middle` is inlined (0), and `inner` in that (1). */
struct optimized {
	uint64_t outer, code, start, deopt, literals;
};

static struct optimized make_optimized(struct heap *heap)
{
	static const struct entry entries[] = {{10, 2, -1}, {20, 6, 0}, {30, 8, 1}, {400, 3, -1}};
	uint64_t script = make_script(heap, "a.js", "1\n2\n3\n4\n5\n6\n"), stream;
	uint64_t inner = make_shared(heap, make_text(heap, "inner"), script);
	uint64_t middle = make_shared(heap, make_text(heap, "middle"), script);
	uint64_t inlined[4] = {place_of(4, -1), 0, place_of(0, 0), 1};
	uint64_t literals[2], data[20] = {0};
	struct optimized o;

	o.outer = make_shared(heap, make_text(heap, "outer"), script);
	/* references may be of the kind that keeps nothing alive */
	literals[0] = middle | 2;
	literals[1] = inner;
	o.literals = data[2] = make_array(heap, literals, 2);
	data[6] = o.outer;
	data[7] = make(heap, 190, 16 + sizeof(inlined));
	put_word(heap, data[7], 8, small(sizeof(inlined)));
	put(heap, data[7], 16, inlined, sizeof(inlined));
	/*
	 * exits from offset 480 on: two at once, one later, which belongs to the call that returns
	 * to 36
	 */
	data[8] = small(480);
	data[9] = small(2);
	data[10] = small(1);
	data[11 + 3 * 2 + 2] = small(36);
	o.deopt = make_array(heap, data, 20);
	o.code = make(heap, 245, 64);
	make(heap, 252, 16);
	heap->used = (heap->used + 63 + 64) & ~(size_t)63;
	heap->used -= 16;
	stream = make(heap, 252, 1024);
	o.start = stream - 1 + 16;
	assert_int_equal(o.start % 64, 0);
	put_word(heap, stream, 8, o.code);
	put_word(heap, o.code, 16, o.deopt);
	put_word(heap, o.code, 24, make_places(heap, entries, 4));
	put_word(heap, o.code, 40, o.start);
	put_word(heap, o.code, 48, 13);
	put_word(heap, o.code, 56, 512);
	return o;
}

static const struct runtime_names *name_code_as(struct heap *heap, const struct optimized *o,
						uint32_t offset, unsigned int variant, int expected)
{
	struct v8_shared s;

	assert_int_equal(v8_shared_read(&heap->r, o->outer, &s), 0);
	return name(heap, o->start + offset, variant, V8_CODE_DETAIL(o->outer - 1, s.checksum),
		    expected);
}

static const struct runtime_names *name_code(struct heap *heap, const struct optimized *o,
					     uint32_t offset, unsigned int variant)
{
	return name_code_as(heap, o, offset, variant, 0);
}

static void assert_chain(const struct runtime_names *names, const char *expected)
{
	char text[256] = "";
	size_t i, used = 0;

	for (i = 0; i < names->count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s:%u ",
					 names->at[i].function, names->at[i].line);
	assert_string_equal(text, expected);
}

static void test_inlined_functions(void **state)
{
	struct heap *heap = *state;
	struct optimized o = make_optimized(heap);

	assert_chain(name_code(heap, &o, 12, V8_FRAME_CODE), "outer:2 ");
	assert_chain(name_code(heap, &o, 25, V8_FRAME_CODE), "middle:4 outer:3 ");
	assert_chain(name_code(heap, &o, 35, V8_FRAME_CODE), "inner:5 middle:1 outer:3 ");
	/* between calls: what both agree on */
	assert_chain(name_code(heap, &o, 25, V8_FRAME_LEAF), "middle:4 outer:3 ");
	assert_chain(name_code(heap, &o, 35, V8_FRAME_LEAF), "outer:3 ");
	/*
	 * before the first call, nothing is known but the function; a call that is none, or behind
	 * the code: nothing
	 */
	assert_chain(name_code(heap, &o, 5, V8_FRAME_LEAF), "outer:0 ");
	name_code_as(heap, &o, 5, V8_FRAME_CODE, -ESTALE);
	name_code_as(heap, &o, 600, V8_FRAME_CODE, -ESTALE);
}

/*
 * Two places lie nearer to each other than calls can: between two of them, the one before counts.
 */
static void test_places_of_all(void **state)
{
	static const struct entry entries[] = {
		{10, 2, -1}, {20, 6, 0}, {30, 8, 1}, {38, 8, 1}, {42, 3, -1}};
	struct heap *heap = *state;
	struct optimized o = make_optimized(heap);

	put_word(heap, o.code, 24, make_places(heap, entries, 5));
	assert_chain(name_code(heap, &o, 25, V8_FRAME_LEAF), "middle:4 outer:3 ");
	assert_chain(name_code(heap, &o, 35, V8_FRAME_LEAF), "inner:5 middle:1 outer:3 ");
	assert_chain(name_code(heap, &o, 50, V8_FRAME_LEAF), "outer:2 ");
}

/* A frame that cannot go on returns to an exit; that of its call is what counts. */
static void test_exits(void **state)
{
	const size_t place = 16 + 8 * (11 + 3 * 2 + 2);
	struct heap *heap = *state;
	struct optimized o = make_optimized(heap);
	uint64_t nothing;

	assert_chain(name_code(heap, &o, 487, V8_FRAME_CODE), "inner:5 middle:1 outer:3 ");
	put_word(heap, o.deopt, place, small(26));
	assert_chain(name_code(heap, &o, 487, V8_FRAME_CODE), "middle:4 outer:3 ");
	/* between two, behind all, one that finds out itself, one that does not say whose it is */
	name_code_as(heap, &o, 486, V8_FRAME_CODE, -ESTALE);
	name_code_as(heap, &o, 491, V8_FRAME_CODE, -ESTALE);
	name_code_as(heap, &o, 483, V8_FRAME_CODE, -ESTALE);
	put_word(heap, o.deopt, place, small(488));
	name_code_as(heap, &o, 487, V8_FRAME_CODE, -ESTALE);
	assert_chain(name_code(heap, &o, 488, V8_FRAME_LEAF), "outer:0 ");
	/* with nothing inlined, it needs not say that */
	nothing = make(heap, 190, 16);
	put_word(heap, nothing, 8, small(0));
	put_word(heap, o.deopt, 16 + 7 * 8, nothing);
	assert_chain(name_code(heap, &o, 487, V8_FRAME_CODE), "outer:0 ");
}

/* An inlined function that cannot be at that place in the source is another one by now. */
static void test_inlined_function_that_changed(void **state)
{
	struct heap *heap = *state;
	struct optimized o = make_optimized(heap);
	uint64_t script = make_script(heap, "b.js", "x\ny\nz\n12345"),
		 text = make_text(heap, "later");
	const uint64_t here[] = {text, small(0), small(6), small(9)};
	const uint64_t there[] = {text, small(0), small(7), small(9)};

	put_word(heap, o.literals, 16,
		 make_shared(heap, make_scope(heap, 2 | 3 << 12, 0, here, 4), script));
	assert_chain(name_code(heap, &o, 25, V8_FRAME_CODE), "later:4 outer:3 ");
	put_word(heap, o.literals, 16,
		 make_shared(heap, make_scope(heap, 2 | 3 << 12, 0, there, 4), script));
	name_code_as(heap, &o, 25, V8_FRAME_CODE, -ESTALE);
}

/* Sparkplug's code: of the function if it was made of its bytecode. */
static void test_baseline(void **state)
{
	struct heap *heap = *state;
	struct optimized o = make_optimized(heap);
	uint64_t bytecode = make(heap, 191, 64);
	const uint64_t behind[] = {make_text(heap, "outer"), small(0), small(2), small(9)};

	put_word(heap, o.outer, 16, make_scope(heap, 2 | 3 << 12, 0, behind, 4));
	put_word(heap, o.outer, 8, bytecode + 16);
	put_word(heap, o.code, 16, bytecode);
	put_word(heap, o.code, 48, 11);
	name_code_as(heap, &o, 25, V8_FRAME_CODE, -ESTALE);
	assert_chain(name_code(heap, &o, 25, V8_FRAME_LEAF), "outer:2 ");
	put_word(heap, o.outer, 8, bytecode);
	assert_chain(name_code(heap, &o, 25, V8_FRAME_CODE), "outer:2 ");
	put_word(heap, o.outer, 8, o.code);
	assert_chain(name_code(heap, &o, 25, V8_FRAME_CODE), "outer:2 ");
}

static void test_code_of_another_function(void **state)
{
	struct heap *heap = *state;
	struct optimized o = make_optimized(heap);

	/* the code is now that of another function: what was inlined is not known any more */
	put_word(heap, o.deopt, 16 + 6 * 8, make_shared(heap, make_text(heap, "other"), 0));
	name_code_as(heap, &o, 25, V8_FRAME_CODE, -ESTALE);
	/* inlined into itself */
	o = make_optimized(heap);
	put_word(heap, o.deopt, 16 + 7 * 8, o.deopt);
	name_code_as(heap, &o, 25, V8_FRAME_CODE, -ESTALE);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, heap_begin, heap_end)
	const struct CMUnitTest tests[] = {
		T(test_places_in_bytecode),
		T(test_places_with_flags),
		T(test_inlined_functions),
		T(test_places_of_all),
		T(test_exits),
		T(test_inlined_function_that_changed),
		T(test_baseline),
		T(test_code_of_another_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
