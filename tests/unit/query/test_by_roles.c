// SPDX-License-Identifier: Apache-2.0
/* A wait for a disk ends by an interrupt, a kernel thread, or a program that serves the file. */
#include "../prelude.h"

#include "film/film.h"
#include "query/explain/by_roles.h"

enum {
	WAITS = 1,
	KERNEL, /* a thread of the kernel that was recorded */
	DAEMON, /* a program's that was */
	UNSEEN, /* of which the film has no more than its name */
	THREADS
};

static uint32_t flags_of_wait(uint32_t waker, enum wait_class class, unsigned int context)
{
	struct film_thread threads[THREADS] = {
		[WAITS] = {.process = 1},
		[KERNEL] = {.process = 2},
		[DAEMON] = {.process = 3},
		[UNSEEN] = {.process = 4},
	};
	struct film film = {.threads = threads, .thread_count = THREADS};
	struct slice slices[] = {
		{.thread = WAITS,
		 .end = 10,
		 .kind = SLICE_WAIT + class,
		 .waker = waker,
		 .context = context},
		{.thread = KERNEL,
		 .end = 10,
		 .kind = SLICE_WAIT + WAIT_OTHER,
		 .flags = FILM_WAIT_KERNEL},
		{.thread = DAEMON, .end = 5, .kind = SLICE_ON_CPU},
		{.thread = DAEMON, .start = 5, .end = 10, .kind = SLICE_WAIT + WAIT_POLL},
	};
	size_t first[THREADS + 1] = {0, 0, 1, 2, 4, 4};
	struct histories histories = {.film = &film,
				      .slices = slices,
				      .first = first,
				      .count = sizeof(slices) / sizeof(slices[0])};
	const struct roles roles = {0};

	assert_int_equal(explain_by_roles(&histories, &roles), 0);
	return slices[0].flags & HISTORY_BY_PROCESS;
}

static void test_who_ends_it(void **state)
{
	(void)state;
	assert_true(flags_of_wait(DAEMON, WAIT_DISK, FILM_WAIT_BY_THREAD));
	assert_true(flags_of_wait(DAEMON, WAIT_FAULT, FILM_WAIT_BY_THREAD));
	assert_false(flags_of_wait(DAEMON, WAIT_LOCK, FILM_WAIT_BY_THREAD));
	assert_false(flags_of_wait(DAEMON, WAIT_DISK, FILM_WAIT_BY_INTERRUPT));
	assert_false(flags_of_wait(KERNEL, WAIT_DISK, FILM_WAIT_BY_THREAD));
	/* it may be one of the kernel's */
	assert_false(flags_of_wait(UNSEEN, WAIT_DISK, FILM_WAIT_BY_THREAD));
	assert_false(flags_of_wait(0, WAIT_DISK, FILM_WAIT_BY_THREAD));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_who_ends_it)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
