// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include "base/allowance.h"
#include "base/clock.h"

#define SECOND 1000000000ull

static void test_saved_up(void **state)
{
	struct allowance a;

	(void)state;
	allowance_begin(&a, 8 * SECOND, 10, 8 * SECOND, 0);
	assert_true(allowance_ask(&a, true, 0));
	/* a reading that was let begin may take more than there is */
	allowance_spend(&a, true, 10 * SECOND);
	assert_false(allowance_ask(&a, true, 0));
	/* a tenth of the time comes in: 2 s are missing */
	assert_false(allowance_ask(&a, true, 19 * SECOND));
	assert_true(allowance_ask(&a, true, 21 * SECOND));
	/* no more is saved up than it began with, however long nothing is read */
	assert_true(allowance_ask(&a, true, 1000000 * SECOND));
	allowance_spend(&a, true, 8 * SECOND);
	assert_false(allowance_ask(&a, true, 1000000 * SECOND));
}

/* Often asked, the little that has come in since is not lost to rounding. */
static void test_often(void **state)
{
	struct allowance a;
	uint64_t now = 0;

	(void)state;
	allowance_begin(&a, SECOND, 10, SECOND, now);
	allowance_spend(&a, true, SECOND);
	for (int i = 0; i < 1000; i++)
		allowance_ask(&a, true, now += 7);
	assert_int_equal(a.left, 7 * 1000 / 10);
}

static void test_others(void **state)
{
	struct allowance a;
	uint64_t now = 0, taken = 0;

	(void)state;
	allowance_begin(&a, 8 * SECOND, 10, 8 * SECOND, now);
	/* for 1,000 s, others read all that they may */
	for (; now < 1000 * SECOND; now += SECOND / 10) {
		allowance_next_round(&a, false);
		while (allowance_ask(&a, false, now)) {
			allowance_spend(&a, false, SECOND / 10);
			taken += SECOND / 10;
		}
	}
	/* three quarters of 8 s, and of 100 s that have come in */
	assert_in_range(taken, 80 * SECOND, 82 * SECOND);
	assert_false(allowance_ask(&a, false, now));
	/* of what was kept for root, nothing is gone */
	assert_true(allowance_ask(&a, true, now));
	assert_in_range(a.left, 7 * SECOND, 8 * SECOND);
	/* and what root's files take is not there for others */
	allowance_begin(&a, 8 * SECOND, 10, 8 * SECOND, now);
	allowance_spend(&a, true, 8 * SECOND);
	assert_false(allowance_ask(&a, false, now));
}

static void test_round(void **state)
{
	struct allowance a;

	(void)state;
	allowance_begin(&a, 8 * SECOND, 10, SECOND, 0);
	assert_true(allowance_ask(&a, false, 0));
	allowance_spend(&a, false, 2 * SECOND);
	assert_false(allowance_ask(&a, false, 0));
	/* rounds are for the files of others */
	assert_true(allowance_ask(&a, true, 0));
	allowance_next_round(&a, false);
	assert_true(allowance_ask(&a, false, 0));
	allowance_spend(&a, true, 2 * SECOND);
	assert_true(allowance_ask(&a, false, 0));
	/* in the last one, they take all that is left to them: 4 s of 6 */
	allowance_next_round(&a, true);
	allowance_spend(&a, false, 3 * SECOND);
	assert_true(allowance_ask(&a, false, 0));
	allowance_spend(&a, false, SECOND);
	assert_false(allowance_ask(&a, false, 0));
}

static void test_reading(void **state)
{
	uint64_t begin, thread = clock_thread_ns();
	struct allowance a;

	(void)state;
	allowance_begin(&a, SECOND / 100, 1000000, SECOND, clock_ns());
	assert_true(allowance_start(&a, false, &begin));
	while (clock_thread_ns() - thread < SECOND / 50)
		;
	allowance_end(&a, false, begin);
	assert_true(a.left <= -(int64_t)SECOND / 200);
	assert_false(allowance_start(&a, true, &begin));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_saved_up), cmocka_unit_test(test_often),
		cmocka_unit_test(test_others),	 cmocka_unit_test(test_round),
		cmocka_unit_test(test_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
