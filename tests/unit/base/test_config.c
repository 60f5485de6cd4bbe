// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/config.h"

/* Writes what it gets as "name=value;"; "bad" is refused. */
static int take(void *context, const char *name, const char *value, struct fail *why)
{
	char *to = context;

	if (!strcmp(name, "bad"))
		return fail(why, -EINVAL, "leave it out", "there is no 'bad'");
	sprintf(to + strlen(to), value ? "%s=%s;" : "%s;", name, value);
	return 0;
}

static int parse(const char *text, char *taken, struct fail *why)
{
	char *copy = strdup(text);
	int err;

	taken[0] = 0;
	err = config_parse(copy, strlen(copy), "x.conf", take, taken, why);
	free(copy);
	return err;
}

static void test_lines(void **state)
{
	static const struct {
		const char *text, *taken;
	} cases[] = {
		{"", ""},
		{"\n\n  \t\n", ""},
		{"# label = a=b\n  # more", ""},
		{"no-record", "no-record;"},
		{" no-record \r\nlisten=1", "no-record;listen=1;"},
		{"label = env=prod\nlabel = a = b", "label=env=prod;label=a = b;"},
		{"store =\t/a b/c # d \t\r", "store=/a b/c # d;"},
		{"label =", "label=;"},
	};
	char taken[256];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse(cases[i].text, taken, NULL), 0);
		assert_string_equal(taken, cases[i].taken);
	}
}

static void test_errors_name_the_line(void **state)
{
	static const struct {
		const char *text, *what;
	} cases[] = {
		{"a=1\n\nbad = 2\nc=3", "x.conf:3: there is no 'bad'"},
		{"two words = 1", "x.conf:1: this is not a line 'name = value'"},
		{"\n= 1", "x.conf:2: this is not a line 'name = value'"},
		{"--listen = 1\nUPPER", "x.conf:2: this is not a line 'name = value'"},
	};
	char taken[256];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fail why = {0};

		assert_int_equal(parse(cases[i].text, taken, &why), -EINVAL);
		assert_string_equal(why.what, cases[i].what);
		assert_true(why.to_do[0]);
	}
}

static void test_zero_bytes(void **state)
{
	char text[] = "a=1\0b=2", taken[64] = "";
	struct fail why = {0};

	(void)state;
	assert_int_equal(config_parse(text, sizeof(text) - 1, "x.conf", take, taken, &why),
			 -EINVAL);
	assert_string_equal(taken, "");
}

static void test_files(void **state)
{
	char path[] = "/tmp/test-config-XXXXXX", taken[64] = "", *text;
	int fd = mkstemp(path);
	struct fail why = {0};

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "a = 1\n", 6), 6);
	close(fd);
	assert_int_equal(config_read(path, &text, take, taken, &why), 0);
	assert_string_equal(taken, "a=1;");
	free(text);
	unlink(path);
	assert_int_equal(config_read(path, &text, take, taken, &why), -ENOENT);
	free(text);
	assert_int_equal(config_read("/tmp", &text, take, taken, &why), -EINVAL);
	free(text);
	assert_int_equal(config_read("/dev/zero", &text, take, taken, &why), -EINVAL);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_errors_name_the_line),
		cmocka_unit_test(test_zero_bytes),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
