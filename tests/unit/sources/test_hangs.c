// SPDX-License-Identifier: Apache-2.0
/* Which waits should not take long. */
#include "../prelude.h"

#include "sources/sched/hangs.h"

/* asm/unistd_64.h, and 1 */
enum {
	READ = 1,
	FUTEX = 203,
	VFORK = 59,
	FSYNC = 75,
};

static const char *hang(char state, uint16_t call, uint64_t operation, uint64_t value,
			uint32_t flags)
{
	const struct film_wait wait = {
		.state = (uint8_t)state,
		.call = call,
		.arguments = {0x1000, operation, value},
		.flags = flags,
	};

	return hang_of(&wait, "x86_64");
}

static void test_locks(void **state)
{
	(void)state;
	/* a mutex; private, robust, with priority inheritance */
	assert_string_equal(hang('S', FUTEX, 0, 2, 0), "a lock");
	assert_string_equal(hang('S', FUTEX, 128, 2, 0), "a lock");
	assert_string_equal(hang('S', FUTEX, 0, 0x80000123, 0), "a lock");
	assert_string_equal(hang('S', FUTEX, 128 + 6, 0, 0), "a lock");
	assert_string_equal(hang('S', FUTEX, 13, 0, 0), "a lock");
	/* a thread that is joined, a barrier, a condition, a semaphore: for work, maybe */
	assert_null(hang('S', FUTEX, 0, 4711, 0));
	assert_null(hang('S', FUTEX, 128 + 9, 2, 0));
	assert_null(hang('S', FUTEX, 256 + 128 + 9, 0, 0));
}

static void test_others(void **state)
{
	(void)state;
	assert_null(hang('S', READ, 0, 2, 0));
	assert_null(hang('R', FUTEX, 0, 2, 0));
	assert_string_equal(hang('D', FSYNC, 0, 0, FILM_WAIT_IOWAIT), "a disk");
	assert_string_equal(hang('D', FSYNC, 0, 0, 0), "the kernel (state D)");
	assert_null(hang('D', VFORK, 0, 0, 0));
	/* threads of the kernel sleep as they want */
	assert_null(hang('D', 0, 0, 0, FILM_WAIT_KERNEL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_locks),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
