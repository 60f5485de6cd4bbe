// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "runtime/hotspot/attach.h"

static void answers(void **state)
{
	static const struct {
		const char *text;
		int err, result;
	} cases[] = {
		{"0\nreturn code: 0\n", 0, 0},
		{"0\nreturn code: 102\n", 0, 102},
		{"0\n-1\n", 0, -1},
		{"0\n0", 0, 0},
		{"", -EPROTO, 0},
		{"0", -EPROTO, 0},
		{"0\n", -EPROTO, 0},
		{"100\nno such command\n", -EPROTO, 0},
		{"0\nreturn code: \n", -EPROTO, 0},
		{"0\nreturn code: 7 or so", -EPROTO, 0},
		{"0\n99999999999", -EPROTO, 0},
		{"0\nlibx.so was not loaded.\n", -EPROTO, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int result = 12345;

		assert_int_equal(hotspot_read_answer(cases[i].text, &result), cases[i].err);
		assert_int_equal(result, cases[i].err ? 12345 : cases[i].result);
	}
}

static void signals(void **state)
{
	(void)state;
	assert_true(hotspot_handles_quit("Name:\tjava\nSigCgt:\t2000000181005ccf\n"));
	assert_true(hotspot_handles_quit("Name:\tjava\nSigCgt:\t0000000000000004\n"));
	assert_false(hotspot_handles_quit("Name:\tjava\nSigCgt:\tfffffffffffffffb\n"));
	assert_false(hotspot_handles_quit("Name:\tjava\nSigIgn:\tffffffffffffffff\n"));
	assert_false(hotspot_handles_quit("SigCgt:\tffffffffffffffff\n"));
	assert_false(hotspot_handles_quit(""));
}

static void signatures(void **state)
{
	static const char *const cases[][2] = {
		{"Ljava/lang/String;", "java.lang.String"},
		{"LHolds$Node;", "Holds$Node"},
		{"[B", "byte[]"},
		{"[[Ljava/lang/String;", "java.lang.String[][]"},
		{"LHolds$$Lambda$14.0x0000000800c00a18;", "Holds$$Lambda"},
		{"", ""},
		{"L", ""},
		{"L;", ""},
		{"[", "[]"},
		{"I", "I"},
		/* one that was cut */
		{"Ljava/lang/Str", "java.lang.Str"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char name[64];

		strcpy(name, cases[i][0]);
		hotspot_name_of_signature(name, sizeof(name));
		assert_string_equal(name, cases[i][1]);
	}
}

/* An array of many dimensions does not grow out of its room. */
static void dimensions(void **state)
{
	char name[64];

	(void)state;
	memset(name, '[', sizeof(name));
	name[62] = 'B';
	name[63] = 0;
	hotspot_name_of_signature(name, sizeof(name));
	assert_memory_equal(name, "byte[]", 6);
	assert_true(strlen(name) < sizeof(name));
}

static void ignore(int number)
{
	(void)number;
}

/* This process is not a JVM. */
static void no_jvm(void **state)
{
	struct fail why = {0};
	int result;

	(void)state;
	/* it could be one that starts, until it handles the signal */
	assert_int_equal(hotspot_load_agent(getpid(), "/nowhere.so", "stop", &result, &why),
			 -EAGAIN);
	assert_ptr_not_equal(signal(SIGQUIT, ignore), SIG_ERR);
	assert_int_equal(hotspot_load_agent(getpid(), "/nowhere.so", "stop", &result, &why),
			 -ENOTSUP);
	signal(SIGQUIT, SIG_DFL);
	assert_non_null(strstr(why.what, "older than Java 11"));
	assert_int_equal(hotspot_load_agent(5000001, "/nowhere.so", "stop", &result, &why), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers),    cmocka_unit_test(signals),
		cmocka_unit_test(signatures), cmocka_unit_test(dimensions),
		cmocka_unit_test(no_jvm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
