// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "process/executing.h"

#define PLACES	  64
#define CODE_PAGE 4096

static atomic_bool over;

/* The whole code lies in one page. */
__attribute__((noinline, aligned(CODE_PAGE))) static void *spin(void *unused)
{
	while (!over)
		;
	return unused;
}

static void use_cpu(double seconds)
{
	struct timespec used;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	while ((double)used.tv_sec + (double)used.tv_nsec / 1e9 < seconds);
}

static void where_threads_are_is_told(void **state)
{
	struct executed places[PLACES];
	struct executing *executing;
	pid_t self = getpid();
	pthread_t thread;
	bool found = false;
	size_t count, i;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, spin, NULL), 0);
	executing = executing_begin(&self, 1);
	assert_non_null(executing);
	use_cpu(0.3);
	count = executing_end(executing, places, PLACES);
	over = true;
	pthread_join(thread, NULL);
	if (!count)
		skip(); /* perf events are not permitted */
	for (i = 0; i < count; i++) {
		assert_int_equal(places[i].pid, self);
		assert_true(!i || places[i].count <= places[i - 1].count);
		found |= places[i].address / CODE_PAGE == (uintptr_t)spin / CODE_PAGE;
	}
	assert_true(found);
}

static void no_more_than_wanted(void **state)
{
	struct executed places[1];
	pid_t self = getpid();
	struct executing *executing = executing_begin(&self, 1);

	(void)state;
	use_cpu(0.5);
	assert_true(executing_end(executing, places, 1) <= 1);
	assert_int_equal(executing_end(NULL, places, 1), 0);
}

static void processes_that_are_gone(void **state)
{
	struct executed places[PLACES];
	pid_t none = INT32_MAX;

	(void)state;
	assert_int_equal(executing_end(executing_begin(&none, 1), places, PLACES), 0);
	assert_int_equal(executing_end(executing_begin(&none, 0), places, PLACES), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_threads_are_is_told),
		cmocka_unit_test(no_more_than_wanted),
		cmocka_unit_test(processes_that_are_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
