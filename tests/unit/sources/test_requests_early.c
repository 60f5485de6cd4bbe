// SPDX-License-Identifier: Apache-2.0
/* Requests that were made early are kept until their threads have answered; too many count. */
#include "../prelude.h"

#include "sources/requests/early.h"

#define FIRST  1000ull
#define LATE   (FIRST + 10000000000ull)
#define MOST   65536 /* requests, and threads */
#define BEYOND 3

struct given {
	uint64_t right, wrong;
};

static void give(void *context, void *kept, bool is_wrong)
{
	struct given *given = context;

	assert_ptr_equal(kept, given);
	given->right += !is_wrong;
	given->wrong += is_wrong;
}

static struct requests_early *begin(struct given *given)
{
	struct requests_early *early = requests_early_new(give, given);

	assert_non_null(early);
	requests_early_now(early, FIRST);
	return early;
}

static void test_checked(void **state)
{
	struct given given = {0};
	struct requests_early *early = begin(&given);

	(void)state;
	assert_true(requests_early_keep(early, 1, FIRST + 5, &given));
	assert_true(requests_early_keep(early, 2, FIRST + 5, &given));
	/* later ones need no check */
	assert_false(requests_early_keep(early, 1, LATE, &given));
	requests_early_answered(early, 1, FIRST + 9);
	requests_early_flush(early);
	assert_int_equal(given.wrong, 1);
	assert_int_equal(given.right, 1);
	assert_int_equal(requests_early_unchecked(early), 0);
	requests_early_free(early);
}

static void test_too_many_requests(void **state)
{
	struct given given = {0};
	struct requests_early *early = begin(&given);

	(void)state;
	for (uint64_t i = 0; i < MOST; i++)
		assert_true(requests_early_keep(early, 1, FIRST + i, &given));
	for (uint64_t i = 0; i < BEYOND; i++)
		assert_false(requests_early_keep(early, 1, FIRST + i, &given));
	/* without memory for one, too */
	assert_false(requests_early_keep(early, 1, FIRST, NULL));
	assert_int_equal(requests_early_unchecked(early), BEYOND + 1);
	requests_early_free(early);
	assert_int_equal(given.right, MOST);
}

static void test_too_many_threads(void **state)
{
	struct given given = {0};
	struct requests_early *early = begin(&given);

	(void)state;
	for (uint64_t thread = 1; thread <= MOST + BEYOND; thread++)
		requests_early_answered(early, thread, FIRST + 9);
	assert_true(requests_early_keep(early, 1, FIRST, &given));
	assert_true(requests_early_keep(early, MOST + 1, FIRST, &given));
	requests_early_flush(early);
	assert_int_equal(given.wrong, 1);
	assert_int_equal(given.right, 1);
	assert_int_equal(requests_early_unchecked(early), 1);
	requests_early_free(early);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checked),
		cmocka_unit_test(test_too_many_requests),
		cmocka_unit_test(test_too_many_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
