// SPDX-License-Identifier: Apache-2.0
/* Regular expressions of users: PCRE2's dialect, on any bytes, in bounded time. */
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/regex.h"

static bool matches(const char *expression, const char *text)
{
	struct regex *regex = NULL;
	bool found;

	assert_int_equal(regex_compile(expression, &regex, NULL), 0);
	found = regex_matches(regex, text);
	assert_int_equal(regex_check(regex, NULL), 0);
	regex_free(regex);
	return found;
}

static void test_dialect(void **state)
{
	(void)state;
	assert_true(matches("^std::", "std::sort"));
	assert_false(matches("^std::", "my::std::sort"));
	assert_true(matches("parse|read", "do_parse"));
	assert_true(matches("[[:digit:]]{2}", "f12"));
	/* what POSIX has not */
	assert_true(matches("\\bparse\\b", "json::parse(char)"));
	assert_true(matches("^(?!do_).*parse", "to_parse"));
	assert_false(matches("^(?!do_).*parse", "do_parse"));
	assert_true(matches("(?i)PARSE", "parse"));
	assert_true(matches("(a+)\\1$", "aaaa"));
	/* names may hold any bytes */
	assert_true(matches("x.y$", "x\xffy"));
	assert_true(matches("", ""));
}

static void test_wrong(void **state)
{
	static const char *const wrong[] = {"(", "[a", "a{2,1}", "*", "(?<n", "\\", "\\C", "(?R"};
	char text[8192];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct regex *regex = NULL;
		struct fail why = {0};

		assert_int_equal(regex_compile(wrong[i], &regex, &why), -EINVAL);
		assert_non_null(strstr(why.what, "is not a regular expression"));
		assert_null(regex);
	}
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = 0;
	assert_int_equal(regex_compile(text, &(struct regex *){NULL}, NULL), -EINVAL);
}

/* Groups that repeat what repeats: some take the usual libraries hours. */
static void test_bounded(void **state)
{
	static const struct {
		const char *text;
		bool is_slow; /* else PCRE2 sees at once that a letter is missing */
	} expressions[] = {
		{"(a+)+$", true},  {"(a|aa)+$", true},	       {"^(([a-z])+.)+[A-Z]", true},
		{"(a*)*b", false}, {"((a?){30}){30}c", false}, {"(.*)*\\1x", false},
	};
	char text[4096];

	(void)state;
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 2] = '!';
	text[sizeof(text) - 1] = 0;
	for (size_t i = 0; i < sizeof(expressions) / sizeof(expressions[0]); i++) {
		struct regex *regex = NULL;
		struct fail why = {0};
		uint64_t begin = clock_ns();

		assert_int_equal(regex_compile(expressions[i].text, &regex, &why), 0);
		for (int k = 0; k < 1000000; k++)
			regex_matches(regex, text);
		/* a busy machine is slower: without limits, the first match alone takes longer */
		assert_true(clock_ns() - begin < 20000000000ull);
		assert_int_equal(regex_check(regex, &why), expressions[i].is_slow ? -EINVAL : 0);
		if (expressions[i].is_slow)
			assert_non_null(strstr(why.what, "takes too long"));
		assert_false(regex_matches(regex, "aaa!"));
		regex_free(regex);
	}
}

/* A usual one is not given up, however many names there are. */
static void test_many(void **state)
{
	struct regex *regex = NULL;

	(void)state;
	assert_int_equal(regex_compile("^.*(parse|read)_[a-z]+\\(", &regex, NULL), 0);
	for (int k = 0; k < 1000000; k++)
		assert_false(regex_matches(regex, "std::vector<int, std::allocator<int>>::push"));
	assert_int_equal(regex_check(regex, NULL), 0);
	regex_free(regex);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dialect),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
