// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "query/question.h"

#define SECOND 1000000000ull

static int take(int option, const char *value)
{
	struct question q = {0};
	struct fail why = {0};
	int err = question_parse(&q, option, value, &why);

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
	assert_int_equal(question_parse(&q, QUESTION_PID, "1,22", NULL), 0);
	assert_int_equal(question_parse(&q, QUESTION_PID, "4294967295", NULL), 0);
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
	assert_int_equal(question_parse(&q, QUESTION_FOCUS, "a", NULL), 0);
	assert_int_equal(question_parse(&q, QUESTION_FOCUS, "^b", NULL), 0);
	assert_non_null(q.filter.focus);
	assert_true(regex_matches(q.filter.focus, "bar"));
	assert_false(regex_matches(q.filter.focus, "abc"));
	assert_int_equal(question_parse(&q, QUESTION_FOCUS, "[", NULL), -EINVAL);
	assert_null(q.filter.focus);
	question_free(&q);
}

static void test_groups(void **state)
{
	struct question q = {0};

	(void)state;
	assert_int_equal(question_parse(&q, QUESTION_BY, "process,image", NULL), 0);
	assert_true(q.shape.by_process && q.shape.by_image && !q.shape.by_thread);
	assert_int_equal(question_parse(&q, QUESTION_BY, "thread", NULL), 0);
	assert_true(q.shape.by_thread);
	question_free(&q);
	assert_int_equal(take(QUESTION_BY, "proc"), -EINVAL);
	assert_int_equal(take(QUESTION_BY, "process,"), -EINVAL);
	/* a process has one group of these */
	assert_int_equal(take(QUESTION_BY, "name,thread"), 0);
	assert_int_equal(take(QUESTION_BY, "name,cgroup"), -EINVAL);
	assert_int_equal(take(QUESTION_BY, "container,process,name"), -EINVAL);
	assert_int_equal(take(QUESTION_BY, ""), -EINVAL);
	assert_int_equal(question_parse(&q, 'x', "1", NULL), -ENOENT);
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
		assert_int_equal(question_parse(&q, QUESTION_FROM, from, NULL), 0);
	if (to)
		assert_int_equal(question_parse(&q, QUESTION_TO, to, NULL), 0);
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
	span_is("23:59", "0:00", 100 * SECOND, 160 * SECOND);
	/* in no day of the film: the nearest one */
	span_is("23:58:20", NULL, 60 * SECOND, UINT64_MAX);
	span_is("23:58", "00:03", 40 * SECOND, 340 * SECOND);
}

static void test_dates(void **state)
{
	(void)state;
	span_is("2026-01-02T23:59:30Z", "2026-01-03T00:00:10.5z", 130 * SECOND,
		170 * SECOND + SECOND / 2);
	span_is("2026-01-03T01:59:30+02:00", "2026-01-02T18:30:10-05:30", 130 * SECOND,
		170 * SECOND);
	/* as titles have it: local time */
	span_is("2026-01-02 23:59:30", "2026-01-03T00:00", 130 * SECOND, 160 * SECOND);
	span_is("1970-01-01T00:00:00Z", "2500-12-31T23:59:60Z", 0,
		16756761600ull * SECOND - 1767398340 * SECOND + 100 * SECOND);
}

static void test_wrong_times(void **state)
{
	static const char *const wrong[] = {
		"",
		"-1",
		"1m",
		"x",
		"1.2.3",
		"1e3",
		"14:",
		"24:00:00",
		"1:2:3x",
		"1:60:00",
		"1:00:61",
		"1:2:-3",
		"+1:2:3",
		" 1",
		"1:2:",
		"999999999999999999999",
		"2026-01-02",
		"2026-02-30T10:00:00Z",
		"2026-13-01T10:00:00Z",
		"1969-01-01T10:00:00Z",
		"2501-01-01T10:00:00Z",
		"2026-1-2T10:00:00Z",
		"2026-01-02T",
		"2026-01-02T10",
		"2026-01-02T10:00:00+0100",
		"2026-01-02T10:00:00Zx",
		"1970-01-01T00:00:00+01:00",
		"2026-01-02TT10:00",
	};
	struct film_info info = {.start = 5, .end = 10};
	struct question q = {0};
	struct fail why = {0};
	uint64_t from, to;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(take(QUESTION_FROM, wrong[i]), -EINVAL);
	assert_int_equal(question_parse(&q, QUESTION_FROM, "2", NULL), 0);
	assert_int_equal(question_parse(&q, QUESTION_TO, "1", NULL), -EINVAL);
	question_free(&q);
	assert_int_equal(question_parse(&q, QUESTION_FROM, "2026-01-02T10:00:01Z", NULL), 0);
	assert_int_equal(question_parse(&q, QUESTION_TO, "2026-01-02T10:00:01Z", &why), -EINVAL);
	assert_string_equal(why.what, "--from 2026-01-02T10:00:01Z is not before "
				      "--to 2026-01-02T10:00:01Z");
	question_free(&q);
	assert_int_equal(question_parse(&q, QUESTION_FROM, "14:33", NULL), 0);
	assert_int_equal(question_parse(&q, QUESTION_TO, "14:32", NULL), 0);
	assert_int_equal(filter_span(&q.filter, &info, &from, &to, NULL), -EINVAL);
	question_free(&q);
	assert_int_equal(question_parse(&q, QUESTION_FROM, "2", NULL), 0);
	assert_int_equal(question_parse(&q, QUESTION_TO, "00:00:00", NULL), 0);
	assert_int_equal(filter_span(&q.filter, &info, &from, &to, &why), -EINVAL);
	assert_int_equal(why.err, -EINVAL);
	question_free(&q);
	/* from before the machine of the film was started: no mistake, but nothing is there */
	info.wall_offset = 1800000000000000000;
	assert_int_equal(question_parse(&q, QUESTION_FROM, "2026-01-02T14:32", NULL), 0);
	assert_int_equal(question_parse(&q, QUESTION_TO, "2026-01-02T14:33", NULL), 0);
	assert_int_equal(filter_span(&q.filter, &info, &from, &to, &why), 0);
	assert_true(from == 0 && to == 0);
	question_free(&q);
}

static void test_description(void **state)
{
	struct question q = {0};
	struct buf words = {0};

	(void)state;
	assert_false(filter_is_set(&q.filter));
	question_parse(&q, QUESTION_BY, "process", NULL);
	assert_false(filter_is_set(&q.filter));
	filter_describe(&q.filter, &words);
	assert_int_equal(words.count, 0);
	question_parse(&q, QUESTION_TID, "3", NULL);
	question_parse(&q, QUESTION_PID, "1,2", NULL);
	question_parse(&q, QUESTION_COMM, "a*", NULL);
	question_parse(&q, QUESTION_COMM, "b", NULL);
	question_parse(&q, QUESTION_FOCUS, "^x", NULL);
	question_parse(&q, QUESTION_IGNORE, "y$", NULL);
	question_parse(&q, QUESTION_FROM, "1ms", NULL);
	question_parse(&q, QUESTION_TO, "14:32", NULL);
	assert_true(filter_is_set(&q.filter));
	filter_describe(&q.filter, &words);
	buf_put_u8(&words, 0);
	assert_string_equal((const char *)words.at,
			    "--pid 1,2 --tid 3 --comm 'a*' --comm 'b' --focus '^x' --ignore 'y$' "
			    "--from '1ms' --to '14:32'");
	buf_free(&words);
	question_free(&q);
}

/* A film may claim any times; nothing may overflow or run for ever. */
static void test_impossible_clocks(void **state)
{
	static const uint64_t times[] = {0, 1, INT64_MAX, UINT64_MAX};
	static const int64_t offsets[] = {INT64_MIN, -1, 0, INT64_MAX};
	static const char *const froms[] = {"12:00:00", "4000000000s", "1ns",
					    "2400-01-02T03:04:05Z"};

	(void)state;
	for (int i = 0; i < 4 * 4 * 4 * 4; i++) {
		struct film_info info = {
			.start = times[i & 3],
			.end = times[i >> 2 & 3],
			.wall_offset = offsets[i >> 4 & 3],
		};
		struct question q = {0};
		uint64_t from, to;

		assert_int_equal(question_parse(&q, QUESTION_FROM, froms[i / 64], NULL), 0);
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
		cmocka_unit_test(test_dates),
		cmocka_unit_test(test_wrong_times),
		cmocka_unit_test(test_description),
		cmocka_unit_test(test_impossible_clocks),
	};

	setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
