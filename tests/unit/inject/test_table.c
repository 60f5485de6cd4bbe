// SPDX-License-Identifier: Apache-2.0
/* The table of libstackcam-memory.so: what was added is there until it is removed. */
#include "../prelude.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
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

/*
 * The table grows meanwhile. What a thread has added is there, also while other threads change the
 * table and have no CPU in the middle of a change. Where there was no room, that is said.
 */
static void *add_and_remove(void *own)
{
	static bool is_there[THREADS][EACH];
	uint64_t thread = (uint64_t)own, base = (thread + 1) << 24;
	bool *mine = is_there[thread];

	for (uint64_t i = 0; i < EACH; i++) {
		mine[i] = memory_table_add(address_of(base + i));
		if (mine[i / 2] && !has_bit(address_of(base + i / 2)))
			return (void *)1;
		if (i % 3)
			continue;
		if (mine[i] && !memory_table_remove(address_of(base + i)))
			return (void *)2;
		mine[i] = memory_table_add(address_of(base + i));
	}
	for (uint64_t i = 0; i < EACH; i++)
		if (mine[i] && !memory_table_remove(address_of(base + i)))
			return (void *)3;
	return NULL;
}

static void several_threads(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	for (uint64_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_and_remove, (void *)i), 0);
	for (int i = 0; i < THREADS; i++) {
		void *failed;

		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_int_equal((uintptr_t)failed, 0);
	}
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

int main(void)
{
	/* several threads may leave an address behind, as memory_table.c says */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_filter_has_a_bit_for_each),
		cmocka_unit_test(what_was_added_is_there),
		cmocka_unit_test(several_threads),
		cmocka_unit_test(children),
		cmocka_unit_test(a_child_that_shares_the_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
