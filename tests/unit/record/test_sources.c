// SPDX-License-Identifier: Apache-2.0
/*
 * The table of sources: by their events, with their options, and each with its share of the rings.
 */
#include "../prelude.h"

#include <errno.h>
#include <string.h>

#include "record/sources.h"

static void finds_sources_by_their_events(void **state)
{
	struct sources_settings settings = sources_settings_usual();

	(void)state;
	assert_false(settings.at[CAPTURE_SOURCE_ON_CPU].on);
	assert_true(sources_turn_on(&settings, "on-cpu"));
	assert_true(settings.at[CAPTURE_SOURCE_ON_CPU].on);
	assert_true(sources_turn_on(&settings, "call-stacks"));
	assert_true(settings.at[CAPTURE_SOURCE_CALLS].on);
	assert_false(sources_turn_on(&settings, "on-cp"));
	assert_false(sources_turn_on(&settings, ""));
}

static void takes_options_within_their_limits(void **state)
{
	static const char *const wrong[] = {"0", "10001", "-1", "x", "", "99x"};
	struct sources_settings settings = sources_settings_usual();
	struct fail why;

	(void)state;
	assert_int_equal(sources_value(&settings, "frequency"), 99);
	assert_int_equal(sources_set(&settings, "frequency", "999", &why), 0);
	assert_int_equal(sources_value(&settings, "frequency"), 999);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(sources_set(&settings, "frequency", wrong[i], &why), -EINVAL);
		assert_non_null(strstr(why.what, "-F takes a number from 1 to 10000"));
		assert_int_equal(sources_value(&settings, "frequency"), 999);
	}
	assert_int_equal(sources_set(&settings, "frequence", "99", &why), -ENOENT);
	assert_int_equal(sources_value(&settings, "keep-query"), 0);
	assert_int_equal(sources_set(&settings, "keep-query", NULL, &why), 0);
	assert_int_equal(sources_value(&settings, "keep-query"), 1);
}

static void take_option(void *context, const struct source_option *option)
{
	unsigned int *count = context;

	/* 1 where it stands */
	if (!option->argument)
		assert_true(!option->usual && option->most == 1);
	assert_non_null(option->help);
	assert_true(option->least <= option->usual && option->usual <= option->most);
	++*count;
}

static void says_which_options_there_are(void **state)
{
	unsigned int count = 0;

	(void)state;
	sources_each_option(take_option, &count);
	assert_true(count >= 1);
}

static void shares_fill_the_ring_and_no_more(void **state)
{
	struct sources_settings settings = sources_settings_usual();
	struct sources sources = {0};
	struct source_host host = {0};
	uint32_t shares[CAPTURE_SOURCE_COUNT], ring;
	uint64_t sum = 0;

	(void)state;
	sources_turn_on(&settings, "on-cpu");
	assert_int_equal(sources_make(&sources, &host, &settings, NULL), 0);
	ring = sources_ring_bytes(&sources, 2);
	assert_false(sources_ring_shares(&sources, 2, shares));
	sources_free(&sources);

	sources_turn_on(&settings, "calls");
	assert_int_equal(sources_make(&sources, &host, &settings, NULL), 0);
	assert_true(sources_ring_bytes(&sources, 2) >= ring);
	ring = sources_ring_bytes(&sources, 2);
	assert_int_equal(ring & (ring - 1), 0);
	assert_true(sources_ring_shares(&sources, 2, shares));
	for (size_t i = 0; i < CAPTURE_SOURCE_COUNT; i++)
		sum += shares[i];
	assert_true(sum <= ring && sum > ring / 2);
	assert_true(shares[CAPTURE_SOURCE_ON_CPU] >= 2u << 20);
	assert_true(shares[CAPTURE_SOURCE_CALLS] > shares[CAPTURE_SOURCE_ON_CPU]);
	sources_free(&sources);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_sources_by_their_events),
		cmocka_unit_test(takes_options_within_their_limits),
		cmocka_unit_test(says_which_options_there_are),
		cmocka_unit_test(shares_fill_the_ring_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
