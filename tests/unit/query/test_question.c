// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* before cmocka.h, which has a macro fail() */
#include "query/question.h"

#include <cmocka.h>

#define SECOND 1000000000ull

static int take(int option, const char *value)
{
	struct question q = {0};
	struct fail why = {0};
	int err = question_take(&q, option, value, &why);

	assert_true(!err == !why.err);
	question_free(&q);
	return err;
}

static void test_lists_of_numbers(void **state)
{
	static const char *const wrong[] = {
		"",    ",",  "1,", ",1",	 "1,,2",
		"abc", "-1", "1 ", "4294967296", "00000000000000000001"};
	struct question q = {0};

	(void)state;
	assert_int_equal(question_take(&q, QUESTION_PID, "1,22", NULL), 0);
	assert_int_equal(question_take(&q, QUESTION_PID, "4294967295", NULL), 0);
	assert_int_equal(q.filter.pids.count, 3);
	assert_int_equal(q.filter.pids.at[0], 1);
	assert_int_equal(q.filter.pids.at[1], 22);
	assert_int_equal(q.filter.pids.at[2], UINT32_MAX);
	assert_int_equal(q.filter.tids.count, 0);
	question_free(&q);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(take(QUESTION_TID, wrong[i]), -EINVAL);
}

static void test_expressions(void **state)
{
	struct question q = {0};

	(void)state;
	assert_int_equal(take(QUESTION_FOCUS, "(unclosed"), -EINVAL);
	assert_int_equal(take(QUESTION_IGNORE, "a{2,1}"), -EINVAL);
	/* the last one counts, also after a wrong one */
	assert_int_equal(question_take(&q, QUESTION_FOCUS, "a", NULL), 0);
	assert_int_equal(question_take(&q, QUESTION_FOCUS, "^b", NULL), 0);
	assert_true(q.filter.has_focus);
	assert_int_equal(regexec(&q.filter.focus, "bar", 0, NULL, 0), 0);
	assert_int_not_equal(regexec(&q.filter.focus, "abc", 0, NULL, 0), 0);
	assert_int_equal(question_take(&q, QUESTION_FOCUS, "[", NULL), -EINVAL);
	assert_false(q.filter.has_focus);
	question_free(&q);
}

static void test_groups(void **state)
{
	struct question q = {0};

	(void)state;
	assert_int_equal(question_take(&q, QUESTION_BY, "process,image", NULL), 0);
	assert_true(q.shape.by_process && q.shape.by_image && !q.shape.by_thread);
	assert_int_equal(question_take(&q, QUESTION_BY, "thread", NULL), 0);
	assert_true(q.shape.by_thread);
	question_free(&q);
	assert_int_equal(take(QUESTION_BY, "proc"), -EINVAL);
	assert_int_equal(take(QUESTION_BY, "process,"), -EINVAL);
	assert_int_equal(take(QUESTION_BY, ""), -EINVAL);
	assert_int_equal(question_take(&q, 'x', "1", NULL), -ENOENT);
}

static void span_is(const char *from, const char *to, uint64_t want_from, uint64_t want_to)
{
	struct film_info info = {
		.start = 100 * SECOND,
		.end = 200 * SECOND,
		/* starts 2026-01-02 23:59:00 UTC, ends at 00:00:40 of the next day */
		.wall_offset = (int64_t)((1767398340ull - 100) * SECOND),
	};
	struct question q = {0};
	uint64_t got_from, got_to;

	if (from)
		assert_int_equal(question_take(&q, QUESTION_FROM, from, NULL), 0);
	if (to)
		assert_int_equal(question_take(&q, QUESTION_TO, to, NULL), 0);
	assert_int_equal(filter_span(&q.filter, &info, &got_from, &got_to, NULL), 0);
	assert_int_equal(got_from, want_from);
	assert_int_equal(got_to, want_to);
	question_free(&q);
}

static void test_spans(void **state)
{
	(void)state;
	span_is(NULL, NULL, 0, UINT64_MAX);
	span_is("2.5", "1500000000000ns", 102500000000, 1600 * SECOND);
	span_is("1500ms", "3s", 101500000000, 103 * SECOND);
	span_is("0", "0.000000001", 100 * SECOND, 100 * SECOND + 1);
	span_is("10us", ".5", 100000010000, 100500000000);
}

static void test_times_of_day(void **state)
{
	(void)state;
	span_is("23:59:30", "00:00:10", 130 * SECOND, 170 * SECOND);
	span_is("23:59:30.25", NULL, 130 * SECOND + SECOND / 4, UINT64_MAX);
	/* before the film: of its first day */
	span_is("23:58:20", NULL, 60 * SECOND, UINT64_MAX);
}

static void test_wrong_times(void **state)
{
	static const char *const wrong[] = {
		"",	  "-1",	     "1m",	"x",
		"1.2.3",  "1e3",     "14:32",	"24:00:00",
		"1:2:3x", "1:60:00", "1:00:61", "1:2:-3",
		"+1:2:3", " 1",	     "1:2:",	"999999999999999999999",
	};
	struct film_info info = {.start = 5, .end = 10};
	struct question q = {0};
	struct fail why = {0};
	uint64_t from, to;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(take(QUESTION_FROM, wrong[i]), -EINVAL);
	assert_int_equal(question_take(&q, QUESTION_FROM, "2", NULL), 0);
	assert_int_equal(question_take(&q, QUESTION_TO, "1", NULL), -EINVAL);
	assert_int_equal(question_take(&q, QUESTION_TO, "00:00:00", NULL), 0);
	assert_int_equal(filter_span(&q.filter, &info, &from, &to, &why), -EINVAL);
	assert_int_equal(why.err, -EINVAL);
	question_free(&q);
}

/* A film may claim any times; nothing may overflow or run for ever. */
static void test_impossible_clocks(void **state)
{
	static const uint64_t times[] = {0, 1, INT64_MAX, UINT64_MAX};
	static const int64_t offsets[] = {INT64_MIN, -1, 0, INT64_MAX};
	static const char *const froms[] = {"12:00:00", "4000000000s", "1ns"};

	(void)state;
	for (int i = 0; i < 4 * 4 * 4 * 3; i++) {
		struct film_info info = {
			.start = times[i & 3],
			.end = times[i >> 2 & 3],
			.wall_offset = offsets[i >> 4 & 3],
		};
		struct question q = {0};
		uint64_t from, to;

		assert_int_equal(question_take(&q, QUESTION_FROM, froms[i / 64], NULL), 0);
		filter_span(&q.filter, &info, &from, &to, NULL);
		question_free(&q);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists_of_numbers),
		cmocka_unit_test(test_expressions),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_spans),
		cmocka_unit_test(test_times_of_day),
		cmocka_unit_test(test_wrong_times),
		cmocka_unit_test(test_impossible_clocks),
	};

	setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
