// SPDX-License-Identifier: Apache-2.0
/* Names of kernels by process: whose they are, how many there may be, and when they are gone. */
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>

#include "sources/gpu/names.h"

static void belong_to_their_process(void **state)
{
	struct gpu_names names = {0};

	(void)state;
	assert_int_equal(gpu_names_add(&names, 7, 1, "axpy"), 0);
	/* the first one stays, and another process has its own */
	assert_int_equal(gpu_names_add(&names, 7, 1, "other"), 0);
	assert_int_equal(gpu_names_add(&names, 8, 1, "reduce"), 0);
	assert_string_equal(gpu_names_find(&names, 7, 1), "axpy");
	assert_string_equal(gpu_names_find(&names, 8, 1), "reduce");
	assert_null(gpu_names_find(&names, 8, 2));
	assert_null(gpu_names_find(&names, 9, 1));
	assert_int_equal(names.count, 2);
	gpu_names_forget(&names, 7);
	gpu_names_forget(&names, 7);
	assert_null(gpu_names_find(&names, 7, 1));
	assert_string_equal(gpu_names_find(&names, 8, 1), "reduce");
	assert_int_equal(names.count, 1);
	gpu_names_free(&names);
}

static void are_limited(void **state)
{
	struct gpu_names names = {0};
	char name[16];

	(void)state;
	for (uint32_t i = 0; i < GPU_NAMES_MAX; i++) {
		snprintf(name, sizeof(name), "kernel_%u", i);
		assert_int_equal(gpu_names_add(&names, i % 100, i, name), 0);
	}
	assert_int_equal(gpu_names_add(&names, 1000, 1, "more"), -E2BIG);
	/* a name that is known needs no room */
	assert_int_equal(gpu_names_add(&names, 1, 1, "kernel_1"), 0);
	/* a process that is gone makes some */
	gpu_names_forget(&names, 50);
	assert_int_equal(gpu_names_add(&names, 1000, 1, "more"), 0);
	assert_string_equal(gpu_names_find(&names, 1000, 1), "more");
	assert_string_equal(gpu_names_find(&names, 99, 199), "kernel_199");
	gpu_names_free(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(belong_to_their_process),
		cmocka_unit_test(are_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
