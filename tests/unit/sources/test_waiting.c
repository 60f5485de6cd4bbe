// SPDX-License-Identifier: Apache-2.0
/*
 * What waits for its other half is found by process and key, and nothing is lost without being
 * counted.
 */
#include "../prelude.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sources/waiting.h"

static struct waiting *new_waiting(size_t limit)
{
	struct waiting *waiting;

	assert_int_equal(waiting_new(limit, &waiting), 0);
	return waiting;
}

static void put(struct waiting *waiting, uint32_t pid, uint64_t key, uint64_t value)
{
	waiting_put(waiting, &(struct waiting_half){.pid = pid,
						    .key = key,
						    .value = value,
						    .place = {(uint32_t)value, pid}});
}

/* The value that waits there; 0: none does. */
static uint64_t take(struct waiting *waiting, uint32_t pid, uint64_t key)
{
	struct waiting_half half;

	if (!waiting_pop(waiting, pid, key, &half))
		return 0;
	assert_int_equal(half.pid, pid);
	assert_int_equal(half.key, key);
	assert_int_equal(half.place.thread, half.value);
	return half.value;
}

static void finds_a_half_once(void **state)
{
	struct waiting *waiting = new_waiting(8);

	(void)state;
	put(waiting, 1, 100, 5);
	put(waiting, 2, 100, 6);
	assert_int_equal(take(waiting, 1, 101), 0);
	assert_int_equal(take(waiting, 3, 100), 0);
	assert_int_equal(take(waiting, 1, 100), 5);
	assert_int_equal(take(waiting, 1, 100), 0);
	assert_int_equal(take(waiting, 2, 100), 6);
	assert_int_equal(waiting_counts(waiting).now, 0);
	waiting_free(waiting);
}

static void counts_what_another_one_replaces(void **state)
{
	struct waiting *waiting = new_waiting(1);

	(void)state;
	put(waiting, 1, 100, 5);
	put(waiting, 1, 100, 6);
	assert_int_equal(waiting_counts(waiting).replaced, 1);
	assert_int_equal(waiting_counts(waiting).evicted, 0);
	assert_int_equal(take(waiting, 1, 100), 6);
	waiting_free(waiting);
}

static void the_oldest_makes_room(void **state)
{
	struct waiting *waiting = new_waiting(3);

	(void)state;
	for (uint64_t key = 1; key <= 3; key++)
		put(waiting, 1, key, key);
	/* it is the youngest from now on */
	put(waiting, 1, 1, 10);
	put(waiting, 1, 4, 4);
	assert_int_equal(waiting_counts(waiting).evicted, 1);
	assert_int_equal(waiting_counts(waiting).now, 3);
	assert_int_equal(take(waiting, 1, 2), 0);
	assert_int_equal(take(waiting, 1, 1), 10);
	assert_int_equal(take(waiting, 1, 3), 3);
	assert_int_equal(take(waiting, 1, 4), 4);
	waiting_free(waiting);
}

static void a_process_is_forgotten(void **state)
{
	struct waiting *waiting = new_waiting(100);

	(void)state;
	for (uint64_t key = 0; key < 30; key++)
		put(waiting, 1 + key % 3, key, key + 1);
	assert_int_equal(waiting_forget(waiting, 2), 10);
	assert_int_equal(waiting_forget(waiting, 2), 0);
	for (uint64_t key = 0; key < 30; key++)
		assert_int_equal(take(waiting, 1 + key % 3, key), key % 3 == 1 ? 0 : key + 1);
	waiting_free(waiting);
}

struct given {
	uint64_t values[8];
	size_t count;
};

static void give(void *context, const struct waiting_half *half)
{
	struct given *given = context;

	given->values[given->count++] = half->value;
}

static void gives_all_back_the_oldest_first(void **state)
{
	struct waiting *waiting = new_waiting(8);
	struct given given = {.count = 0};

	(void)state;
	put(waiting, 3, 1, 7);
	put(waiting, 1, 1, 8);
	put(waiting, 2, 1, 9);
	assert_int_equal(waiting_empty(waiting, give, &given), 3);
	assert_int_equal(given.count, 3);
	assert_int_equal(given.values[0], 7);
	assert_int_equal(given.values[1], 8);
	assert_int_equal(given.values[2], 9);
	assert_int_equal(waiting_empty(waiting, NULL, NULL), 0);
	put(waiting, 3, 1, 7);
	assert_int_equal(take(waiting, 3, 1), 7);
	waiting_free(waiting);
}

#define PIDS 5
#define KEYS 40

/*
 * For any halves in any order: each half is taken, replaced, evicted, forgotten, or still
 * there.
 */
static void sums_are_conserved(void **state)
{
	struct waiting *waiting = new_waiting(64);
	uint64_t model[PIDS][KEYS] = {{0}}, puts = 0, taken = 0, forgotten = 0;
	struct waiting_counts counts;
	unsigned int seed = 1;

	(void)state;
	for (uint64_t i = 1; i <= 200000; i++) {
		uint32_t pid = (uint32_t)rand_r(&seed) % PIDS, what = (uint32_t)rand_r(&seed) % 100;
		uint64_t key = (uint64_t)rand_r(&seed) % KEYS, value;

		if (what < 60) {
			put(waiting, pid, key, i);
			model[pid][key] = i;
			puts++;
		} else if (what < 99) {
			value = take(waiting, pid, key);
			/* the last one that was put there, if it was not too old */
			assert_true(!value || value == model[pid][key]);
			model[pid][key] = 0;
			taken += value != 0;
		} else {
			forgotten += waiting_forget(waiting, pid);
			memset(model[pid], 0, sizeof(model[pid]));
		}
	}
	counts = waiting_counts(waiting);
	assert_true(counts.evicted && taken && forgotten);
	assert_int_equal(counts.refused, 0);
	assert_int_equal(puts, taken + counts.evicted + counts.replaced + forgotten + counts.now);
	assert_int_equal(waiting_empty(waiting, NULL, NULL), counts.now);
	waiting_free(waiting);
}

static void limits_are_checked(void **state)
{
	struct waiting *waiting = NULL;

	(void)state;
	assert_int_equal(waiting_new(0, &waiting), -EINVAL);
	assert_int_equal(waiting_new((size_t)WAITING_MAX + 1, &waiting), -EINVAL);
	assert_null(waiting);
	waiting_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_a_half_once),
		cmocka_unit_test(counts_what_another_one_replaces),
		cmocka_unit_test(the_oldest_makes_room),
		cmocka_unit_test(a_process_is_forgotten),
		cmocka_unit_test(gives_all_back_the_oldest_first),
		cmocka_unit_test(sums_are_conserved),
		cmocka_unit_test(limits_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
