// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <signal.h>
#include <unistd.h>

#include "base/thread.h"

static void *signals_of(void *context)
{
	pthread_sigmask(SIG_BLOCK, NULL, context);
	return NULL;
}

static void test_signals_are_the_callers(void **state)
{
	sigset_t its, ours;
	pthread_t thread;

	(void)state;
	assert_int_equal(thread_spawn(&thread, signals_of, &its), 0);
	pthread_join(thread, NULL);
	pthread_sigmask(SIG_BLOCK, NULL, &ours);
	assert_true(sigismember(&its, SIGINT) && sigismember(&its, SIGTERM));
	assert_false(sigismember(&ours, SIGINT));
}

static void test_cpus(void **state)
{
	(void)state;
	assert_int_equal(cpus_usable(1), 1);
	for (unsigned int most = 1; most < 100; most++) {
		assert_in_range(cpus_usable(most), 1, most);
		assert_in_range(cpus_usable(most), 1, sysconf(_SC_NPROCESSORS_ONLN));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signals_are_the_callers),
		cmocka_unit_test(test_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
