// SPDX-License-Identifier: Apache-2.0
/* What is in use, and which part is written. */
#include "../prelude.h"

#include <stdlib.h>

#include "camera/mem_live.h"

static struct waiting_half half_of(uint32_t pid, uint64_t address, uint64_t bytes)
{
	return (struct waiting_half){.key = address,
				     .pid = pid,
				     .time = 5000000000,
				     .value = bytes,
				     .place = {.thread = 1, .stack = 2}};
}

static void what_is_removed_is_known_once(void **state)
{
	const struct waiting_half half = half_of(7, 0x1000, 100);
	struct mem_live *live;

	(void)state;
	assert_int_equal(mem_live_new(&live), 0);
	mem_live_add(live, &half);
	assert_false(mem_live_remove(live, 8, 0x1000));
	assert_false(mem_live_remove(live, 7, 0x1010));
	assert_true(mem_live_remove(live, 7, 0x1000));
	assert_false(mem_live_remove(live, 7, 0x1000));
	mem_live_free(live);
}

static void what_was_not_freed_is_back(void **state)
{
	const struct waiting_half half = half_of(7, 0x1000, 100);
	struct mem_live *live;

	(void)state;
	assert_int_equal(mem_live_new(&live), 0);
	assert_false(mem_live_keep(live, 7, 0x1000));
	mem_live_add(live, &half);
	assert_true(mem_live_remove(live, 7, 0x1000));
	assert_false(mem_live_keep(live, 8, 0x1000));
	assert_true(mem_live_keep(live, 7, 0x1000));
	assert_false(mem_live_keep(live, 7, 0x1000));
	assert_true(mem_live_remove(live, 7, 0x1000));
	/* many others were removed since */
	for (uint64_t i = 0; i < 1000; i++) {
		const struct waiting_half other = half_of(9, 0x2000 + i * 16, 1);

		mem_live_add(live, &other);
		assert_true(mem_live_remove(live, 9, 0x2000 + i * 16));
	}
	assert_false(mem_live_keep(live, 7, 0x1000));
	mem_live_free(live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_removed_is_known_once),
		cmocka_unit_test(what_was_not_freed_is_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
