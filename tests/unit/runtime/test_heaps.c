// SPDX-License-Identifier: Apache-2.0
/* Chunks of malloc(), pools of Python, chunks of V8, in memory that is made here. */
#include "../prelude.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/allocators/glibc.h"
#include "runtime/python/pools.h"
#include "runtime/python/waiting.h"
#include "runtime/v8/chunks.h"

#define BASE  0x10000000ull
#define BYTES (16u * RESIDENT_PAGE)

/* Pages from BASE on; those of a bit in absent are not there. */
static struct {
	uint64_t words[BYTES / 8];
	uint32_t absent;
} made;

static int read_made(void *context, void *to, size_t size, uint64_t address)
{
	(void)context;
	if (address < BASE || address - BASE > BYTES || size > BYTES - (address - BASE))
		return -EFAULT;
	memcpy(to, (const char *)made.words + (address - BASE), size);
	return 0;
}

static int look_at_made(void *context, uint64_t address, size_t count, bool *is)
{
	(void)context;
	for (size_t i = 0; i < count; i++) {
		uint64_t page = (address - BASE) / RESIDENT_PAGE + i;

		is[i] = address >= BASE && page < BYTES / RESIDENT_PAGE &&
			!(made.absent >> page & 1);
	}
	return 0;
}

static struct resident begin(void)
{
	memset(&made, 0, sizeof(made));
	return (struct resident){.read = read_made, .present = look_at_made};
}

static void set(uint64_t at, uint64_t word)
{
	made.words[(at - BASE) / 8] = word;
}

/* A chunk: its size with its bits. Returns where the next one is. */
static uint64_t chunk(uint64_t at, uint64_t size, uint64_t bits)
{
	set(at + 8, size | bits);
	return at + size;
}

static void chunks_in_use_and_free(void **state)
{
	struct resident memory = begin();
	struct glibc_heap heap;
	uint64_t at = BASE, top;

	(void)state;
	at = chunk(at, 0x290, 1);
	set(BASE + 16, 2ull << 16 | 3); /* 3 of 32 bytes, 2 of 48 bytes */
	set(BASE + 16 + 128, BASE + 0x300);
	set(BASE + 16 + 136, BASE + 0x400);
	at = chunk(at, 1000 & ~15u, 1);
	at = chunk(at, 5 * RESIDENT_PAGE, 1); /* free, since the next one says so */
	at = chunk(at, 64, 0);
	top = at;
	chunk(at, BASE + BYTES - at, 1);
	assert_true(glibc_heap_walk(&memory, BASE, BASE + BYTES, &heap));
	assert_int_equal(heap.top, top);
	assert_int_equal(heap.in_use, 0x290 + 992 + 64);
	assert_int_equal(heap.free, BYTES - heap.in_use);
	assert_int_equal(heap.cached, 3 * 32 + 2 * 48);
	/* a part of what is free is not in RAM */
	made.absent = 1u << 2;
	assert_true(glibc_heap_walk(&memory, BASE, BASE + BYTES, &heap));
	assert_int_equal(heap.free, BYTES - heap.in_use - RESIDENT_PAGE);
	free(memory.bytes);
}

static void what_is_no_heap(void **state)
{
	struct resident memory = begin();
	struct glibc_heap heap;

	(void)state;
	assert_false(glibc_heap_walk(&memory, BASE, BASE + BYTES, &heap));
	chunk(BASE, 64, 1);
	/* the second one has a size that cannot be */
	chunk(BASE + 64, 8, 1);
	assert_true(glibc_heap_walk(&memory, BASE, BASE + BYTES, &heap));
	assert_int_equal(heap.in_use, 64);
	assert_int_equal(heap.top, 0);
	chunk(BASE + 64, BYTES, 1);
	assert_true(glibc_heap_walk(&memory, BASE, BASE + BYTES, &heap));
	assert_int_equal(heap.in_use + heap.free, 64);
	free(memory.bytes);
}

static void lists_of_small_chunks(void **state)
{
	struct resident memory = begin();
	uint64_t arena = BASE, one = BASE + 0x2000, other = BASE + 0x3000;

	(void)state;
	set(arena + 16 + 8, one); /* of 48 bytes */
	chunk(one, 48, 1);
	set(one + 16, other ^ (one + 16) >> 12);
	chunk(other, 48, 1);
	set(other + 16, (other + 16) >> 12);
	assert_int_equal(glibc_heap_fast(&memory, arena), 96);
	/* round and round */
	set(other + 16, one ^ (other + 16) >> 12);
	assert_true(glibc_heap_fast(&memory, arena) > 96);
	/* as before 2.32 */
	set(one + 16, other);
	set(other + 16, 0);
	assert_int_equal(glibc_heap_fast(&memory, arena), 96);
	free(memory.bytes);
}

static void the_arena_of_the_main_heap(void **state)
{
	struct resident memory = begin();
	uint64_t arena = BASE + 0x1c80, top = 0x5555000;

	(void)state;
	set(BASE + 0x100, top); /* something else that points there */
	set(arena + 96, top);
	set(arena + 2160, arena);
	set(arena + 2184, 33 * RESIDENT_PAGE);
	assert_int_equal(glibc_heap_main_arena(&memory, BASE, BASE + BYTES, top), arena);
	assert_int_equal(glibc_heap_main_arena(&memory, BASE, BASE + BYTES, top + 16), 0);
	assert_int_equal(glibc_heap_main_arena(&memory, BASE, BASE + BYTES, 0), 0);
	assert_int_equal(glibc_heap_main_arena(&memory, BASE, BASE + RESIDENT_PAGE / 4, top), 0);
	free(memory.bytes);
}

static void allocations_with_a_mapping(void **state)
{
	struct resident memory = begin();

	(void)state;
	resident_forget(&memory, BASE + BYTES);
	set(BASE + 8, 3 * RESIDENT_PAGE | 2);
	assert_int_equal(glibc_heap_mapped(&memory, BASE, BASE + BYTES), 3 * RESIDENT_PAGE);
	assert_int_equal(glibc_heap_mapped(&memory, BASE, BASE + RESIDENT_PAGE), 0);
	assert_int_equal(glibc_heap_mapped(&memory, BASE + RESIDENT_PAGE, BASE + BYTES), 0);
	free(memory.bytes);
}

static void pools(void **state)
{
	struct resident memory = begin();
	struct python_pool pool;

	(void)state;
	resident_forget(&memory, BASE + BYTES);
	set(BASE, 7);
	set(BASE + 8, BASE + 480);
	set(BASE + 32, 3ull << 32);			    /* of 64 bytes */
	set(BASE + 40, (16384ull - 64) << 32 | (48 + 640)); /* ten were made */
	assert_int_equal(python_pool(&memory, BASE, &pool), 16384);
	assert_int_equal(pool.in_use, 7 * 64);
	assert_int_equal(pool.object_size, 64);
	assert_int_equal(pool.used, 48 + 640);
	resident_forget(&memory, BASE + BYTES);
	set(BASE + 40, (4096ull - 64) << 32 | (48 + 640));
	assert_int_equal(python_pool(&memory, BASE, &pool), 4096);
	/* more than it has room for */
	resident_forget(&memory, BASE + BYTES);
	set(BASE, 64);
	assert_int_equal(python_pool(&memory, BASE, &pool), 0);
	assert_int_equal(python_pool(&memory, BASE + RESIDENT_PAGE, &pool), 0);
	free(memory.bytes);
}

/* A task in the collector's list, between two others that are where it says. */
static void put_task(uint64_t task, uint64_t type)
{
	const uint64_t next = BASE + 0x400, previous = BASE + 0x500, future = BASE + 0x600;

	set(task - 16, next);
	set(task - 8, previous | 3);
	set(next + 8, (task - 16) | 1);
	set(previous, task - 16);
	set(task, 2);
	set(task + 8, type);
	set(task + 96, 7ull << 32); /* a flag behind its state */
	set(task + 112, future);
	set(task + 120, BASE + 0x700);
	set(task + 128, BASE + 0x800);
	set(type + 24, BASE + 0x900);
	memcpy((char *)made.words + 0x900, "_asyncio.Task", sizeof("_asyncio.Task"));
	set(future + 8, BASE + 0xa00);
}

static void tasks_that_wait(void **state)
{
	const struct python_tasks facts = {
		.image = {.state = 96, .waiter = 112, .coroutine = 120, .name = 128},
		.size = 144,
		.before = 32,
	};
	const uint64_t task = BASE + 0x120, type = BASE + 0x300;
	/* each of these words makes it something else, or one that cannot be trusted */
	static const struct {
		uint64_t at, word;
	} wrong[] = {
		{0x120, 0},		      /* it is freed */
		{0x128, BASE + 0x340},	      /* of another type */
		{0x128, UINT64_MAX - 7},      /* of none */
		{0x110, 0},		      /* in no list */
		{0x110, UINT64_MAX - 3},      /* or one that ends somewhere */
		{0x408, BASE + 0x10},	      /* its neighbours have others */
		{0x500, BASE + 0x10},	      /* the same, on the other side */
		{0x120 + 96, 1},	      /* it has ended */
		{0x120 + 112, 0},	      /* it waits for nothing */
		{0x120 + 112, BASE + BYTES},  /* or for what is not there */
		{0x120 + 128, 0},	      /* it has no name yet */
		{0x900, 0x6f69636e7973615fu}, /* the same name, up to there, and more */
	};
	struct resident memory;
	struct python_waiting waiting;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		memory = begin();
		put_task(task, type);
		assert_true(python_waiting_read(&memory, &facts, task, &waiting));
		assert_int_equal(waiting.waits_for, BASE + 0x600);
		assert_int_equal(waiting.name, BASE + 0x800);
		assert_false(waiting.for_task);
		set(BASE + wrong[i].at, wrong[i].word);
		if (wrong[i].at == 0x900)
			set(BASE + 0x908, 0x7373736b7361542eu);
		assert_false(python_waiting_read(&memory, &facts, task, &waiting));
	}
	memory = begin();
	put_task(task, type);
	set(BASE + 0x608, type);
	assert_true(python_waiting_read(&memory, &facts, task, &waiting));
	assert_true(waiting.for_task);
	assert_false(python_waiting_read(&memory, &facts, task + 8, &waiting));
	assert_false(python_waiting_read(&memory, &facts, BASE + BYTES - 16, &waiting));
	assert_false(python_waiting_read(&memory, &facts, 0, &waiting));
}

/* The words that describe a chunk, from `to` on, in the order of a version. */
static void put_chunk(uint64_t to, uint64_t at, const int place[5])
{
	const uint64_t words[] = {at, BYTES, at + 0x1148, at + BYTES, 5000};

	for (int i = 0; i < 5; i++)
		set(to + 8ull * (unsigned int)place[i], words[i]);
}

/* Node.js 18 and 20, 22, and 24: there the description lies elsewhere. */
static void chunks_of_v8(void **state)
{
	/* chunk, size, area_start, area_end, allocated_bytes */
	static const int orders[][5] = {{10, 11, 3, 4, 5}, {1, 2, 4, 5, 6}, {1, 2, 9, 7, 3}};
	struct v8_chunk chunk;
	struct resident memory;

	(void)state;
	assert_int_equal(BASE % V8_CHUNK_ALIGNMENT, 0);
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		uint64_t to = i == 2 ? BASE + 0x3000 : BASE;

		memory = begin();
		put_chunk(to, BASE, orders[i]);
		if (to != BASE)
			set(BASE + 8, to);
		assert_true(v8_chunk_at(&memory, BASE, &chunk));
		assert_int_equal(chunk.end, BASE + BYTES);
		assert_int_equal(chunk.area, BASE + 0x1148);
		assert_int_equal(chunk.area_end, BASE + BYTES);
		assert_int_equal(chunk.allocated, 5000);
		/* more than it has room for; behind the chunk; of another one */
		set(to + 8ull * (unsigned int)orders[i][4], BYTES);
		assert_false(v8_chunk_at(&memory, BASE, &chunk));
		put_chunk(to, BASE, orders[i]);
		set(to + 8ull * (unsigned int)orders[i][3], BASE + BYTES + 8);
		assert_false(v8_chunk_at(&memory, BASE, &chunk));
		put_chunk(to, BASE + V8_CHUNK_ALIGNMENT, orders[i]);
		assert_false(v8_chunk_at(&memory, BASE, &chunk));
		free(memory.bytes);
	}
	memory = begin();
	assert_false(v8_chunk_at(&memory, BASE, &chunk));
	set(BASE + 8, BASE + 4);
	assert_false(v8_chunk_at(&memory, BASE, &chunk));
	set(BASE + 8, UINT64_MAX - 7);
	assert_false(v8_chunk_at(&memory, BASE, &chunk));
	free(memory.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks_in_use_and_free),
		cmocka_unit_test(what_is_no_heap),
		cmocka_unit_test(lists_of_small_chunks),
		cmocka_unit_test(the_arena_of_the_main_heap),
		cmocka_unit_test(allocations_with_a_mapping),
		cmocka_unit_test(pools),
		cmocka_unit_test(tasks_that_wait),
		cmocka_unit_test(chunks_of_v8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
