// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
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

static void write_stat(const char *folder, const char *text)
{
	char path[2 * PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "mkdir -p '%s'", folder);
	assert_int_equal(system(path), 0);
	snprintf(path, sizeof(path), "%s/memory.stat", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* What groups below have is theirs, in both versions. */
static void test_groups_below(void **state)
{
	char point[] = "/tmp/page_cache.XXXXXX", folder[PATH_MAX / 2], child[PATH_MAX];
	char group[512] = "";

	(void)state;
	assert_non_null(mkdtemp(point));
	for (int v2 = 0; v2 < 2; v2++) {
		const struct page_cache cache = {point, (char[]){"/"}, v2};
		uint64_t bytes = 0;

		/* which group this process is in */
		(void)!page_cache_of(&cache, getpid(), group, sizeof(group), &bytes);
		if (*group != '/')
			continue;
		snprintf(folder, sizeof(folder), "%s%s", point, group);
		write_stat(folder, "cache 60\nfile 100\ntotal_cache 100\n");
		snprintf(child, sizeof(child), "%s/a child", folder);
		write_stat(child, "cache 30\nfile 30\ntotal_cache 30\n");
		snprintf(child, sizeof(child), "%s/another", folder);
		write_stat(child, "cache 10\nfile 10\ntotal_cache 10\n");
		assert_true(page_cache_of(&cache, getpid(), group, sizeof(group), &bytes));
		assert_int_equal(bytes, 60);
	}
	snprintf(folder, sizeof(folder), "rm -r %s", point);
	assert_int_equal(system(folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_its_own),
		cmocka_unit_test(test_groups_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
