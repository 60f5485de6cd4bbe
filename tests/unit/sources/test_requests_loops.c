// SPDX-License-Identifier: Apache-2.0
/* For which request an event loop makes another one. */
#include "../prelude.h"

#include <stdlib.h>

#include "sources/requests/loops.h"

#define THREAD 7

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

/* Each receive begins a turn of its own; nothing was read, and it never waits. */
static struct requests_turn turn(uint32_t receives)
{
	return (struct requests_turn){.receives = receives};
}

static void asked(struct requests_loops *loops, uint32_t at, uint64_t served)
{
	struct requests_turn now = turn(at);

	requests_loops_asked(loops, THREAD, &now, served);
}

static bool made(struct requests_loops *loops, uint32_t at, uint64_t connection, uint64_t number)
{
	struct requests_turn now = turn(at);

	return requests_loops_made(loops, THREAD, &now, connection, number, 0);
}

/* A whole answer. */
static void got(struct requests_loops *loops, uint32_t at, uint64_t number)
{
	struct requests_turn now = turn(at);
	uint64_t *kept = malloc(sizeof(*kept));

	assert_non_null(kept);
	*kept = number;
	requests_loops_got(loops, THREAD, &now, number);
	if (!requests_loops_over(loops, number, kept))
		free(kept);
}

static void answered(struct requests_loops *loops, uint32_t at, uint64_t served)
{
	struct requests_turn now = turn(at);

	requests_loops_answered(loops, THREAD, &now, served);
	requests_loops_served(loops, served);
}

static void test_there_and_back(void **state)
{
	struct given given = {0};
	struct requests_loops *loops = requests_loops_new(give, &given);

	(void)state;
	asked(loops, 1, 10);
	assert_true(made(loops, 1, 1, 11));
	asked(loops, 2, 20);
	assert_true(made(loops, 2, 2, 21));
	/* the second one's answer comes first */
	got(loops, 3, 21);
	answered(loops, 3, 20);
	got(loops, 4, 11);
	answered(loops, 4, 10);
	/* the thread has had few requests so far */
	assert_int_equal(given.count, 0);
	requests_loops_tick(loops);
	assert_int_equal(given.count, 2);
	assert_int_equal(given.made[0], 21);
	assert_int_equal(given.served[0], 20);
	assert_int_equal(given.served[1], 10);
	requests_loops_free(loops);
}

static void test_what_disagrees_is_not_known(void **state)
{
	struct given given = {0};
	struct requests_loops *loops = requests_loops_new(give, &given);

	(void)state;
	/* by a timer, behind another one's receive */
	asked(loops, 1, 10);
	asked(loops, 2, 20);
	assert_true(made(loops, 2, 1, 11));
	got(loops, 3, 11);
	answered(loops, 3, 10);
	/* the answer leads nowhere: by a timer, it is sent behind another receive */
	asked(loops, 4, 30);
	assert_true(made(loops, 4, 1, 31));
	got(loops, 5, 31);
	asked(loops, 6, 40);
	answered(loops, 6, 30);
	/* the thread received something between both */
	asked(loops, 7, 50);
	assert_false(made(loops, 8, 1, 51));
	answered(loops, 9, 20);
	answered(loops, 9, 50);
	requests_loops_flush(loops);
	assert_int_equal(given.count, 2);
	assert_int_equal(given.served[0], 0);
	assert_int_equal(given.served[1], 0);
	/* two answers are sent next: which one of them it leads to is not known */
	given.count = 0;
	asked(loops, 10, 60);
	assert_true(made(loops, 10, 1, 61));
	got(loops, 11, 61);
	answered(loops, 11, 70);
	answered(loops, 11, 60);
	requests_loops_flush(loops);
	assert_int_equal(given.count, 1);
	assert_int_equal(given.served[0], 0);
	requests_loops_free(loops);
}

static void test_one_after_the_other(void **state)
{
	struct given given = {0};
	struct requests_loops *loops = requests_loops_new(give, &given);

	(void)state;
	asked(loops, 1, 10);
	assert_true(made(loops, 1, 1, 11));
	got(loops, 2, 11);
	assert_true(made(loops, 2, 1, 12));
	got(loops, 3, 12);
	answered(loops, 3, 10);
	requests_loops_flush(loops);
	assert_int_equal(given.count, 2);
	assert_int_equal(given.served[0], 10);
	assert_int_equal(given.served[1], 10);
	requests_loops_free(loops);
}

static void test_a_connection_is_opened_for_one(void **state)
{
	struct given given = {0};
	struct requests_loops *loops = requests_loops_new(give, &given);
	struct requests_turn first = turn(1);

	(void)state;
	asked(loops, 1, 10);
	requests_loops_opened(loops, THREAD, &first, 5);
	asked(loops, 2, 20);
	/* it is ready, behind the other one's receive */
	assert_true(made(loops, 2, 5, 11));
	got(loops, 3, 11);
	answered(loops, 3, 10);
	/* from then on it is any one's */
	asked(loops, 4, 30);
	assert_true(made(loops, 4, 5, 31));
	got(loops, 5, 31);
	answered(loops, 5, 30);
	requests_loops_flush(loops);
	assert_int_equal(given.count, 2);
	assert_int_equal(given.served[0], 10);
	assert_int_equal(given.served[1], 30);
	requests_loops_free(loops);
}

static void test_a_loop_that_rarely_tells_is_not_believed(void **state)
{
	struct given given = {0};
	struct requests_loops *loops = requests_loops_new(give, &given);
	uint32_t at = 1;

	(void)state;
	for (uint64_t i = 0; i < 40; i++) {
		uint64_t served = 1000 + 10 * i;

		asked(loops, at, served);
		assert_true(made(loops, at, 1, served + 1));
		got(loops, ++at, served + 1);
		/* three of four are put off */
		at += i % 4 != 0;
		answered(loops, at++, served);
	}
	requests_loops_flush(loops);
	assert_int_equal(given.count, 40);
	for (unsigned int i = 0; i < given.count; i++)
		assert_int_equal(given.served[i], 0);
	requests_loops_free(loops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_what_disagrees_is_not_known),
		cmocka_unit_test(test_one_after_the_other),
		cmocka_unit_test(test_a_connection_is_opened_for_one),
		cmocka_unit_test(test_a_loop_that_rarely_tells_is_not_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
