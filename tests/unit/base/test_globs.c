// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <string.h>

#include "base/globs.h"

static void test_matches(void **state)
{
	(void)state;
	assert_true(globs_match("shop-*,cart", "cart"));
	assert_true(globs_match("shop-*,cart", "shop-web"));
	assert_true(globs_match("a/*", "a/b/c"));
	assert_true(globs_match("*", ""));
	assert_false(globs_match("shop-*,cart", "carts"));
	assert_false(globs_match("shop-*,cart", "shop"));
	assert_false(globs_match("shop-*,cart", "xshop-web"));
	assert_false(globs_match("shop-*,cart", ""));
	/* a comma is none of a pattern's */
	assert_false(globs_match("a,b", "a,b"));
}

static void test_limits(void **state)
{
	char longest[GLOB_MAX + 2];

	(void)state;
	assert_true(globs_are_valid("a"));
	assert_true(globs_are_valid("*a*,b*"));
	assert_false(globs_are_valid(""));
	assert_false(globs_are_valid(","));
	assert_false(globs_are_valid("a,"));
	assert_false(globs_are_valid("*a*a*a*a*"));
	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = 0;
	assert_false(globs_are_valid(longest));
	assert_true(globs_are_valid(longest + 1));
	assert_true(globs_match(longest + 1, longest + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matches),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
