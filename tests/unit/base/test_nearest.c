// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <string.h>

#include "base/nearest.h"

static const char *const verbs[] = {"record", "trace", "report", "replay", "diff", "serve"};

static const char *meant_by(const char *given)
{
	struct nearest nearest = {.given = given};

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		nearest_offer(&nearest, verbs[i]);
	return nearest.name ? nearest.name : "";
}

static void test_one_change(void **state)
{
	(void)state;
	assert_string_equal(meant_by("recrod"), "record");  /* exchanged */
	assert_string_equal(meant_by("recor"), "record");   /* left out */
	assert_string_equal(meant_by("recordd"), "record"); /* added */
	assert_string_equal(meant_by("recard"), "record");  /* replaced */
	assert_string_equal(meant_by("RECORD"), "record");
	assert_string_equal(meant_by("dif"), "diff");
}

static void test_the_nearest_of_several(void **state)
{
	(void)state;
	assert_string_equal(meant_by("reprot"), "report");
	assert_string_equal(meant_by("repla"), "replay");
}

static void test_none_is_near(void **state)
{
	char longer[1001];

	(void)state;
	assert_string_equal(meant_by("film"), "");
	assert_string_equal(meant_by("x"), "");
	assert_string_equal(meant_by(""), "");
	memset(longer, 'r', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	assert_string_equal(meant_by(longer), "");
}

static void test_lengths_up_to_the_most(void **state)
{
	char given[102], name[102];

	(void)state;
	memset(given, 'a', sizeof(given));
	memset(name, 'a', sizeof(name));
	given[100] = name[100] = 0;
	name[50] = 'b';
	struct nearest nearest = {.given = given};
	nearest_offer(&nearest, name);
	assert_ptr_equal(nearest.name, name);
	assert_int_equal(nearest.distance, 1);
	given[100] = 'a';
	given[101] = 0;
	nearest = (struct nearest){.given = given};
	nearest_offer(&nearest, name);
	assert_null(nearest.name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_change),
		cmocka_unit_test(test_the_nearest_of_several),
		cmocka_unit_test(test_none_is_near),
		cmocka_unit_test(test_lengths_up_to_the_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
