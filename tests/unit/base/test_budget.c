// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <string.h>

#include "base/budget.h"

#define SECOND 1000000000ull

static void test_memory(void **state)
{
	struct budget b;
	void *first, *second;

	(void)state;
	budget_begin(&b, 100, 0, 0, SECOND);
	first = budget_malloc(&b, 60);
	assert_non_null(first);
	assert_null(b.spent);
	assert_null(budget_malloc(&b, 41));
	assert_string_equal(b.spent, "memory");
	budget_free(&b, first, 60);
	/* what was given back can be had again; that there was not enough once stays known */
	second = budget_malloc(&b, 100);
	assert_non_null(second);
	assert_string_equal(b.spent, "memory");
	budget_free(&b, second, 100);
	budget_free(&b, NULL, 5);
	assert_int_equal(b.memory, 100);
}

static void test_for_good(void **state)
{
	struct budget b;
	struct fail why = {0};

	(void)state;
	budget_begin(&b, 0, 10, 5, SECOND);
	assert_true(budget_read(&b, 10));
	assert_true(budget_step(&b, 5));
	assert_null(b.spent);
	assert_false(budget_step(&b, 1));
	assert_false(budget_read(&b, 1));
	/* the first is reported */
	assert_string_equal(b.spent, "steps");
	assert_int_equal(budget_refuse(&b, &why, "its code"), -E2BIG);
	assert_non_null(strstr(why.what, "its code: reading it takes more steps"));
}

static void test_time(void **state)
{
	struct budget b;
	uint64_t steps = 0;

	(void)state;
	budget_begin(&b, 0, 0, UINT64_MAX, 1);
	while (budget_step(&b, 1))
		steps++;
	assert_string_equal(b.spent, "time");
	assert_true(steps < 100000);
	assert_false(budget_step(&b, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_for_good),
		cmocka_unit_test(test_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
