// SPDX-License-Identifier: Apache-2.0
/* One line in a minute, which says how many there were besides. */
#include "../prelude.h"

#include "host/say.h"

#define SECOND 1000000000ull

static void test_one_in_a_minute(void **state)
{
	struct say_rarely of = {0};
	uint64_t more, lines = 0, all = 0;

	(void)state;
	/* ten a second for ten minutes, from any time on */
	for (uint64_t i = 0; i < 6000; i++) {
		if (!say_rarely(&of, 7 * SECOND + i * SECOND / 10, &more))
			continue;
		assert_int_equal(more, lines ? 599 : 0);
		lines++;
		all += 1 + more;
	}
	assert_int_equal(lines, 10);
	assert_int_equal(all + of.more, 6000);
}

static void test_rare_ones_are_all_said(void **state)
{
	struct say_rarely of = {0};
	uint64_t more;

	(void)state;
	for (uint64_t i = 0; i < 10; i++) {
		assert_true(say_rarely(&of, i * 61 * SECOND, &more));
		assert_int_equal(more, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_in_a_minute),
		cmocka_unit_test(test_rare_ones_are_all_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
