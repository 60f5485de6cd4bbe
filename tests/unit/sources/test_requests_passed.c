// SPDX-License-Identifier: Apache-2.0
/* For which request a proxy makes another one, by what both say. */
#include "../prelude.h"

#include <stdlib.h>

#include "sources/requests/passed.h"

#define PID 7

struct given {
	uint64_t made[64], served[64];
	unsigned int count;
};

static void give(void *context, void *kept, uint64_t served)
{
	struct given *given = context;

	given->made[given->count] = *(uint64_t *)kept;
	given->served[given->count++] = served;
	free(kept);
}

static void over(struct requests_passed *passed, uint64_t number)
{
	uint64_t *kept = malloc(sizeof(*kept));

	assert_non_null(kept);
	*kept = number;
	assert_true(requests_passed_over(passed, number, kept));
}

static void got(struct requests_passed *passed, uint64_t time, uint64_t number)
{
	requests_passed_answered(passed, number, 200, time);
	over(passed, number);
}

static void sent(struct requests_passed *passed, uint64_t time, uint64_t number, uint32_t status)
{
	requests_passed_answered(passed, number, status, time);
	requests_passed_served(passed, number, time);
}

/* It has passed on enough that it is believed; of that many, one was another one. */
static struct requests_passed *proxy(struct given *given, unsigned int tried, bool has_others)
{
	struct requests_passed *passed = requests_passed_new(give, given);

	assert_non_null(passed);
	for (uint64_t i = 0; i < tried; i++) {
		uint64_t says = has_others && i % 8 == 0 ? 7777 : 1000 + i;

		requests_passed_asked(passed, PID, 1000 + i, 1000 + i, 1);
		(void)requests_passed_made(passed, PID, says, 2000 + i, 0, 2);
		requests_passed_served(passed, 1000 + i, 3);
		(void)requests_passed_over(passed, 2000 + i, NULL);
	}
	return passed;
}

static void settle(struct requests_passed *passed)
{
	requests_passed_tick(passed);
	requests_passed_tick(passed);
}

static void test_the_only_one_that_says_it(void **state)
{
	struct given given = {0};
	struct requests_passed *passed = proxy(&given, 20, false);

	(void)state;
	requests_passed_asked(passed, PID, 1, 10, 100);
	requests_passed_asked(passed, PID, 2, 20, 100);
	requests_passed_asked(passed, PID + 1, 2, 30, 100);
	assert_true(requests_passed_made(passed, PID, 2, 21, 0, 101));
	assert_false(requests_passed_made(passed, PID, 3, 31, 0, 101));
	assert_false(requests_passed_made(passed, PID, 0, 32, 0, 101));
	assert_true(requests_passed_made(passed, PID, 1, 11, 0, 102));
	got(passed, 110, 21);
	got(passed, 111, 11);
	sent(passed, 112, 10, 200);
	sent(passed, 113, 20, 200);
	settle(passed);
	assert_int_equal(given.count, 2);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(given.served[i], given.made[i] - 1);
	requests_passed_free(passed);
}

static void test_a_program_that_asks_for_other_things_is_not_believed(void **state)
{
	static const unsigned int tried[] = {10, 40};

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct given given = {0};
		struct requests_passed *passed = proxy(&given, tried[i], tried[i] == 40);

		requests_passed_asked(passed, PID, 1, 10, 100);
		assert_true(requests_passed_made(passed, PID, 1, 11, 0, 101));
		got(passed, 110, 11);
		sent(passed, 110, 10, 200);
		settle(passed);
		assert_int_equal(given.count, 1);
		assert_int_equal(given.served[0], 0);
		requests_passed_free(passed);
	}
}

/* Four that say the same wait; the process makes them one by one. */
static struct requests_passed *alike(struct given *given)
{
	struct requests_passed *passed = proxy(given, 20, false);

	for (uint64_t i = 0; i < 4; i++)
		requests_passed_asked(passed, PID, 1, 10 + i, 100);
	return passed;
}

static void test_of_several_the_way_back_tells(void **state)
{
	struct given given = {0};
	struct requests_passed *passed = alike(&given);

	(void)state;
	assert_true(requests_passed_made(passed, PID, 1, 21, 0, 101));
	got(passed, 110, 21);
	sent(passed, 110, 12, 200);
	assert_true(requests_passed_made(passed, PID, 1, 22, 0, 111));
	got(passed, 120, 22);
	sent(passed, 120, 10, 200);
	settle(passed);
	assert_int_equal(given.count, 2);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(given.served[i], given.made[i] == 21 ? 12 : 10);
	requests_passed_free(passed);
}

static void test_what_the_way_back_does_not_tell(void **state)
{
	struct given given = {0};
	struct requests_passed *passed = alike(&given);

	(void)state;
	/* two answers come before the first is passed on; once both are, the next one is clear */
	assert_true(requests_passed_made(passed, PID, 1, 21, 0, 101));
	assert_true(requests_passed_made(passed, PID, 1, 22, 0, 101));
	got(passed, 110, 21);
	got(passed, 111, 22);
	sent(passed, 112, 10, 200);
	sent(passed, 113, 11, 200);
	assert_true(requests_passed_made(passed, PID, 1, 23, 0, 114));
	got(passed, 120, 23);
	sent(passed, 120, 12, 200);
	/* two are answered behind one: one of them by the proxy itself */
	requests_passed_asked(passed, PID, 1, 14, 125);
	assert_true(requests_passed_made(passed, PID, 1, 24, 0, 126));
	got(passed, 130, 24);
	sent(passed, 131, 13, 200);
	sent(passed, 132, 14, 200);
	/* another status: it was answered by the proxy itself */
	requests_passed_asked(passed, PID, 1, 15, 140);
	requests_passed_asked(passed, PID, 1, 16, 140);
	assert_true(requests_passed_made(passed, PID, 1, 25, 0, 141));
	got(passed, 150, 25);
	sent(passed, 151, 15, 503);
	settle(passed);
	assert_int_equal(given.count, 5);
	for (unsigned int i = 0; i < given.count; i++)
		assert_int_equal(given.served[i], given.made[i] == 23 ? 12 : 0);
	requests_passed_free(passed);
}

static void test_one_that_was_answered_before(void **state)
{
	struct given given = {0};
	struct requests_passed *passed = proxy(&given, 20, false);

	(void)state;
	requests_passed_asked(passed, PID, 1, 10, 100);
	assert_true(requests_passed_made(passed, PID, 1, 11, 0, 101));
	sent(passed, 105, 10, 200);
	got(passed, 110, 11);
	settle(passed);
	assert_int_equal(given.count, 1);
	assert_int_equal(given.served[0], 0);
	requests_passed_free(passed);
}

/* Something else kept it until the one that it is for was long over. */
static void test_one_that_comes_late(void **state)
{
	struct given given = {0};
	struct requests_passed *passed = proxy(&given, 20, false);
	uint64_t *kept = malloc(sizeof(*kept));

	(void)state;
	assert_non_null(kept);
	*kept = 11;
	requests_passed_asked(passed, PID, 1, 10, 100);
	assert_true(requests_passed_made(passed, PID, 1, 11, 0, 101));
	requests_passed_answered(passed, 11, 200, 105);
	sent(passed, 110, 10, 200);
	for (unsigned int i = 0; i < 10; i++)
		requests_passed_tick(passed);
	assert_true(requests_passed_over(passed, 11, kept));
	requests_passed_flush(passed);
	assert_int_equal(given.count, 1);
	assert_int_equal(given.served[0], 10);
	requests_passed_free(passed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_only_one_that_says_it),
		cmocka_unit_test(test_a_program_that_asks_for_other_things_is_not_believed),
		cmocka_unit_test(test_of_several_the_way_back_tells),
		cmocka_unit_test(test_what_the_way_back_does_not_tell),
		cmocka_unit_test(test_one_that_was_answered_before),
		cmocka_unit_test(test_one_that_comes_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
