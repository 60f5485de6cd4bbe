// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/search.h"

/* For every table of 0 to 40 sorted numbers with repeats: what a walk from the front finds. */
static void test_search(void **state)
{
	int numbers[40];

	(void)state;
	for (size_t i = 0; i < 40; i++)
		numbers[i] = (int)(i / 3) * 2;
	for (size_t count = 0; count <= 40; count++) {
		for (int wanted = -1; wanted < 30; wanted++) {
			size_t walked = 0;

			while (walked < count && numbers[walked] < wanted)
				walked++;
			assert_int_equal(search_first(count, i, numbers[i] < wanted), walked);
		}
	}
}

/* No more than log2(count) + 1 looks, also of counts whose sum would overflow. */
static void test_search_is_binary(void **state)
{
	size_t looks = 0;

	(void)state;
	assert_true(search_first(SIZE_MAX, i, (looks++, i < SIZE_MAX - 5)) == SIZE_MAX - 5);
	assert_true(looks <= 64);
}

/* A pipe takes less than that at once, and says so. */
static void test_write_all(void **state)
{
	const size_t size = 3u << 20;
	uint8_t *sent = malloc(size), *got = malloc(size);
	int ends[2];
	size_t taken = 0;
	pid_t child;

	(void)state;
	for (size_t i = 0; i < size; i++)
		sent[i] = (uint8_t)(i * 7 >> 3);
	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (!child)
		_exit(file_write_all(ends[1], sent, size) != 0);
	close(ends[1]);
	while (taken < size) {
		ssize_t n = read(ends[0], got + taken, size - taken);

		assert_true(n > 0);
		taken += (size_t)n;
	}
	assert_memory_equal(sent, got, size);
	close(ends[0]);
	free(sent);
	free(got);
	assert_int_equal(file_write_all(-1, "x", 1), -EBADF);
	assert_int_equal(file_write_all(-1, "", 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_search_is_binary),
		cmocka_unit_test(test_write_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
