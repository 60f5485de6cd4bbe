// SPDX-License-Identifier: Apache-2.0
/* The logs of all CPUs are read as one, in order of time. */
#include "../prelude.h"

#include <string.h>
#include <sys/mman.h>

#include "sources/sched/threads_logs.h"

enum {
	CPUS = 3,
	WORDS = 64,
	LOG_BYTES = sizeof(struct threads_log) + WORDS * sizeof(uint64_t),
};

struct logs {
	uint8_t *area;
	struct threads_logs *logs;
};

static struct logs begin(void)
{
	struct logs l = {.area = mmap(NULL, (size_t)CPUS * LOG_BYTES, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};

	assert_ptr_not_equal(l.area, MAP_FAILED);
	assert_int_equal(threads_logs_in(l.area, (size_t)CPUS * LOG_BYTES, CPUS, &l.logs), 0);
	return l;
}

/* As a CPU does: a switch to a thread of the same number as its time. */
static void write_switch(struct logs *l, unsigned int cpu, uint32_t time)
{
	struct threads_log *log = (struct threads_log *)(l->area + (size_t)cpu * LOG_BYTES);
	const struct threads_switch record = {.time = time, .next = time};
	uint64_t words[THREADS_SWITCH_WORDS];

	assert_true(log->head + THREADS_SWITCH_WORDS - log->tail <= WORDS);
	memcpy(words, &record, sizeof(words));
	for (size_t i = 0; i < THREADS_SWITCH_WORDS; i++)
		((uint64_t *)(log + 1))[(log->head + i) % WORDS] = words[i];
	log->head += THREADS_SWITCH_WORDS;
}

static void expect(struct logs *l, uint64_t until, unsigned int cpu, uint64_t time)
{
	struct threads_event event = {0};

	assert_true(threads_logs_next(l->logs, until, &event));
	assert_int_equal(event.time, time);
	assert_int_equal(event.record.next, time);
	assert_int_equal(event.cpu, cpu);
}

static void expect_none(struct logs *l, uint64_t until)
{
	struct threads_event event;

	assert_false(threads_logs_next(l->logs, until, &event));
}

static void in_order_of_time(void **state)
{
	struct logs l = begin();

	(void)state;
	expect_none(&l, 5);
	for (uint32_t i = 0; i < 12; i++)
		write_switch(&l, i % CPUS, 10 + i);
	for (uint32_t i = 0; i < 12; i++)
		expect(&l, 100, i % CPUS, 10 + i);
	expect_none(&l, 100);
	assert_int_equal(threads_logs_lost(l.logs), 0);
	threads_logs_free(l.logs);
}

/* The log of a CPU was empty, and that of another one had a record that was too new to be taken. */
static void of_a_log_that_was_empty(void **state)
{
	struct logs l = begin();

	(void)state;
	for (uint32_t round = 1; round < 100; round++) {
		uint32_t begin = round * 1000;

		write_switch(&l, 1, begin + 60);
		expect_none(&l, begin + 50);
		write_switch(&l, 0, begin + 55);
		write_switch(&l, 0, begin + 65);
		write_switch(&l, 1, begin + 62);
		write_switch(&l, 2, begin + 57);
		write_switch(&l, 1, begin + 70);
		expect(&l, begin + 100, 0, begin + 55);
		expect(&l, begin + 100, 2, begin + 57);
		expect(&l, begin + 100, 1, begin + 60);
		expect(&l, begin + 100, 1, begin + 62);
		expect(&l, begin + 100, 0, begin + 65);
		expect(&l, begin + 100, 1, begin + 70);
		expect_none(&l, begin + 100);
	}
	threads_logs_free(l.logs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order_of_time),
		cmocka_unit_test(of_a_log_that_was_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
