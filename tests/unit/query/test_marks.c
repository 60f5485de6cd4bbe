// SPDX-License-Identifier: Apache-2.0
/* Which waits of a thread are one wait that began anew, by what the thread did between them. */
#include "../prelude.h"

#include <string.h>

#include "query/explain/marks.h"

#define MS 1000000ull

enum {
	WAKER = 7,
	ADDRESS = 0x1000,
};

/* A wait until its time was over, time on a CPU, and a wait for the same until a wake. */
static bool is_retried(uint64_t wait, uint64_t between)
{
	struct slice slices[] = {
		{.end = wait, .kind = SLICE_WAIT + WAIT_LOCK, .context = FILM_WAIT_BY_TIMER},
		{.start = wait, .end = wait + between, .kind = SLICE_ON_CPU},
		{.start = wait + between,
		 .end = 2 * wait + between,
		 .kind = SLICE_WAIT + WAIT_LOCK},
	};
	size_t first[] = {0, 0, 3};
	struct histories histories = {.slices = slices, .first = first, .count = 3};
	struct explain_stacks stacks = {0};
	bool result;

	for (size_t i = 0; i < 3; i++)
		slices[i].thread = 1;
	slices[0].address = slices[2].address = ADDRESS;
	slices[2].waker = WAKER;
	slices[2].context = FILM_WAIT_BY_THREAD;
	explain_retries_mark(&histories, &stacks);
	result = slices[0].flags & HISTORY_RETRIED;
	assert_int_equal(slices[0].waker, result ? WAKER : 0);
	return result;
}

static void a_moment_between_waits_does_not_part_them(void **state)
{
	(void)state;
	assert_true(is_retried(50 * MS, MS));
	assert_false(is_retried(50 * MS, MS + 1));
	/* a slow machine needs longer behind a long wait */
	assert_true(is_retried(1000 * MS, 10 * MS));
	assert_false(is_retried(1000 * MS, 10 * MS + 1));
	/* with a short timeout it may be work */
	assert_true(is_retried(5 * MS, MS / 2));
	assert_false(is_retried(5 * MS, MS / 2 + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_moment_between_waits_does_not_part_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
