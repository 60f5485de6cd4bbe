// SPDX-License-Identifier: Apache-2.0
/*
 * The library in a process that runs already (inject/gpu_late.c, gpu_x86_64.S): calls through words
 * that lead to its stubs have all their arguments, exactly one begins the recording, and words are
 * as before then.
 */
#include "../prelude.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* it declares functions of the C library as the library of a target does */
#define nanosleep	library_nanosleep
#define pthread_sigmask library_sigmask
#include "../../../inject/gpu.h"
#undef nanosleep
#undef pthread_sigmask
#include "../../../inject/memory_places.h"

#define FUNCTIONS 3
#define THREADS	  8
#define CALLS	  1000

extern const int64_t stackcam_memory_entries[];

static uint64_t now_ns = 100;
static uint64_t begun, ended, threads;
static bool can_begin = true;
static void *(*thread_run)(void *);

uint64_t gpu_now(void)
{
	return now_ns;
}

bool gpu_can_run(void)
{
	return true;
}

bool gpu_begin(void)
{
	__atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
	/* as dlopen() may: what a call has in these is not kept */
	__asm__ volatile("pxor %%xmm0, %%xmm0; pxor %%xmm1, %%xmm1; pxor %%xmm7, %%xmm7"
			 :
			 :
			 : "xmm0", "xmm1", "xmm7");
	return can_begin;
}

void gpu_end(void)
{
	ended++;
}

void gpu_flush(void)
{
}

bool gpu_start_thread(void *(*run)(void *))
{
	thread_run = run;
	threads++;
	return true;
}

/* -- a driver ---------------------------------------------------------------------------------- */

static uint64_t many(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,
		     uint64_t g, uint64_t h)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}

static double floats(double a, double b, double c, double d, double e, double f, double g, double h)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}

static int none(void)
{
	return 7;
}

static uint64_t words[FUNCTIONS];

static void set_words(void)
{
	words[0] = (uint64_t)(uintptr_t)many;
	words[1] = (uint64_t)(uintptr_t)floats;
	words[2] = (uint64_t)(uintptr_t)none;
}

static bool are_as_before(void)
{
	return words[0] == (uint64_t)(uintptr_t)many && words[1] == (uint64_t)(uintptr_t)floats &&
	       words[2] == (uint64_t)(uintptr_t)none;
}

static uint64_t word(int i)
{
	return __atomic_load_n(&words[i], __ATOMIC_RELAXED);
}

static void call_all(void)
{
	__typeof__(many) *first = (void *)(uintptr_t)word(0);
	__typeof__(floats) *second = (void *)(uintptr_t)word(1);
	__typeof__(none) *third = (void *)(uintptr_t)word(2);

	if (first(1, 2, 3, 4, 5, 6, 7, 8) != 204 || second(1, 2, 3, 4, 5, 6, 7, 8) != 204 ||
	    third() != 7)
		abort();
}

static uint64_t stub(uint64_t number)
{
	const char *table = (const char *)stackcam_memory_entries;

	return (uint64_t)(uintptr_t)(table + stackcam_memory_entries[GPU_ENTRY_STUBS]) +
	       number * GPU_STUB_BYTES;
}

static void arm(void)
{
	struct memory_slot slots[FUNCTIONS];

	for (int i = 0; i < FUNCTIONS; i++)
		slots[i] = (struct memory_slot){.address = (uint64_t)(uintptr_t)&words[i],
						.from = words[i],
						.to = stub((uint64_t)i),
						.protection = PROT_READ | PROT_WRITE};
	gpu_arm(slots, FUNCTIONS);
	for (int i = 0; i < FUNCTIONS; i++)
		assert_int_equal(word(i), stub((uint64_t)i));
}

static int set_up(void **state)
{
	(void)state;
	set_words();
	gpu_injection = (struct gpu_injection){.until = 1000};
	begun = ended = threads = 0;
	can_begin = true;
	return 0;
}

/* -- tests ------------------------------------------------------------------------------------- */

static void test_each_function_may_be_first(void **state)
{
	(void)state;
	for (int i = 0; i < FUNCTIONS; i++) {
		set_up(NULL);
		arm();
		if (i == 0)
			assert_int_equal(
				((__typeof__(many) *)(uintptr_t)word(0))(1, 2, 3, 4, 5, 6, 7, 8),
				204);
		else if (i == 1)
			assert_true(((__typeof__(floats) *)(uintptr_t)word(1))(1, 2, 3, 4, 5, 6, 7,
									       8) == 204);
		else
			assert_int_equal(((__typeof__(none) *)(uintptr_t)word(2))(), 7);
		assert_true(are_as_before());
		assert_int_equal(begun, 1);
		assert_int_equal(threads, 1);
		assert_int_equal(gpu_injection.phase, GPU_RUNNING);
		call_all();
		assert_int_equal(begun, 1);
	}
}

static pthread_barrier_t barrier;

static void *call_at_once(void *unused)
{
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < CALLS; i++)
		call_all();
	return unused;
}

static void test_one_of_many_threads_begins(void **state)
{
	pthread_t all[THREADS];

	(void)state;
	arm();
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&all[i], NULL, call_at_once, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(all[i], NULL);
	pthread_barrier_destroy(&barrier);
	assert_int_equal(begun, 1);
	assert_true(are_as_before());
}

static void test_it_ends_and_begins_again(void **state)
{
	(void)state;
	for (uint64_t i = 1; i < 4; i++) {
		arm();
		call_all();
		assert_int_equal(begun, i);
		gpu_injection.is_stopped = 1;
		thread_run(NULL);
		assert_int_equal(ended, i);
		assert_int_equal(gpu_injection.phase, GPU_IDLE);
	}
}

static void test_a_recorder_that_is_gone(void **state)
{
	(void)state;
	/* before the first call, */
	arm();
	gpu_injection.until = now_ns - 1;
	call_all();
	assert_true(are_as_before());
	assert_int_equal(begun, 0);
	assert_int_equal(gpu_injection.phase, GPU_IDLE);
	/* and behind it */
	gpu_injection.until = 1000;
	arm();
	call_all();
	assert_int_equal(begun, 1);
	gpu_injection.until = now_ns - 1;
	thread_run(NULL);
	assert_int_equal(ended, 1);
}

static void test_no_call(void **state)
{
	(void)state;
	arm();
	gpu_disarm();
	assert_true(are_as_before());
	assert_int_equal(gpu_injection.phase, GPU_IDLE);
	call_all();
	gpu_disarm();
	assert_int_equal(begun, 0);
}

/* What another tool has put there meanwhile is its own. */
static void test_words_of_others(void **state)
{
	const uint64_t other = (uint64_t)(uintptr_t)call_all;

	(void)state;
	arm();
	words[2] = other;
	gpu_disarm();
	assert_int_equal(words[2], other);
	words[2] = (uint64_t)(uintptr_t)none;
	assert_true(are_as_before());
}

static void test_refused(void **state)
{
	(void)state;
	can_begin = false;
	arm();
	call_all();
	call_all();
	assert_int_equal(begun, 1);
	assert_int_equal(threads, 0);
	assert_int_equal(gpu_injection.phase, GPU_REFUSED);
	assert_true(are_as_before());
}

static void test_a_child_does_not_begin(void **state)
{
	int status = 1;
	pid_t child;

	(void)state;
	arm();
	child = fork();
	if (!child) {
		call_all();
		_exit(begun || !are_as_before());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(gpu_injection.phase, GPU_ARMED);
	call_all();
	assert_int_equal(begun, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_each_function_may_be_first, set_up),
		cmocka_unit_test_setup(test_one_of_many_threads_begins, set_up),
		cmocka_unit_test_setup(test_it_ends_and_begins_again, set_up),
		cmocka_unit_test_setup(test_a_recorder_that_is_gone, set_up),
		cmocka_unit_test_setup(test_no_call, set_up),
		cmocka_unit_test_setup(test_words_of_others, set_up),
		cmocka_unit_test_setup(test_refused, set_up),
		cmocka_unit_test_setup(test_a_child_does_not_begin, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
