// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void test_times(void **state)
{
	static const struct {
		const char *text;
		uint64_t unit, ns;
	} good[] = {
		{"10", 1000000000, 10000000000},
		{"10", 1, 10},
		{"0", 1, 0},
		{"2.5s", 1, 2500000000},
		{"500ms", 1000000000, 500000000},
		{"1.5us", 1, 1500},
		{"20ns", 1000000000, 20},
		{"5m", 1, 300000000000},
		{"1h", 1, 3600000000000},
		{"1.5d", 1, 129600000000000},
		{"1e3us", 1, 1000000},
		{"1000000000s", 1, 1000000000000000000},
	};
	static const char *const bad[] = {
		"",    "s",	"-1",  "+1",  " 1",	     "1 s",   "1w",
		"0x1", "0X1p4", "inf", "nan", "1000000001s", "1e99h", "1s2",
	};
	uint64_t ns;

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		assert_int_equal(text_parse_time(good[i].text, good[i].unit, &ns), 0);
		assert_int_equal(ns, good[i].ns);
	}
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(text_parse_time(bad[i], 1, &ns), -EINVAL);
}

static void test_sizes(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{"0", 0},	   {"4096", 4096},	   {"10B", 10},
		{"1.5kB", 1500},   {"10GB", 10000000000},  {"10 GB", 10000000000},
		{"2MiB", 2 << 20}, {"1TB", 1000000000000}, {"1 GiB", 1 << 30},
	};
	static const char *const bad[] = {"",	  "GB",	  "-1",	 "1 ", "1GBB",
					  "0x10", "1e30", "10g", "nan"};
	uint64_t bytes;

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		assert_int_equal(text_parse_bytes(good[i].text, &bytes), 0);
		assert_int_equal(bytes, good[i].bytes);
	}
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(text_parse_bytes(bad[i], &bytes), -EINVAL);
}

static void assert_quantile(uint64_t ns, uint64_t most, const char *expected)
{
	char words[32];

	text_quantile(words, sizeof(words), ns, most);
	assert_string_equal(words, expected);
}

/* The digits that 1/64 leaves, in which no two values that are apart become one. */
static void test_quantiles(void **state)
{
	(void)state;
	assert_quantile(0, 0, "0 ns");
	assert_quantile(31, 100, "31 ns");
	assert_quantile(345, 1000, "350 ns");
	assert_quantile(10368, 20499, "10.4 us");
	assert_quantile(876544, 904400, "880 us");
	assert_quantile(1034000, 2000000, "1.03 ms");
	assert_quantile(36176000, 150632000, "36 ms");
	assert_quantile(108003000, 317361000, "108 ms");
	assert_quantile(1997000000, 3000000000, "2.00 s");
	assert_quantile(999600, 2000000, "1.00 ms");
	assert_quantile(4765000000000, UINT64_MAX, "4800 s");
	/* the longest is known exactly, and nothing is longer */
	assert_quantile(468059, 468059, "468.059 us");
	assert_quantile(66585000, 66900000, "66 ms");
}

static void test_utf8_comes_back(void **state)
{
	static const struct {
		uint32_t point;
		size_t length;
	} cases[] = {
		{0, 1},	    {0x7f, 1},	 {0x80, 2},    {0x7ff, 2},
		{0x800, 3}, {0xffff, 3}, {0x10000, 4}, {0x10ffff, 4},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t point = 0;
		char bytes[4];

		assert_int_equal(text_put_utf8(bytes, cases[i].point), cases[i].length);
		assert_int_equal(text_utf8(bytes, cases[i].length, &point), cases[i].length);
		assert_int_equal(point, cases[i].point);
	}
}

static void test_hexadecimal(void **state)
{
	static const unsigned char bytes[] = {0x00, 0x0f, 0xa9, 0xff};
	char text[9];

	(void)state;
	assert_string_equal(text_hex(text, sizeof(text), bytes, 4), "000fa9ff");
	assert_string_equal(text_hex(text, sizeof(text), bytes, 0), "");
	/* no half of a byte */
	assert_string_equal(text_hex(text, 8, bytes, 4), "000fa9");
	assert_string_equal(text_hex(text, 2, bytes, 4), "");
}

static void test_hexadecimal_is_read(void **state)
{
	static const char *const bad[] = {"0", "0g", "g0", "00 0", "-1", "0x"};
	uint8_t bytes[4] = {0};
	char hex[9];

	(void)state;
	assert_true(text_parse_hex("00aBfF10", 8, bytes));
	assert_string_equal(text_hex(hex, sizeof(hex), bytes, 4), "00abff10");
	assert_true(text_parse_hex("zz", 0, bytes));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(text_parse_hex(bad[i], strlen(bad[i]), bytes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hexadecimal_is_read),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_quantiles),
		cmocka_unit_test(test_utf8_comes_back),
		cmocka_unit_test(test_hexadecimal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
