// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <signal.h>
#include <unistd.h>

#include "base/team.h"
#include "base/thread.h"

enum {
	PARTS_MAX = 16,
	JOBS = 2000
};

struct job {
	int calls[PARTS_MAX];
	int before; /* by the caller, in each job */
	int wrong;
};

static void count(void *context, unsigned int number)
{
	struct job *job = context;

	job->calls[number] += job->before;
}

static void test_each_part_once(void **state)
{
	(void)state;
	for (unsigned int parts = 1; parts <= PARTS_MAX; parts++) {
		struct team *team = team_new(parts);
		struct job job = {0};

		assert_non_null(team);
		for (job.before = 1; job.before <= JOBS; job.before++) {
			team_do(team, count, &job);
			for (unsigned int i = 0; i < PARTS_MAX; i++) {
				job.wrong += job.calls[i] != (i < parts ? job.before : 0);
				job.calls[i] = 0;
			}
		}
		assert_int_equal(job.wrong, 0);
		team_free(team);
	}
}

static void test_size(void **state)
{
	(void)state;
	assert_int_equal(team_size(1), 1);
	for (unsigned int most = 1; most < 100; most++) {
		assert_in_range(team_size(most), 1, most);
		assert_in_range(team_size(most), 1, sysconf(_SC_NPROCESSORS_ONLN));
	}
}

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_part_once),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_signals_are_the_callers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
