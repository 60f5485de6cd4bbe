// SPDX-License-Identifier: Apache-2.0
/* Which process holds the lock of a file that another one waits for, by /proc/locks. */
#include "../prelude.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "sources/sched/file_lock.h"

static pid_t holder(const char *text, pid_t waiter, unsigned long long inode)
{
	char locks[1024];

	snprintf(locks, sizeof(locks), "%s", text);
	return file_lock_holder(locks, waiter, inode);
}

static void test_holders(void **state)
{
	static const char text[] = "1: FLOCK  ADVISORY  WRITE 10 fe:00:77 0 EOF\n"
				   "1: -> FLOCK  ADVISORY  WRITE 11 fe:00:77 0 EOF\n"
				   "1:  -> FLOCK  ADVISORY  WRITE 12 fe:00:77 0 EOF\n"
				   "2: POSIX  ADVISORY  READ 20 fe:00:78 0 99\n"
				   "3: OFDLCK ADVISORY  WRITE -1 fe:00:79 0 EOF\n"
				   "3: -> OFDLCK ADVISORY  WRITE 31 fe:00:79 0 EOF\n"
				   "4: POSIX  ADVISORY  WRITE 40 fe:00:80 0 0\n"
				   "4: -> POSIX  ADVISORY  WRITE 41 fe:00:80 0 0\n"
				   "5: POSIX  ADVISORY  WRITE 42 fe:00:80 1 1\n"
				   "5: -> POSIX  ADVISORY  WRITE 41 fe:00:80 1 1\n";

	(void)state;
	assert_int_equal(holder(text, 11, 77), 10);
	/* behind another one that waits, the same holds the lock */
	assert_int_equal(holder(text, 12, 77), 10);
	assert_int_equal(holder(text, 12, 78), 0);
	assert_int_equal(holder(text, 20, 78), 0);
	/* of an open file no process is named */
	assert_int_equal(holder(text, 31, 79), 0);
	/* two of its threads wait for two others: which is which, is not known */
	assert_int_equal(holder(text, 41, 80), 0);
	assert_int_equal(holder("", 11, 77), 0);
	assert_int_equal(holder("x: -> FLOCK\n1: ->\n1:\n\n", 11, 77), 0);
}

static bool is_lock(int64_t call, uint64_t command, uint32_t state, struct lock_evidence *evidence)
{
	const struct off_cpu_wait wait = {.call = call, .state = state, .arguments = {3, command}};

	return file_lock_look(1, &wait, false, evidence);
}

static void test_calls(void **state)
{
	struct lock_evidence evidence;

	(void)state;
	assert_true(is_lock(SYS_flock, 2, OFF_CPU_STATE_SLEEPS, &evidence));
	assert_int_equal(evidence.of_file, LOCK_OF_FILE);
	assert_true(is_lock(SYS_fcntl, F_SETLKW, OFF_CPU_STATE_SLEEPS, &evidence));
	assert_int_equal(evidence.of_file, LOCK_OF_RECORDS);
	assert_true(is_lock(SYS_fcntl, F_OFD_SETLKW, OFF_CPU_STATE_SLEEPS, &evidence));
	assert_int_equal(evidence.of_file, LOCK_OF_OPEN_FILE);
	assert_false(is_lock(SYS_fcntl, F_GETFL, OFF_CPU_STATE_SLEEPS, &evidence));
	assert_false(is_lock(SYS_flock, 2, OFF_CPU_STATE_BLOCKED, &evidence));
	assert_false(is_lock(SYS_read, F_SETLKW, OFF_CPU_STATE_SLEEPS, &evidence));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_holders),
		cmocka_unit_test(test_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
