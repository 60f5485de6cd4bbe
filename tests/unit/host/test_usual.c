// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include "host/usual.h"

/* Takes the same at a number of looks; returns how many of them were a jump. */
static int take(struct usual *usual, double percent, int looks)
{
	int jumps = 0;

	while (looks--)
		jumps += usual_jumps(usual, percent, 100);
	return jumps;
}

static void a_jump_is_told_once(void **state)
{
	struct usual usual = {0};

	(void)state;
	assert_int_equal(take(&usual, 20, 30), 0);
	/* two looks are not enough */
	assert_int_equal(take(&usual, 180, 2), 0);
	assert_int_equal(take(&usual, 20, 1), 0);
	assert_int_equal(take(&usual, 180, 2), 0);
	assert_int_equal(take(&usual, 180, 1), 1);
	assert_int_equal(take(&usual, 180, 5), 0);
	/* it has come down: the next one is another one */
	assert_int_equal(take(&usual, 20, 1), 0);
	assert_int_equal(take(&usual, 300, 2), 0);
	assert_int_equal(take(&usual, 300, 1), 1);
}

static void what_is_usual(void **state)
{
	struct usual usual = {0};

	(void)state;
	/* a program that begins with much work */
	assert_int_equal(take(&usual, 400, 60), 0);
	assert_true(usual.percent > 399 && usual.percent < 401);
	/* a whole CPU more, but not twice as much */
	assert_int_equal(take(&usual, 600, 10), 0);
	assert_int_equal(take(&usual, 1000, 3), 1);
	/* what stays becomes usual, and then twice as much as that is a jump */
	assert_int_equal(take(&usual, 1000, 600), 0);
	assert_int_equal(take(&usual, 1200, 10), 0);
	/* twice as much, but less than a CPU more */
	usual = (struct usual){0};
	assert_int_equal(take(&usual, 10, 20), 0);
	assert_int_equal(take(&usual, 90, 20), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_jump_is_told_once),
		cmocka_unit_test(what_is_usual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
