// SPDX-License-Identifier: Apache-2.0
/*
 * --slower: slow calls with all that they called, and nothing else, in the order in which they
 * ended.
 */
#include "../prelude.h"

#include <string.h>

#include "sources/calls/slow.h"

#define THRESHOLD 100

struct kept {
	char names[64];
	size_t count;
};

/* The name of a call is in its frame. */
static void keep(void *context, const struct film_call *call)
{
	struct kept *kept = context;

	kept->names[kept->count++] = (char)call->frame;
}

static void give(struct calls_slow *slow, uint32_t track, char name, uint16_t depth,
		 uint64_t duration)
{
	struct film_call call = {.frame = (uint32_t)name, .depth = depth, .duration = duration};

	calls_slow_add(slow, track, &call);
}

static void keeps_slow_trees_only(void **state)
{
	struct kept kept = {0};
	struct calls_slow *slow = calls_slow_new(THRESHOLD, keep, &kept);
	uint64_t dropped, not_waited_for;

	(void)state;
	/* a(b c) is fast, d(e(f) g) is slow as a whole, h(i j(k)) in its part j only */
	give(slow, 1, 'b', 1, 10);
	give(slow, 1, 'c', 1, 10);
	give(slow, 1, 'a', 0, 30);
	assert_string_equal(kept.names, "");
	give(slow, 1, 'f', 2, 10);
	give(slow, 1, 'e', 1, 20);
	give(slow, 1, 'g', 1, 20);
	give(slow, 1, 'd', 0, 100);
	assert_string_equal(kept.names, "fegd");
	give(slow, 1, 'i', 1, 10);
	give(slow, 1, 'k', 2, 10);
	give(slow, 1, 'j', 1, 150);
	give(slow, 1, 'l', 1, 10);
	assert_string_equal(kept.names, "fegd");
	give(slow, 1, 'h', 0, 99);
	assert_string_equal(kept.names, "fegdkj");
	calls_slow_counts(slow, &dropped, &not_waited_for);
	assert_int_equal(dropped, 6);
	assert_int_equal(not_waited_for, 0);
	calls_slow_free(slow);
}

static void keeps_threads_apart(void **state)
{
	struct kept kept = {0};
	struct calls_slow *slow = calls_slow_new(THRESHOLD, keep, &kept);

	(void)state;
	give(slow, 1, 'a', 1, 10);
	give(slow, 2, 'b', 1, 10);
	give(slow, 2, 'c', 0, 500);
	give(slow, 1, 'd', 0, 10);
	assert_string_equal(kept.names, "bc");
	calls_slow_free(slow);
}

static void keeps_what_is_known_at_the_end(void **state)
{
	struct kept kept = {0};
	struct calls_slow *slow = calls_slow_new(THRESHOLD, keep, &kept);

	(void)state;
	give(slow, 1, 'a', 3, 10);
	give(slow, 1, 'b', 2, 200);
	give(slow, 1, 'c', 2, 10);
	calls_slow_finish(slow);
	assert_string_equal(kept.names, "ab");
	calls_slow_free(slow);
}

static void counts_what_it_cannot_wait_for(void **state)
{
	struct kept kept = {0};
	struct calls_slow *slow = calls_slow_new(THRESHOLD, keep, &kept);
	uint64_t dropped, not_waited_for;

	(void)state;
	for (int i = 0; i < (1 << 20) + 1; i++)
		give(slow, 1, 'x', 1, 10);
	give(slow, 1, 'y', 0, 1000);
	calls_slow_counts(slow, &dropped, &not_waited_for);
	assert_int_equal(not_waited_for, 1 << 20);
	assert_int_equal(dropped, 0);
	assert_string_equal(kept.names, "xy");
	calls_slow_free(slow);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_slow_trees_only),
		cmocka_unit_test(keeps_threads_apart),
		cmocka_unit_test(keeps_what_is_known_at_the_end),
		cmocka_unit_test(counts_what_it_cannot_wait_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
