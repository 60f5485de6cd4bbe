// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/radix.h"

struct item {
	uint32_t number; /* in the order before */
	uint64_t key;
	uint32_t more;
};

static int compare(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void check(struct item *items, size_t count)
{
	struct item *other = calloc(count + 1, sizeof(*other));

	assert_non_null(other);
	for (size_t i = 0; i < count; i++)
		other[i] = items[i];
	qsort(other, count, sizeof(*other), compare);
	assert_true(radix_sort(items, count, sizeof(*items), offsetof(struct item, key)));
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(items[i].key, other[i].key);
		assert_int_equal(items[i].number, other[i].number);
		assert_int_equal(items[i].more, ~items[i].number);
	}
	free(other);
}

static void test_as_qsort(void **state)
{
	static const uint64_t masks[] = {0,	     3,		 0xffff,	 0xffffff,
					 UINT32_MAX, UINT64_MAX, 0xff00ull << 48};
	enum {
		COUNT = 3000
	};
	struct item *items = calloc(COUNT, sizeof(*items));
	uint64_t seed = 1;

	(void)state;
	assert_non_null(items);
	for (size_t m = 0; m < sizeof(masks) / sizeof(masks[0]); m++)
		for (size_t count = 0; count <= COUNT; count = count * 3 + 1) {
			for (uint32_t i = 0; i < count; i++) {
				seed = seed * 6364136223846793005u + 1442695040888963407u;
				items[i] = (struct item){i, (seed ^ seed >> 29) & masks[m], ~i};
			}
			check(items, count);
			check(items, 0);
		}
	free(items);
}

static void test_in_order(void **state)
{
	struct item items[] = {{0, 1, ~0u}, {1, 1, ~1u}, {2, UINT64_MAX, ~2u}};

	(void)state;
	check(items, 3);
	assert_true(radix_sort(NULL, 0, sizeof(*items), 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_qsort),
		cmocka_unit_test(test_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
