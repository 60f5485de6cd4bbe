// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <string.h>
#include <unistd.h>

#include "process/page_cache.h"

static void test_numbers(void **state)
{
	static const char text[] =
		"anon 4096\nfile 81920\nfile_mapped 7\ntotal_cache 12\nbad x\nempty\n";
	uint64_t number;

	(void)state;
	assert_true(page_cache_number(text, "file", &number));
	assert_int_equal(number, 81920);
	assert_true(page_cache_number(text, "anon", &number));
	assert_int_equal(number, 4096);
	assert_true(page_cache_number(text, "total_cache", &number));
	assert_int_equal(number, 12);
	assert_false(page_cache_number(text, "cache", &number));
	assert_false(page_cache_number(text, "bad", &number));
	assert_false(page_cache_number(text, "empty", &number));
	assert_false(page_cache_number("", "file", &number));
}

/* Where control groups are, this process is in one. */
static void test_its_own(void **state)
{
	struct page_cache cache;
	char group[512], small[1];
	uint64_t bytes = UINT64_MAX;

	(void)state;
	if (page_cache_open(&cache))
		skip();
	assert_non_null(cache.point);
	if (page_cache_of(&cache, getpid(), group, sizeof(group), &bytes)) {
		assert_int_equal(*group, '/');
		assert_true(bytes < 1ull << 50);
		assert_true(strlen(group) == 0 ||
			    !page_cache_of(&cache, getpid(), small, sizeof(small), &bytes));
	}
	assert_false(page_cache_of(&cache, -1, group, sizeof(group), &bytes));
	page_cache_close(&cache);
	assert_false(page_cache_of(&cache, getpid(), group, sizeof(group), &bytes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
