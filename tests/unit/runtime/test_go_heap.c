// SPDX-License-Identifier: Apache-2.0
/* Go's list of buckets, in memory that is made here. */
#include "../prelude.h"

#include <errno.h>
#include <string.h>

#include "runtime/go/heap.h"

#define BASE  0x10000ull
#define FIRST (BASE + 0x100)
#define OTHER (BASE + 0x400)

static uint64_t made[512];

static int read_made(void *context, void *to, size_t size, uint64_t address)
{
	(void)context;
	if (address < BASE || address - BASE > sizeof(made) ||
	    size > sizeof(made) - (address - BASE))
		return -EFAULT;
	memcpy(to, (const char *)made + (address - BASE), size);
	return 0;
}

static const struct runtime_memory memory = {read_made, NULL};
static const struct go_heap heap = {.buckets = BASE, .rate = BASE + 8, .minor = 19};

static void set(uint64_t at, uint64_t word)
{
	made[(at - BASE) / 8] = word;
}

/* One of memory, with two frames and a record. */
static void bucket(uint64_t at, uint64_t behind, const uint64_t record[4])
{
	const uint64_t words[] = {0,	  behind, 1,	     0,		48,	   2,
				  0x1111, 0x2222, record[0], record[1], record[2], record[3]};

	memcpy(&made[(at - BASE) / 8], words, sizeof(words));
}

static void begin(void)
{
	memset(made, 0, sizeof(made));
	set(BASE, FIRST);
	set(BASE + 8, 524288);
}

static struct go_heap_bucket got[4];
static size_t got_count;

static void take(void *context, const struct go_heap_bucket *one)
{
	(void)context;
	assert_true(got_count < 4);
	got[got_count++] = *one;
}

static int read_all(const struct go_heap *of)
{
	uint64_t rate = 0;
	int count;

	got_count = 0;
	count = go_heap_read(of, &memory, 0, &rate, take, NULL);
	assert_int_equal(rate, count == -EFAULT ? rate : 524288);
	return count;
}

static void buckets_of_memory(void **state)
{
	const uint64_t one[] = {10, 4, 480, 192}, other[] = {3, 3, 144, 144};

	(void)state;
	begin();
	bucket(FIRST, OTHER, one);
	bucket(OTHER, 0, other);
	assert_int_equal(read_all(&heap), 2);
	assert_int_equal(got_count, 2);
	assert_int_equal(got[0].address, FIRST);
	assert_int_equal(got[0].count, 2);
	assert_int_equal(got[0].stack[1], 0x2222);
	assert_int_equal(got[0].allocs, 10);
	assert_int_equal(got[0].free_bytes, 192);
	assert_int_equal(got[1].frees, 3);
	/* of another kind */
	set(OTHER + 16, 2);
	assert_int_equal(read_all(&heap), 2);
	assert_int_equal(got_count, 1);
}

static void buckets_without_bytes(void **state)
{
	const uint64_t record[] = {10, 4, 999, 9999};
	struct go_heap newer = heap;

	(void)state;
	newer.minor = 27;
	begin();
	bucket(FIRST, 0, record);
	assert_int_equal(read_all(&newer), 1);
	assert_int_equal(got[0].alloc_bytes, 480);
	assert_int_equal(got[0].free_bytes, 192);
}

static void what_cannot_be(void **state)
{
	const uint64_t more_frees[] = {3, 4, 100, 10}, more_bytes[] = {4, 3, 10, 100};
	const uint64_t fine[] = {1, 0, 10, 0};

	(void)state;
	begin();
	bucket(FIRST, OTHER, more_frees);
	bucket(OTHER, 0, more_bytes);
	assert_int_equal(read_all(&heap), 2);
	assert_int_equal(got_count, 0);
	/* a stack that is too deep */
	bucket(FIRST, 0, fine);
	set(FIRST + 40, GO_HEAP_STACK_MAX + 1);
	assert_int_equal(read_all(&heap), 1);
	assert_int_equal(got_count, 0);
	/* round and round, of nothing */
	set(FIRST + 8, FIRST);
	assert_int_equal(read_all(&heap), -E2BIG);
	/* to nowhere */
	set(FIRST + 8, 8);
	assert_int_equal(read_all(&heap), -EFAULT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_of_memory),
		cmocka_unit_test(buckets_without_bytes),
		cmocka_unit_test(what_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
