// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <stdlib.h>

#include "base/heap.h"

#define ALL 1000

static int least_first(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* For any number that is kept, they are the least of all, each as often as it came. */
static void test_keeps_the_first(void **state)
{
	int all[ALL], sorted[ALL];

	(void)state;
	for (size_t i = 0; i < ALL; i++)
		sorted[i] = all[i] = (int)(i * 7919 % 331);
	qsort(sorted, ALL, sizeof(sorted[0]), least_first);
	for (size_t room = 1; room <= 70; room++) {
		int kept[70];

		for (size_t i = 0; i < ALL; i++) {
			if (i < room)
				kept[i] = all[i];
			if (i + 1 == room)
				heap_make(kept, room, sizeof(kept[0]), least_first);
			if (i < room || all[i] >= kept[0])
				continue;
			kept[0] = all[i];
			heap_sink(kept, room, sizeof(kept[0]), least_first);
		}
		qsort(kept, room, sizeof(kept[0]), least_first);
		assert_memory_equal(kept, sorted, room * sizeof(kept[0]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keeps_the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
