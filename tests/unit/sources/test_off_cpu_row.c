// SPDX-License-Identifier: Apache-2.0
/* What is taken as a wait of the kernel's side. */
#include "../prelude.h"

#include "sources/sched/off_cpu_row.h"

struct told {
	struct capture_record record;
	uint64_t frames[3];
	struct off_cpu_wait wait;
};

static struct told told_of(uint64_t out, uint64_t woken, uint64_t in, uint8_t tells)
{
	return (struct told){
		.record = {.head.size = sizeof(struct told), .user_frames = 2, .kernel_frames = 1},
		.wait = {.out = out, .woken = woken, .in = in, .reports = tells},
	};
}

static void test_a_wait(void **state)
{
	struct told told = told_of(10, 20, 20, OFF_CPU_REPORTS_WAIT | OFF_CPU_REPORTS_READY);

	(void)state;
	assert_ptr_equal(off_cpu_wait_of(&told.record), &told.wait);
	told = told_of(0, 0, 0, 0);
	assert_ptr_equal(off_cpu_wait_of(&told.record), &told.wait);
	told.record.head.size--;
	assert_null(off_cpu_wait_of(&told.record));
	told.record.head.size++;
	told.record.kernel_frames++;
	assert_null(off_cpu_wait_of(&told.record));
}

/* Its length would be all of 64 bits, and it has a row for each second. */
static void test_times_out_of_order(void **state)
{
	struct told told = told_of(21, 21, 20, OFF_CPU_REPORTS_READY);

	(void)state;
	assert_null(off_cpu_wait_of(&told.record));
	told = told_of(21, 20, 22, OFF_CPU_REPORTS_WAIT);
	assert_null(off_cpu_wait_of(&told.record));
	/* what is not told is not looked at */
	told = told_of(21, 21, 20, OFF_CPU_REPORTS_WAIT);
	assert_non_null(off_cpu_wait_of(&told.record));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_wait),
		cmocka_unit_test(test_times_out_of_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
