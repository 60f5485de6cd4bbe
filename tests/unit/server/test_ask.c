// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <string.h>

#include "server/ask.h"

#define NOW    1732199580000000000ull
#define SECOND 1000000000ull

static void time_is(const char *text, uint64_t wanted)
{
	uint64_t time;

	assert_int_equal(ask_time(text, NOW, &time, NULL), 0);
	assert_int_equal(time, wanted);
}

static void test_times(void **state)
{
	static const char *const bad[] = {"",
					  "x",
					  "-",
					  "-x",
					  "1.2.3",
					  "1e9",
					  "--5m",
					  "+5m",
					  " 5",
					  "5 ",
					  "2.5s",
					  "14:32",
					  "-5mm",
					  "-1.5d",
					  "now ",
					  "-99999d",
					  "99999999999",
					  "2024-13-01T00:00:00Z",
					  "-9999999999999999999999s"};
	uint64_t time;

	(void)state;
	time_is("0", 0);
	time_is("1732199580", NOW);
	time_is("1732199580.5", NOW + SECOND / 2);
	time_is("1732199580.1234567899", NOW + 123456789);
	time_is("9999999999", 9999999999 * SECOND);
	time_is("now", NOW);
	time_is("-15m", NOW - 900 * SECOND);
	time_is("-1.5h", NOW - 5400 * SECOND);
	time_is("-90", NOW - 90 * SECOND);
	time_is("-7d", NOW - 7 * 86400 * SECOND);
	time_is("-30000h", NOW - 30000 * 3600 * SECOND);
	time_is("2024-11-21T14:33:00Z", NOW);
	time_is("2024-11-21T15:33:00.250+01:00", NOW + SECOND / 4);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct fail why = {0};

		if (!ask_time(bad[i], NOW, &time, &why))
			fail_msg("'%s' is taken as %lu", bad[i], (unsigned long)time);
		assert_true(why.what[0]);
	}
}

static int take(const char *raw, const char *own, struct server_ask *ask, struct url *url)
{
	struct fail why = {0};
	int err = url_parse(raw, url, &why);

	*ask = (struct server_ask){0};
	if (!err)
		err = ask_parse(url, own, NOW, ask, &why);
	assert_int_equal(why.err, err);
	return err;
}

static void refused(const char *raw)
{
	struct server_ask ask;
	struct url url;

	if (!take(raw, "nodes limit", &ask, &url))
		fail_msg("%s is taken", raw);
	ask_free(&ask);
	url_free(&url);
}

static void test_all_of_it(void **state)
{
	struct server_ask ask;
	struct url url;

	(void)state;
	assert_int_equal(take("/x?event=off-cpu&from=-15m&host=h&service=a%20b+c&version=1&label=k="
			      "v&label=z=%3d&"
			      "pid=1,2&tid=3&comm=a*&comm=b&focus=^x{2,3}&ignore=y&by=process,"
			      "thread&lines=1&"
			      "inlines=0&native=true&nodes=5",
			      "nodes limit", &ask, &url),
			 0);
	assert_string_equal(ask.ask.event, "off-cpu");
	assert_int_equal(ask.ask.from, NOW - 900 * SECOND);
	assert_int_equal(ask.ask.to, NOW);
	assert_string_equal(ask.ask.service, "a b c");
	assert_int_equal(ask.ask.label_count, 2);
	assert_string_equal(ask.ask.labels[1], "z==");
	assert_int_equal(ask.question.filter.pids.count, 2);
	assert_int_equal(ask.question.filter.comms.count, 2);
	assert_true(ask.question.filter.focus && ask.question.filter.ignore);
	assert_true(ask.question.shape.by_process && ask.question.shape.by_thread);
	assert_true(ask.question.shape.lines && ask.question.shape.native);
	assert_false(ask.question.shape.inlines);
	ask_free(&ask);
	url_free(&url);
	assert_int_equal(take("/x?event=&host=&from=&focus=&by=", "", &ask, &url), 0);
	assert_null(ask.ask.event);
	assert_null(ask.ask.host);
	assert_int_equal(ask.ask.from + ask.ask.to, 0);
	ask_free(&ask);
	url_free(&url);
}

static void test_refused(void **state)
{
	static const char *const all[] = {
		"/x?a=1",
		"/x?limits=1",
		"/x?nodes=1&nodes=2",
		"/x?event=a&event=b",
		"/x?from=5&to=5",
		"/x?from=now",
		"/x?before_from=1",
		"/x?pid=",
		"/x?pid=-1",
		"/x?focus=[",
		"/x?focus=a{99999999999999999999}",
		"/x?%",
		"/x?a%2",
		"/x?host=%g0",
		"/x?host=%00",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		refused(all[i]);
}

static void test_a_comparison(void **state)
{
	struct server_ask before, now;
	struct url url;

	(void)state;
	assert_int_equal(
		url_parse("/x?service=shop&label=a=1&label=b=2&from=100&to=200&before_from=50&"
			  "before_to=60&before_label=c=3&before_version=2&nodes=9",
			  &url, NULL),
		0);
	assert_int_equal(ask_parse_two(&url, "nodes", NOW, &before, &now, NULL), 0);
	assert_string_equal(before.ask.service, "shop");
	assert_string_equal(before.ask.version, "2");
	assert_null(now.ask.version);
	assert_int_equal(now.ask.label_count, 2);
	assert_int_equal(before.ask.label_count, 1);
	assert_string_equal(before.ask.labels[0], "c=3");
	assert_int_equal(before.ask.from, 50 * SECOND);
	assert_int_equal(now.ask.to, 200 * SECOND);
	ask_free(&before);
	ask_free(&now);
	url_free(&url);
}

static void test_numbers(void **state)
{
	struct url url;
	uint64_t n;

	(void)state;
	assert_int_equal(url_parse("/x?a=5&b=0&c=x&d=", &url, NULL), 0);
	assert_int_equal(ask_number(&url, "a", 1, 5, 2, &n, NULL), 0);
	assert_int_equal(n, 5);
	assert_int_equal(ask_number(&url, "z", 1, 5, 2, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_int_equal(ask_number(&url, "b", 1, 5, 2, &n, NULL), -EINVAL);
	assert_int_equal(ask_number(&url, "c", 1, 5, 2, &n, NULL), -EINVAL);
	assert_int_equal(ask_number(&url, "d", 1, 5, 2, &n, NULL), -EINVAL);
	url_free(&url);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times),	cmocka_unit_test(test_all_of_it),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_a_comparison),
		cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
