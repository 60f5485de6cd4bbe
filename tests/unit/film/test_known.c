// SPDX-License-Identifier: Apache-2.0
/* What a writer remembers: what is in use, and no more than that of the rest. */
#include "../prelude.h"

#include <stdio.h>

#include "film/known.h"

#define LIMIT 100

static struct known_key number(uint64_t n)
{
	return (struct known_key){.a = n, .b = n % 3};
}

static void add(struct known *k, uint64_t n)
{
	struct known_key key = number(n);

	assert_int_equal(known_find(k, &key), 0);
	assert_true(known_add(k, &key, (uint32_t)n));
}

static uint32_t find(struct known *k, uint64_t n)
{
	struct known_key key = number(n);

	return known_find(k, &key);
}

static void test_without_a_limit_all_is_known(void **state)
{
	struct known k = {0};

	(void)state;
	for (uint64_t n = 1; n <= 100 * LIMIT; n++)
		add(&k, n);
	for (uint64_t n = 1; n <= 100 * LIMIT; n++)
		assert_int_equal(find(&k, n), n);
	known_clear(&k);
	assert_int_equal(find(&k, 1), 0);
}

static void test_at_least_the_limit_is_known(void **state)
{
	(void)state;
	for (uint64_t count = LIMIT; count <= 4 * LIMIT; count++) {
		struct known k = {.limit = LIMIT};

		for (uint64_t n = 1; n <= count; n++)
			add(&k, n);
		for (uint64_t n = count - LIMIT + 1; n <= count; n++)
			assert_int_equal(find(&k, n), n);
		known_clear(&k);
	}
}

static void test_what_is_in_use_stays(void **state)
{
	struct known k = {.limit = LIMIT};

	(void)state;
	add(&k, 1);
	add(&k, 2);
	for (uint64_t n = 3; n <= 100 * LIMIT; n++) {
		add(&k, n);
		if (n % (LIMIT / 2) == 0)
			assert_int_equal(find(&k, 1), 1);
	}
	/* the other one was not used */
	assert_int_equal(find(&k, 2), 0);
	known_clear(&k);
}

/* However much comes, not more than twice the limit is kept. */
static void test_the_rest_is_forgotten(void **state)
{
	struct known k = {.limit = LIMIT};
	uint64_t found = 0;

	(void)state;
	for (uint64_t n = 1; n <= 1000 * LIMIT; n++)
		add(&k, n);
	assert_in_range(k.young.things.room, LIMIT, 2 * LIMIT);
	assert_in_range(k.old.things.room, LIMIT, 2 * LIMIT);
	assert_in_range(k.young.index.room, LIMIT, 4 * LIMIT);
	for (uint64_t n = 1; n <= 1000 * LIMIT; n++)
		found += find(&k, n) != 0;
	assert_in_range(found, LIMIT, 2 * LIMIT);
	known_clear(&k);
}

static void test_texts(void **state)
{
	struct known k = {.limit = LIMIT};
	char text[16];

	(void)state;
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t n = 1; n <= LIMIT; n++) {
			struct known_key key = {n % 2, 0, text}, other = {n % 2 + 2, 0, text};

			snprintf(text, sizeof(text), "text %u", n);
			if (!round)
				assert_true(known_add(&k, &key, n));
			assert_int_equal(known_find(&k, &key), n);
			assert_int_equal(known_find(&k, &other), 0);
		}
	}
	known_clear(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_a_limit_all_is_known),
		cmocka_unit_test(test_at_least_the_limit_is_known),
		cmocka_unit_test(test_what_is_in_use_stays),
		cmocka_unit_test(test_the_rest_is_forgotten),
		cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
