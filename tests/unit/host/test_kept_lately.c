// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include "host/kept_lately.h"

#define SECOND 1000000000ull
#define COOL   (10 * SECOND)

static bool keeps(struct kept_lately *lately, enum happening_kind kind, uint64_t second)
{
	return !kept_lately_refuses(lately, kind, second * SECOND, COOL);
}

static void so_many_in_an_hour(void **state)
{
	struct kept_lately lately = {.hour = 3};

	(void)state;
	assert_true(keeps(&lately, HAPPENING_REQUEST, 1));
	/* one of the same kind is just over */
	assert_false(keeps(&lately, HAPPENING_REQUEST, 10));
	assert_true(keeps(&lately, HAPPENING_REQUEST, 20));
	assert_true(keeps(&lately, HAPPENING_REQUEST, 40));
	assert_false(keeps(&lately, HAPPENING_REQUEST, 60));
	/* an hour after the first one, there is room for one */
	assert_false(keeps(&lately, HAPPENING_REQUEST, 3600));
	assert_true(keeps(&lately, HAPPENING_REQUEST, 3601));
	assert_false(keeps(&lately, HAPPENING_REQUEST, 3611));
	kept_lately_free(&lately);
}

static void the_first_of_each_kind_is_kept(void **state)
{
	struct kept_lately lately = {.hour = 2};

	(void)state;
	assert_true(keeps(&lately, HAPPENING_REQUEST, 1));
	assert_true(keeps(&lately, HAPPENING_REQUEST, 20));
	assert_false(keeps(&lately, HAPPENING_REQUEST, 40));
	assert_true(keeps(&lately, HAPPENING_DEATH, 41));
	assert_true(keeps(&lately, HAPPENING_HANG, 41));
	assert_false(keeps(&lately, HAPPENING_DEATH, 60));
	/* the hour after: of each kind the first again */
	assert_true(keeps(&lately, HAPPENING_DEATH, 3700));
	kept_lately_free(&lately);
}

static void any_number(void **state)
{
	struct kept_lately lately = {0};

	(void)state;
	for (uint64_t i = 1; i < 50; i++)
		assert_true(keeps(&lately, HAPPENING_CPU, 20 * i));
	assert_false(keeps(&lately, HAPPENING_CPU, 20 * 49 + 1));
	kept_lately_free(&lately);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(so_many_in_an_hour),
		cmocka_unit_test(the_first_of_each_kind_is_kept),
		cmocka_unit_test(any_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
