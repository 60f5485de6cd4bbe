// SPDX-License-Identifier: Apache-2.0
/*
 * The table of starts says what a pass over the unwind information says, without one each time, in
 * bounded memory.
 */
#include "../prelude.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unwind/starts.h"

#define ADDRESSES 20000

struct answers {
	uint64_t start[ADDRESSES], size[ADDRESSES];
	size_t count;
};

static void take(void *context, size_t index, uint64_t start, uint64_t size)
{
	struct answers *a = context;

	assert_int_equal(a->size[index], 0);
	a->start[index] = start;
	a->size[index] = size;
	a->count++;
}

/* The C library: some thousand functions, and what is between them. */
static int open_library(void)
{
	Dl_info info;
	int fd;

	assert_int_not_equal(dladdr((void *)(uintptr_t)qsort, &info), 0);
	fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void test_same_as_a_pass(void **state)
{
	struct answers *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));
	uint64_t *addresses = malloc(ADDRESSES * sizeof(*addresses));
	struct starts_of of = {.number = 7, .fd = open_library()};
	struct starts starts = {0};

	(void)state;
	for (size_t i = 0; i < ADDRESSES; i++)
		addresses[i] = i * 7919 % 2000000 + (i % 100 ? 0 : UINT64_MAX / 2);
	assert_int_equal(unwind_functions_of_file(of.fd, addresses, ADDRESSES, take, a, NULL), 0);
	assert_true(a->count > ADDRESSES / 10);
	/* few at a time */
	for (size_t i = 0; i < ADDRESSES; i += 100) {
		struct answers *few = calloc(1, sizeof(*few));

		assert_int_equal(
			starts_find(&starts, &of, addresses + i, 100, take, NULL, few, NULL), 0);
		memcpy(b->start + i, few->start, 100 * sizeof(*b->start));
		memcpy(b->size + i, few->size, 100 * sizeof(*b->size));
		b->count += few->count;
		free(few);
	}
	assert_int_equal(starts.passes, 1);
	assert_int_equal(a->count, b->count);
	assert_memory_equal(a->start, b->start, sizeof(a->start));
	assert_memory_equal(a->size, b->size, sizeof(a->size));
	starts_forget(&starts, 7);
	starts_forget(&starts, 8);
	assert_int_equal(starts.bytes, 0);
	starts_free(&starts);
	close(of.fd);
	free(addresses);
	free(a);
	free(b);
}

static void test_bounded(void **state)
{
	struct answers *a = calloc(1, sizeof(*a));
	struct starts_of of = {.fd = open_library()};
	struct starts starts = {0};
	uint64_t address = 1, images;
	size_t each;

	(void)state;
	assert_int_equal(starts_find(&starts, &of, &address, 1, take, NULL, a, NULL), 0);
	each = starts.bytes;
	assert_true(each > 1000);
	images = STARTS_BYTES_MAX / each + 3;
	for (of.number = 1; of.number < images; of.number++) {
		assert_int_equal(starts_find(&starts, &of, &address, 1, take, NULL, a, NULL), 0);
		assert_true(starts.bytes <= STARTS_BYTES_MAX && starts.bytes >= each);
	}
	assert_int_equal(starts.passes, images);
	/* the first ones were forgotten, the last one not */
	of.number = images - 1;
	assert_int_equal(starts_find(&starts, &of, &address, 1, take, NULL, a, NULL), 0);
	assert_int_equal(starts.passes, images);
	of.number = 0;
	assert_int_equal(starts_find(&starts, &of, &address, 1, take, NULL, a, NULL), 0);
	assert_int_equal(starts.passes, images + 1);
	starts_free(&starts);
	close(of.fd);
	free(a);
}

static void test_no_image(void **state)
{
	struct starts_of file = {.number = 1, .fd = open("/dev/null", O_RDONLY | O_CLOEXEC)};
	struct starts_of memory = {.number = 2, .fd = -1, .memory = "no image", .size = 8};
	struct starts starts = {0};
	struct fail why = {0};
	uint64_t address = 1;

	(void)state;
	assert_true(starts_find(&starts, &file, &address, 1, take, NULL, NULL, &why) < 0);
	assert_true(why.what[0]);
	assert_true(starts_find(&starts, &memory, &address, 1, take, NULL, NULL, &why) < 0);
	starts_free(&starts);
	close(file.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_as_a_pass),
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_no_image),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
