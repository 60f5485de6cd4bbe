// SPDX-License-Identifier: Apache-2.0
/* What HotSpot has memory for, from the structures of a small JVM. */
#include "../prelude.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/hotspot/hotspot.h"

#define MEMORY	 0x8000u
#define BASE	 0x7f0000000000ull
#define RESERVED 0x600000000ull
#define MIB	 (1ull << 20)
#define CLASSES	 (BASE + 0x40000000)

/* Where things are, from BASE on; each thing has its fields in the first 0x100 bytes. */
enum {
	HEAP_VAR = 0x10,
	GRAIN_VAR = 0x18,
	BARRIERS_VAR = 0x20,
	LOADERS_VAR = 0x28,
	PARALLEL_VAR = 0x30,
	PARALLEL_OLD_VAR = 0x38,
	HEAP = 0x100,
	TABLE = 0x200,
	PARTS = 0x1000,
	BARRIERS = 0x300,
	CARDS = 0x400,
	LOADER = 0x500,
	YOUNG = 0x600,
	OLD = 0x700,
};

/* Classes and their constants lie where the memory goes on: CLASSES + these - CLASS. */
enum {
	CLASS = 0x4000,
	CONSTANTS = 0x5000,
};

struct jvm {
	uint8_t bytes[MEMORY];
	struct hotspot hotspot;
	struct runtime_at at;
	struct runtime_spans spans;
};

static int read_memory(void *context, void *to, size_t size, uint64_t address)
{
	const struct jvm *jvm = context;

	if (address >= CLASSES && address < CLASSES + MEMORY - CLASS)
		address = address - CLASSES + BASE + CLASS;
	if (address < BASE || address - BASE > MEMORY || size > MEMORY - (address - BASE))
		return -EFAULT;
	memcpy(to, jvm->bytes + (address - BASE), size);
	return 0;
}

static void put(struct jvm *jvm, uint32_t at, uint64_t value)
{
	memcpy(jvm->bytes + at, &value, sizeof(value));
}

static void fact(struct jvm *jvm, enum hotspot_fact number, uint64_t value)
{
	jvm->hotspot.facts[number] = value;
}

/* A JVM of a heap of 64 MiB, of which nothing more is known. */
static struct jvm *begin(void)
{
	struct jvm *jvm = calloc(1, sizeof(*jvm));

	assert_non_null(jvm);
	memset(jvm->hotspot.facts, 0xff, sizeof(jvm->hotspot.facts));
	jvm->hotspot.version = 17;
	jvm->at.memory = (struct runtime_memory){read_memory, jvm};
	fact(jvm, HOTSPOT_HEAP_OBJECTS, BASE + HEAP_VAR);
	fact(jvm, HOTSPOT_GC_RESERVED, 0x20);
	fact(jvm, HOTSPOT_GC_REGION_START, 0);
	fact(jvm, HOTSPOT_GC_REGION_WORDS, 8);
	put(jvm, HEAP_VAR, BASE + HEAP);
	put(jvm, HEAP + 0x20, RESERVED);
	put(jvm, HEAP + 0x28, 64 * MIB / 8);
	return jvm;
}

static void end(struct jvm *jvm)
{
	vec_free(&jvm->spans.all);
	free(jvm);
}

static void look(struct jvm *jvm)
{
	vec_free(&jvm->spans.all);
	jvm->spans.is_cut = false;
	hotspot_spans(&jvm->at, &jvm->hotspot, &jvm->spans);
}

/* How many bytes of a use there are in all. */
static uint64_t bytes_of(const struct jvm *jvm, enum runtime_use use)
{
	uint64_t sum = 0;

	vec_foreach (&jvm->spans.all, span) {
		assert_true(span->start < span->end);
		if (span->use == use)
			sum += span->end - span->start;
	}
	return sum;
}

/* A part of the heap, in MiB from its beginning. Returns its address. */
static uint64_t part(struct jvm *jvm, uint32_t number, uint64_t bottom, uint64_t top, uint64_t last)
{
	uint32_t at = PARTS + number * 0x100;

	put(jvm, at, RESERVED + bottom * MIB);
	put(jvm, at + 8, RESERVED + last * MIB);
	put(jvm, at + 16, RESERVED + top * MIB);
	return BASE + at;
}

static struct jvm *begin_g1(void)
{
	struct jvm *jvm = begin();

	fact(jvm, HOTSPOT_G1_GRAIN, BASE + GRAIN_VAR);
	fact(jvm, HOTSPOT_G1_MANAGER, 0x30);
	fact(jvm, HOTSPOT_G1_REGIONS, 0x10);
	fact(jvm, HOTSPOT_G1_TABLE, 0);
	fact(jvm, HOTSPOT_G1_LENGTH, 8);
	fact(jvm, HOTSPOT_G1_BOTTOM, 0);
	fact(jvm, HOTSPOT_G1_END, 8);
	fact(jvm, HOTSPOT_G1_TOP, 16);
	put(jvm, GRAIN_VAR, 4 * MIB);
	put(jvm, HEAP + 0x40, BASE + TABLE);
	put(jvm, HEAP + 0x48, 4);
	put(jvm, TABLE, part(jvm, 0, 0, 4, 4));
	put(jvm, TABLE + 8, part(jvm, 1, 4, 5, 8));
	/* the third one was never used */
	put(jvm, TABLE + 24, part(jvm, 3, 12, 12, 16));
	return jvm;
}

static void regions_of_g1(void **state)
{
	struct jvm *jvm = begin_g1();

	(void)state;
	look(jvm);
	assert_int_equal(bytes_of(jvm, RUNTIME_USE_OBJECTS), 5 * MIB);
	assert_int_equal(bytes_of(jvm, RUNTIME_USE_FREE), 7 * MIB);
	assert_int_equal(bytes_of(jvm, RUNTIME_USE_HEAP), 52 * MIB);
	/* one that overlaps, one out of the heap, one that ends before it begins */
	part(jvm, 1, 3, 5, 8);
	part(jvm, 3, 60, 62, 65);
	look(jvm);
	assert_int_equal(bytes_of(jvm, RUNTIME_USE_OBJECTS), 4 * MIB);
	assert_int_equal(bytes_of(jvm, RUNTIME_USE_HEAP), 60 * MIB);
	part(jvm, 1, 4, 9, 8);
	look(jvm);
	assert_int_equal(bytes_of(jvm, RUNTIME_USE_HEAP), 60 * MIB);
	/* more than can be */
	put(jvm, HEAP + 0x48, UINT64_MAX);
	look(jvm);
	assert_int_equal(bytes_of(jvm, RUNTIME_USE_HEAP), 64 * MIB);
	put(jvm, HEAP + 0x28, UINT64_MAX);
	look(jvm);
	assert_int_equal(jvm->spans.all.count, 0);
	end(jvm);
}

static void spaces_of_generations(void **state)
{
	struct jvm *jvm = begin();

	(void)state;
	fact(jvm, HOTSPOT_SERIAL_YOUNG, 0x60);
	fact(jvm, HOTSPOT_SERIAL_OLD, 0x68);
	fact(jvm, HOTSPOT_SERIAL_EDEN, 0);
	fact(jvm, HOTSPOT_SERIAL_FROM, 8);
	fact(jvm, HOTSPOT_SERIAL_TO, 16);
	fact(jvm, HOTSPOT_SERIAL_OBJECTS, 24);
	fact(jvm, HOTSPOT_CONTIGUOUS_BOTTOM, 0);
	fact(jvm, HOTSPOT_CONTIGUOUS_END, 8);
	fact(jvm, HOTSPOT_CONTIGUOUS_TOP, 16);
	put(jvm, HEAP + 0x60, BASE + YOUNG);
	put(jvm, HEAP + 0x68, BASE + OLD);
	/* the two for survivors have changed places */
	put(jvm, YOUNG, part(jvm, 0, 0, 6, 16));
	put(jvm, YOUNG + 8, part(jvm, 1, 18, 19, 20));
	put(jvm, YOUNG + 16, part(jvm, 2, 16, 16, 18));
	put(jvm, OLD + 24, part(jvm, 3, 32, 40, 48));
	look(jvm);
	assert_int_equal(bytes_of(jvm, RUNTIME_USE_OBJECTS), 15 * MIB);
	assert_int_equal(bytes_of(jvm, RUNTIME_USE_FREE), 21 * MIB);
	assert_int_equal(bytes_of(jvm, RUNTIME_USE_HEAP), 28 * MIB);
	/* the same of the parallel collector */
	fact(jvm, HOTSPOT_PARALLEL_YOUNG, BASE + PARALLEL_VAR);
	fact(jvm, HOTSPOT_PARALLEL_OLD, BASE + PARALLEL_OLD_VAR);
	fact(jvm, HOTSPOT_PARALLEL_EDEN, 0);
	fact(jvm, HOTSPOT_PARALLEL_FROM, 8);
	fact(jvm, HOTSPOT_PARALLEL_TO, 16);
	fact(jvm, HOTSPOT_PARALLEL_OBJECTS, 24);
	fact(jvm, HOTSPOT_MUTABLE_BOTTOM, 0);
	fact(jvm, HOTSPOT_MUTABLE_END, 8);
	fact(jvm, HOTSPOT_MUTABLE_TOP, 16);
	put(jvm, PARALLEL_VAR, BASE + YOUNG);
	put(jvm, PARALLEL_OLD_VAR, BASE + OLD);
	put(jvm, HEAP + 0x60, 0);
	look(jvm);
	assert_int_equal(bytes_of(jvm, RUNTIME_USE_OBJECTS), 15 * MIB);
	end(jvm);
}

static void cards_of_this_heap(void **state)
{
	struct jvm *jvm = begin();

	(void)state;
	fact(jvm, HOTSPOT_BARRIERS, BASE + BARRIERS_VAR);
	fact(jvm, HOTSPOT_CARDS, 0x40);
	fact(jvm, HOTSPOT_CARDS_HEAP, 8);
	fact(jvm, HOTSPOT_CARDS_BYTES, 0x30);
	fact(jvm, HOTSPOT_CARDS_MAP, 0x38);
	put(jvm, BARRIERS_VAR, BASE + BARRIERS);
	put(jvm, BARRIERS + 0x40, BASE + CARDS);
	put(jvm, CARDS + 8, RESERVED);
	put(jvm, CARDS + 0x30, 64 * MIB / 512);
	put(jvm, CARDS + 0x38, BASE + 0x10000);
	look(jvm);
	assert_int_equal(bytes_of(jvm, RUNTIME_USE_CARDS), 64 * MIB / 512);
	put(jvm, CARDS + 8, RESERVED + 8);
	look(jvm);
	assert_int_equal(bytes_of(jvm, RUNTIME_USE_CARDS), 0);
	end(jvm);
}

static void classes_of_loaders(void **state)
{
	struct jvm *jvm = begin();
	uint64_t second = 0x300, array = 0x600;

	(void)state;
	fact(jvm, HOTSPOT_LOADERS, BASE + LOADERS_VAR);
	fact(jvm, HOTSPOT_LOADER_NEXT, 8);
	fact(jvm, HOTSPOT_LOADER_CLASSES, 16);
	fact(jvm, HOTSPOT_CLASS_NEXT, 0x90);
	fact(jvm, HOTSPOT_CLASS_LOADER, 0x98);
	fact(jvm, HOTSPOT_CLASS_CONSTANTS, 0xe8);
	fact(jvm, HOTSPOT_POOL_HOLDER, 0x18);
	put(jvm, LOADERS_VAR, BASE + LOADER);
	put(jvm, LOADER + 16, CLASSES);
	put(jvm, CLASS + 0x90, CLASSES + second);
	put(jvm, CLASS + 0x98, BASE + LOADER);
	/* its constants lie elsewhere */
	put(jvm, CLASS + 0xe8, BASE + CONSTANTS);
	put(jvm, CONSTANTS + 0x18, CLASSES);
	put(jvm, CLASS + second + 0x90, CLASSES + array);
	put(jvm, CLASS + second + 0x98, BASE + LOADER);
	/* behind an array there is something else, which points anywhere */
	put(jvm, CLASS + array + 0x98, BASE + LOADER);
	put(jvm, CLASS + array + 0xe8, RESERVED);
	look(jvm);
	assert_int_equal(bytes_of(jvm, RUNTIME_USE_CLASSES), 8 * MIB);
	/* before JDK 16, just around each */
	jvm->hotspot.version = 11;
	look(jvm);
	assert_int_equal(bytes_of(jvm, RUNTIME_USE_CLASSES), 2 * (64 << 10));
	/* what is not a class of that loader ends it */
	put(jvm, CLASS + 0x98, BASE + LOADER + 8);
	look(jvm);
	assert_int_equal(bytes_of(jvm, RUNTIME_USE_CLASSES), 0);
	assert_false(jvm->spans.is_cut);
	/* classes that follow each other in a ring */
	put(jvm, CLASS + 0x98, BASE + LOADER);
	put(jvm, CLASS + 0x90, CLASSES);
	look(jvm);
	assert_true(jvm->spans.is_cut);
	end(jvm);
}

static void code_and_its_map(void **state)
{
	struct jvm *jvm = begin();

	(void)state;
	jvm->hotspot.data.heaps[0] = (struct hotspot_heap){BASE, BASE + MIB, BASE + 2 * MIB, 7, 16};
	/* of one that makes no sense, nothing */
	jvm->hotspot.data.heaps[1] = (struct hotspot_heap){BASE, BASE + MIB, BASE, 70, 16};
	look(jvm);
	assert_int_equal(bytes_of(jvm, RUNTIME_USE_CODE), MIB + (MIB >> 7));
	end(jvm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(regions_of_g1),      cmocka_unit_test(spaces_of_generations),
		cmocka_unit_test(cards_of_this_heap), cmocka_unit_test(classes_of_loaders),
		cmocka_unit_test(code_and_its_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
