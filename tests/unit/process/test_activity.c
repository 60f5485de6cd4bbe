// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "process/activity.h"

#define PIDS_MAX 4096

static void spin(double seconds)
{
	struct timespec used;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	while ((double)used.tv_sec + (double)used.tv_nsec / 1e9 < seconds);
}

/* A process that uses so much CPU time and then waits to be killed; returns once it has. */
static pid_t child(double seconds)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		spin(seconds);
		_exit(write(ready[1], "", 1) == 1 ? pause() : 1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static bool has(const pid_t *pids, size_t count, pid_t pid)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

static void who_ran_is_told(void **state)
{
	pid_t *pids = calloc(PIDS_MAX, sizeof(*pids)), idle = child(0.05), fresh;
	struct activity *activity = activity_begin();
	size_t count;

	(void)state;
	assert_non_null(pids);
	assert_non_null(activity);
	fresh = child(0.05);
	/* beside what it has used so far */
	spin((double)clock() / CLOCKS_PER_SEC + 0.05);
	count = activity_end(activity, pids, PIDS_MAX);
	assert_true(has(pids, count, getpid()));
	assert_true(has(pids, count, fresh));
	assert_false(has(pids, count, idle));
	end(idle);
	end(fresh);
	free(pids);
}

static void no_more_than_is_wanted(void **state)
{
	struct activity *activity = activity_begin();
	pid_t pid = 0;

	(void)state;
	assert_non_null(activity);
	spin((double)clock() / CLOCKS_PER_SEC + 0.05);
	assert_int_equal(activity_end(activity, &pid, 1), 1);
	assert_true(pid > 0);
	assert_int_equal(activity_end(activity_begin(), NULL, 0), 0);
	assert_int_equal(activity_end(NULL, &pid, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_ran_is_told),
		cmocka_unit_test(no_more_than_is_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
