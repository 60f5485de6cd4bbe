// SPDX-License-Identifier: Apache-2.0
/* The table of libstackcam-memory.so: what was added is there until it is removed. */
#include "../prelude.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../../inject/memory.h"

/* Addresses as malloc() has them. */
static uint64_t address_of(uint64_t number)
{
	return 0x7f0000000000 + number * 48;
}

/* What free() asks (look_up of memory_x86_64.S): what is in the table has a bit, and few others. */
static bool has_bit(uint64_t address)
{
	const struct memory_table *table = __atomic_load_n(&memory_table, __ATOMIC_ACQUIRE);
	const uint64_t *words = (const uint64_t *)table->filter;
	uint64_t hash = address * MEMORY_HASH;

	return __atomic_load_n(&words[hash >> 37 & table->words_mask], __ATOMIC_ACQUIRE) >>
		       (hash >> 32 & 63) &
	       1;
}

static uint64_t bits_of_filter(void)
{
	uint64_t bits = 0;

	for (uint64_t i = 0; i <= memory_table->mask; i++)
		bits += (uint64_t)__builtin_popcountll(memory_table->filter[i].bits);
	return bits;
}

static void what_was_added_is_there(void **state)
{
	enum {
		COUNT = 100000
	};
	uint64_t others = 0;

	(void)state;
	assert_false(memory_table_remove(0));
	assert_false(memory_table_remove(1));
	/* it grows several times */
	for (uint64_t i = 0; i < COUNT; i++)
		assert_true(memory_table_add(address_of(i)));
	for (uint64_t i = 0; i < COUNT; i++)
		assert_true(has_bit(address_of(i)));
	for (uint64_t i = COUNT; i < 2 * COUNT; i++) {
		others += has_bit(address_of(i));
		assert_false(memory_table_remove(address_of(i)));
	}
	assert_in_range(others, 0, COUNT / 50);
	for (uint64_t i = 0; i < COUNT; i += 2)
		assert_true(memory_table_remove(address_of(i)));
	for (uint64_t i = 0; i < COUNT; i += 2)
		assert_false(memory_table_remove(address_of(i)));
	for (uint64_t i = 1; i < COUNT; i += 2)
		assert_true(has_bit(address_of(i)) && memory_table_remove(address_of(i)));
	assert_false(memory_table_remove(address_of(1)));
	assert_int_equal(bits_of_filter(), 0);
}

/* free() asks for the bit alone, so an address in the table has one, and what has left none. */
static void the_filter_has_a_bit_for_each(void **state)
{
	enum {
		COUNT = 3000
	};
	uint64_t bits;

	(void)state;
	for (uint64_t i = 0; i < COUNT; i++)
		assert_true(memory_table_add(address_of(i)));
	bits = bits_of_filter();
	assert_in_range(bits, COUNT * 9 / 10, COUNT);
	/* twice is once */
	assert_true(memory_table_add(address_of(0)));
	assert_int_equal(bits_of_filter(), bits);
	for (uint64_t i = 1; i < COUNT; i++)
		assert_true(memory_table_remove(address_of(i)));
	assert_int_equal(bits_of_filter(), 1);
	assert_true(has_bit(address_of(0)));
	assert_true(memory_table_remove(address_of(0)));
	assert_int_equal(bits_of_filter(), 0);
}

enum {
	THREADS = 4,
	EACH = 20000
};

/* One of several threads that change the table, with addresses of its own; how many: */
static uint64_t each;

/* What a thread has added is there, also while others change the table, and while it grows. */
static void *add_and_remove(void *own)
{
	uint64_t base = ((uint64_t)own + 1) << 24;

	for (uint64_t i = 0; i < each; i++) {
		if (!memory_table_add(address_of(base + i)))
			return (void *)1;
		if (!has_bit(address_of(base + i / 2)))
			return (void *)2;
		if (i % 3)
			continue;
		if (!memory_table_remove(address_of(base + i)))
			return (void *)3;
		if (!memory_table_add(address_of(base + i)))
			return (void *)4;
	}
	for (uint64_t i = 0; i < each; i++)
		if (!has_bit(address_of(base + i)) || !memory_table_remove(address_of(base + i)))
			return (void *)5;
	return NULL;
}

/* stops: signals that are sent to them, one after the other */
static void run_threads(uint64_t addresses, int stops)
{
	pthread_t threads[THREADS];

	each = addresses;
	for (uint64_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_and_remove, (void *)i), 0);
	for (int i = 0; i < stops; i++)
		pthread_kill(threads[i % THREADS], SIGUSR1);
	for (int i = 0; i < THREADS; i++) {
		void *failed;

		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_int_equal((uintptr_t)failed, 0);
	}
}

static void several_threads(void **state)
{
	(void)state;
	run_threads(EACH, 0);
}

static volatile bool is_over;

static void *keep_busy(void *unused)
{
	for (uint64_t i = 0; !is_over; i++) {
		memory_table_add(address_of(1u << 20 | i % 64));
		memory_table_remove(address_of(1u << 20 | i % 64));
	}
	return unused;
}

/* Another thread changes the table all the time. A child that is forked meanwhile goes on alone. */
static void children(void **state)
{
	pthread_t thread;
	int status;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, keep_busy, NULL), 0);
	for (uint64_t i = 0; i < 300; i++) {
		pid_t child = fork();

		if (!child)
			_exit(memory_table_add(address_of(2u << 20 | i)) ? 0 : 1);
		assert_true(child > 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
	is_over = true;
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static uint64_t *shared;

static void a_child_that_shares_the_memory(void **state)
{
	pid_t child;
	int status;

	(void)state;
	shared = calloc(1, sizeof(*shared));
	assert_non_null(shared);
	child = vfork();
	if (!child) {
		*shared = memory_table_add(address_of(3u << 20));
		_exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(*shared, 1);
	/* it is the parent's, too */
	assert_true(has_bit(address_of(3u << 20)));
	assert_true(memory_table_remove(address_of(3u << 20)));
	free(shared);
}

/* An empty one, as a program has it at first, or as a thread makes it that is about to copy. */
static struct memory_table *new_table(uint64_t buckets)
{
	size_t bytes = sizeof(struct memory_table) + buckets * sizeof(struct memory_bits);
	struct memory_table *table = aligned_alloc(64, (bytes + 63) & ~63ull);

	assert_non_null(table);
	memset(table, 0, bytes);
	table->words_mask = 2 * (buckets - 1);
	table->mask = buckets - 1;
	table->slots = aligned_alloc(64, buckets * 64);
	assert_non_null(table->slots);
	memset(table->slots, 0, buckets * 64);
	return table;
}

static void free_table(struct memory_table *table)
{
	free(table->slots);
	free(table);
}

/* The thread that has begun to copy goes on no more, as in a child that was forked meanwhile. */
static void a_thread_that_stops_in_the_midst_of_copying(void **state)
{
	enum {
		COUNT = 20000
	};

	struct memory_table *first = new_table(64), *larger = new_table(256);

	(void)state;
	memory_table = first;
	first->larger = (uintptr_t)larger;
	for (uint64_t i = 0; i < COUNT; i++)
		assert_true(memory_table_add(address_of(i)));
	for (uint64_t i = 0; i < COUNT; i++)
		assert_true(has_bit(address_of(i)) && memory_table_remove(address_of(i)));
	assert_int_equal(bits_of_filter(), 0);
	free_table(first);
	free_table(larger);
}

enum {
	ROUNDS = 100,
	A_ROUND = 1000,
	STOP_NS = 300000
};

static void stop_for_a_while(int signal)
{
	const struct timespec time = {.tv_nsec = STOP_NS};

	(void)signal;
	nanosleep(&time, NULL);
}

/* Where a thread stops in the midst of a change, it is as if it had no CPU. */
static void threads_that_stop(void **state)
{
	const struct sigaction action = {.sa_handler = stop_for_a_while, .sa_flags = SA_RESTART};

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	for (int round = 0; round < ROUNDS; round++) {
		struct memory_table *first = memory_table = new_table(64);

		run_threads(A_ROUND, 4 * THREADS);
		free_table(first);
	}
}

int main(void)
{
	/* several threads may leave an address behind, as memory_table.c says */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_filter_has_a_bit_for_each),
		cmocka_unit_test(what_was_added_is_there),
		cmocka_unit_test(several_threads),
		cmocka_unit_test(children),
		cmocka_unit_test(a_child_that_shares_the_memory),
		cmocka_unit_test(a_thread_that_stops_in_the_midst_of_copying),
		cmocka_unit_test(threads_that_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
