// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* before cmocka.h, which has a macro fail() */
#include "film_build.h"
#include "film/wait_rules.h"
#include "query/idle_stacks.h"

#include <cmocka.h>

#define GET_TASK  "java!java.util.concurrent.ThreadPoolExecutor.getTask"
#define CONDITION "java!java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await"
#define WORKER	  "py!_worker@/usr/lib/python3.11/concurrent/futures/thread.py:81"

/* As they stand in films of programs that wait; below all of them a function of the system. */
static const struct {
	const char *stack;
	unsigned int has; /* of enum wait_frames */
} stacks[] = {
	{"main", 0},
	{GET_TASK ";java!java.util.concurrent.LinkedBlockingQueue.take;" CONDITION,
	 WAIT_HAS_NO_WORK},
	{GET_TASK ";java!java.util.concurrent.SynchronousQueue.poll;"
		  "java!java.util.concurrent.SynchronousQueue$TransferStack.transfer;Unsafe_Park",
	 WAIT_HAS_NO_WORK},
	/* the queue's own lock is another thread's */
	{GET_TASK ";java!java.util.concurrent.LinkedBlockingQueue.take;"
		  "java!java.util.concurrent.locks.ReentrantLock.lockInterruptibly",
	 0},
	/* compiled, with what was inlined */
	{"java!java.util.concurrent.ThreadPoolExecutor.runWorker;" GET_TASK
	 ">java.util.concurrent.LinkedBlockingQueue.take;" CONDITION,
	 WAIT_HAS_NO_WORK},
	/* work that waits for a condition */
	{"java!java.util.concurrent.ThreadPoolExecutor.runWorker;java!App.run;" CONDITION, 0},
	{"java!java.util.TimerThread.mainLoop;java!java.lang.Object.wait", WAIT_HAS_NO_WORK},
	{"java!java.util.TimerThread.mainLoop;java!App.run;java!java.lang.Object.wait", 0},
	{"java!java.util.concurrent.ForkJoinPool.awaitWork;Parker::park(bool, long)",
	 WAIT_HAS_NO_WORK},
	{"WorkerThread::run();PosixSemaphore::wait()", WAIT_HAS_NO_WORK},
	{"WorkerThread::run();G1ParTask::work(unsigned int);Monitor::wait(unsigned long)", 0},
	{"VMThread::wait_for_operation();Monitor::wait_without_safepoint_check(long);park",
	 WAIT_HAS_NO_WORK},
	/* a function of Java is not one of HotSpot */
	{"java!WorkerThread::run;PosixSemaphore::wait()", 0},
	{"py!run;" WORKER, WAIT_HAS_NO_WORK_UNTIMED},
	{WORKER ";py!handle", 0},
	{WORKER ";py!handle;take_gil", 0},
	{"py!_worker@/srv/app.py:81", 0},
};

static unsigned int what_has(const struct film *film, const uint8_t *frames, const char *leaf)
{
	for (uint32_t i = 1; i < film->stack_count; i++) {
		const struct film_frame *frame = &film->frames[film->stacks[i].frame];

		if (!strcmp(film->functions[frame->function].name, leaf))
			return frames[i];
	}
	fail_msg("no stack ends with %s", leaf);
	return 0;
}

/* What each stack has, by the roles of the film; to be freed. */
static uint8_t *find(const struct film *film)
{
	uint8_t *has = calloc(film->stack_count + 1ull, 1);
	uint32_t *roles;

	assert_non_null(has);
	assert_int_equal(roles_of_frames(film, IDLE_STACKS_ROLES, &roles), 0);
	assert_int_equal(idle_stacks_find(film, roles, has), 0);
	free(roles);
	return has;
}

/* The film has no roles, as those of earlier versions. */
static void finds_stacks_of_threads_without_work(void **state)
{
	char text[512], leaf[16];
	struct film_build b;
	struct film *film;
	uint32_t thread;
	uint8_t *frames;

	(void)state;
	film_build_begin(&b, "on-cpu", "ns");
	thread = film_build_thread(&b, 10, "server", 10, "server");
	for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
		snprintf(text, sizeof(text), "start;%s;leaf%zu", stacks[i].stack, i);
		film_build_sample(&b, i, thread, text, 1);
	}
	film = film_build_open(&b);
	frames = find(film);
	for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
		snprintf(leaf, sizeof(leaf), "leaf%zu", i);
		if (what_has(film, frames, leaf) != stacks[i].has)
			fail_msg("%s: %u", stacks[i].stack, what_has(film, frames, leaf));
	}
	free(frames);
	film_free(film);
}

/* What the film says of a role holds; of roles that it does not have, what earlier ones meant. */
static void finds_by_the_roles_of_the_film(void **state)
{
	struct film_build b;
	struct film *film;
	uint32_t thread;
	uint8_t *frames;

	(void)state;
	film_build_begin(&b, "on-cpu", "ns");
	thread = film_build_thread(&b, 10, "server", 10, "server");
	film_build_sample(&b, 0, thread, "start;pool_next;pool_await;leaf0", 1);
	film_build_sample(&b, 1, thread, "start;java!pool_next;pool_await;leaf1", 1);
	film_build_sample(&b, 2, thread, "start;pool_next;Monitor::wait(long);leaf2", 1);
	film_build_sample(&b, 3, thread, "start;WorkerThread::run();pool_await;leaf3", 1);
	film_build_sample(&b, 4, thread, "start;py!_worker@/lib/pool.py:8;leaf4", 1);
	film_build_sample(&b, 5, thread, "start;py!_worker@/lib/other.py:8;leaf5", 1);
	film = film_build_open(&b);
	film->info.roles = "takes-work 1 pool_next\nwhat-is-new 1 *\nawaits * pool_await\n"
			   "bare-work-loop 5 _worker\t*/pool.py";
	frames = find(film);
	assert_int_equal(what_has(film, frames, "leaf0"), WAIT_HAS_NO_WORK);
	assert_int_equal(what_has(film, frames, "leaf1"), 0);
	assert_int_equal(what_has(film, frames, "leaf2"), 0);
	assert_int_equal(what_has(film, frames, "leaf3"), WAIT_HAS_NO_WORK);
	assert_int_equal(what_has(film, frames, "leaf4"), WAIT_HAS_NO_WORK_UNTIMED);
	assert_int_equal(what_has(film, frames, "leaf5"), 0);
	free(frames);
	film->info.roles = "takes-work 1 pool_next\n";
	frames = find(film);
	assert_int_equal(what_has(film, frames, "leaf0"), 0);
	assert_int_equal(what_has(film, frames, "leaf2"), WAIT_HAS_NO_WORK);
	free(frames);
	film_free(film);
}

/* A film that was made so that names and patterns take long to compare: some match nothing. */
static void stops_comparing(void **state)
{
	static char name[60000], roles[400 * 136];
	struct film_build b;
	struct film *film;
	uint32_t thread;
	uint8_t *frames;
	size_t at = 0;

	(void)state;
	film_build_begin(&b, "on-cpu", "ns");
	thread = film_build_thread(&b, 10, "server", 10, "server");
	for (size_t i = 0; i < 100; i++) {
		memset(name, 'a', sizeof(name) - 1);
		snprintf(name + sizeof(name) - 8, 8, "%zu", i);
		film_build_raw_frame(&b, name);
	}
	film_build_sample(&b, 0, thread, "start;pool_next;pool_await;leaf0", 1);
	film = film_build_open(&b);
	for (size_t i = 0; i < 400; i++)
		at += (size_t)snprintf(roles + at, sizeof(roles) - at, "awaits * *%0*db\n", 120, 0);
	for (size_t i = 0; i < at; i++)
		if (roles[i] == '0')
			roles[i] = 'a';
	snprintf(roles + at, sizeof(roles) - at, "takes-work 1 pool_next\nawaits 1 pool_aw*\n");
	film->info.roles = roles;
	frames = find(film);
	assert_int_equal(what_has(film, frames, "leaf0"), WAIT_HAS_NO_WORK);
	free(frames);
	film_free(film);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_stacks_of_threads_without_work),
		cmocka_unit_test(finds_by_the_roles_of_the_film),
		cmocka_unit_test(stops_comparing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
