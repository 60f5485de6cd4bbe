// SPDX-License-Identifier: Apache-2.0
/* Names of Unix sockets: as people know them, hostile, and too many. */
#include "../prelude.h"

#include <string.h>

#include "sources/requests/names.h"

static void tell(struct requests_names *names, uint64_t hash, const char *name, uint32_t size)
{
	struct requests_unix_record record = {
		.head.size = sizeof(record), .hash = hash, .size = size};

	memcpy(record.name, name, size < sizeof(record.name) ? size : sizeof(record.name));
	requests_names_add(names, &record);
}

static void test_names(void **state)
{
	struct requests_names names = {0};
	char longest[REQUESTS_UNIX_NAME_MAX + 1];

	(void)state;
	memset(longest, 'a', sizeof(longest));
	tell(&names, 1, "/run/x.sock", sizeof("/run/x.sock"));
	tell(&names, 2, "\0abstract\0name", 14);
	tell(&names, 3, "/run/\x1b[31m", 10);
	tell(&names, 4, longest, REQUESTS_UNIX_NAME_MAX);
	assert_string_equal(requests_names_find(&names, 1), "/run/x.sock");
	assert_int_equal(requests_names_find(&names, 2)[0], '@');
	assert_null(strchr(requests_names_find(&names, 3), '\x1b'));
	assert_int_equal(strlen(requests_names_find(&names, 4)), REQUESTS_UNIX_NAME_MAX);
	/* the first one counts; and what is none is not taken */
	tell(&names, 1, "/run/y.sock", sizeof("/run/y.sock"));
	tell(&names, 5, longest, REQUESTS_UNIX_NAME_MAX + 1);
	tell(&names, 6, longest, 0);
	assert_string_equal(requests_names_find(&names, 1), "/run/x.sock");
	assert_null(requests_names_find(&names, 5));
	assert_null(requests_names_find(&names, 6));
	requests_names_free(&names);
}

static void test_too_many(void **state)
{
	struct requests_names names = {0};

	(void)state;
	for (uint64_t i = 1; i <= 20000; i++)
		tell(&names, i, "/x", 2);
	assert_in_range(names.refused, 1, 19999);
	assert_int_equal(names.by_hash.count + names.refused, 20000);
	requests_names_free(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
