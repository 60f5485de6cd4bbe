// SPDX-License-Identifier: Apache-2.0
/* Names of virtual threads are a process's own words. */
#include "../prelude.h"

#include <string.h>

#include "sources/lanes/vthreads_name.h"

/* As it is read: without a zero byte where it fills its room. */
static const char *called(const char *name)
{
	static char to[VTHREADS_NAME_TEXT_MAX];
	char read[VTHREADS_NAME_MAX] = "";

	memcpy(read, name, strnlen(name, sizeof(read)));
	vthreads_name(read, 37, to);
	return to;
}

static void test_names(void **state)
{
	char to[VTHREADS_NAME_TEXT_MAX], full[VTHREADS_NAME_MAX + 1], wide[VTHREADS_NAME_TEXT_MAX];

	(void)state;
	assert_string_equal(called("worker-1"), "worker-1");
	assert_string_equal(called(""), "virtual thread 37");
	vthreads_name(NULL, UINT64_MAX, to);
	assert_string_equal(to, "virtual thread 18446744073709551615");
	assert_string_equal(called("caf\xe9"), "caf\xc3\xa9");
	memset(full, 0xe9, VTHREADS_NAME_MAX);
	full[VTHREADS_NAME_MAX] = 0;
	for (size_t i = 0; i < VTHREADS_NAME_MAX; i++)
		memcpy(wide + 2 * i, "\xc3\xa9", 3);
	assert_string_equal(called(full), wide);
}

static void test_what_is_not_text(void **state)
{
	(void)state;
	assert_string_equal(called("\x1b[31m"), "virtual thread 37");
	assert_string_equal(called("a\x7f"), "virtual thread 37");
	assert_string_equal(called("a\x9b"), "virtual thread 37");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_what_is_not_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
