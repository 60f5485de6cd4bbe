// SPDX-License-Identifier: Apache-2.0
/*
 * What a CPU remembers of stacks: it may forget, but what it finds is what was put under that key.
 */
// clang-format off
// clang-format on

#include "../prelude.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/unwind/rule_cache.h"

#define GENERATION 7

struct here {
	struct rule_cache cache;
	__u32 expected;
};

static int make(void **state)
{
	*state = calloc(1, sizeof(struct here));
	return *state ? 0 : -1;
}

static int drop(void **state)
{
	free(*state);
	return 0;
}

/* What is remembered of a key, 0: nothing. */
static uint64_t ask(struct here *here, uint64_t key, uint32_t generation)
{
	const struct rule_cache_place *known =
		rule_cache_find(&here->cache, &here->expected, key, generation);

	return known ? known->words[0] : 0;
}

static void tell(struct here *here, uint64_t key, uint32_t generation, uint64_t word)
{
	rule_cache_get(&here->cache, &here->expected, key, generation)->words[0] = word;
}

static uint32_t *index_of(struct here *here, uint64_t key)
{
	return rule_cache_entry(&here->cache, rule_cache_hash(key, GENERATION));
}

static void only_what_was_told_is_known(void **state)
{
	struct here *here = *state;

	assert_int_equal(ask(here, 0x401000, GENERATION), 0);
	tell(here, 0x401000, GENERATION, 1);
	assert_int_equal(ask(here, 0x401000, GENERATION), 1);
	/* other code, another process, the same one after it has mapped something */
	assert_int_equal(ask(here, 0x401001, GENERATION), 0);
	assert_int_equal(ask(here, 0x401000, GENERATION + 1), 0);
}

static void what_is_told_again_takes_no_other_place(void **state)
{
	struct here *here = *state;
	unsigned int i;

	for (i = 1; i <= 100; i++)
		tell(here, 0x401000, GENERATION, i);
	assert_int_equal(here->cache.oldest, 1);
	assert_int_equal(ask(here, 0x401000, GENERATION), 100);
}

/* The frames behind the one that was found are found without the index. */
static void a_stack_is_read_in_its_order(void **state)
{
	struct here *here = *state;
	uint64_t frame;

	for (frame = 1; frame <= 30; frame++)
		tell(here, frame << 20, GENERATION, frame);
	assert_int_equal(ask(here, 5 << 20, GENERATION), 5);
	memset(here->cache.index, 0xff, sizeof(here->cache.index));
	/* an unknown one, in between: the leaf of another stack */
	assert_int_equal(ask(here, 0x999999, GENERATION), 0);
	for (frame = 6; frame <= 30; frame++)
		assert_int_equal(ask(here, frame << 20, GENERATION), frame);
	assert_int_equal(ask(here, 5 << 20, GENERATION), 0);
}

/* The next key from there on with this entry of the index. */
static uint64_t key_with(struct here *here, const uint32_t *entry, uint64_t from)
{
	while (index_of(here, from) != entry)
		from++;
	return from;
}

static void two_keys_share_an_entry_of_the_index(void **state)
{
	struct here *here = *state;
	const uint32_t *entry = index_of(here, 1);
	uint64_t second = key_with(here, entry, 2), third = key_with(here, entry, second + 1);

	tell(here, 1, GENERATION, 101);
	tell(here, second, GENERATION, 102);
	here->expected = RULE_CACHE_PLACES / 2;
	assert_int_equal(ask(here, 1, GENERATION), 101);
	here->expected = RULE_CACHE_PLACES / 2;
	assert_int_equal(ask(here, second, GENERATION), 102);
	tell(here, third, GENERATION, 103);
	here->expected = RULE_CACHE_PLACES / 2;
	assert_int_equal(ask(here, 1, GENERATION), 0);
	assert_int_equal(ask(here, third, GENERATION), 103);
}

/*
 * When all is full, the last that were put are known, but for those that found no room in the
 * index.
 */
static void the_oldest_is_written_over(void **state)
{
	struct here *here = *state;
	unsigned int found = 0;
	uint64_t n;

	for (n = 1; n <= 3 * RULE_CACHE_PLACES; n++)
		tell(here, n << 12, GENERATION, n);
	for (n = 1; n <= 2 * RULE_CACHE_PLACES; n++)
		assert_int_equal(ask(here, n << 12, GENERATION), 0);
	for (; n <= 3 * RULE_CACHE_PLACES; n++) {
		here->expected = 0;
		found += ask(here, n << 12, GENERATION) == n;
	}
	assert_in_range(found, RULE_CACHE_PLACES * 8 / 10, RULE_CACHE_PLACES);
}

/*
 * A key whose place the index has lost and that was given another one: where it is found, it is
 * told anew.
 */
static void a_lost_place_is_used_where_it_is_found(void **state)
{
	struct here *here = *state;

	tell(here, 1, GENERATION, 101);
	tell(here, 2, GENERATION, 102);
	tell(here, 3, GENERATION, 103);
	memset(here->cache.index, 0xff, sizeof(here->cache.index));
	here->expected = RULE_CACHE_PLACES / 2;
	tell(here, 2, GENERATION, 202);
	here->expected = 1;
	assert_int_equal(ask(here, 2, GENERATION), 102);
	tell(here, 2, GENERATION, 302);
	here->expected = 1;
	assert_int_equal(ask(here, 2, GENERATION), 302);
	assert_int_equal(ask(here, 3, GENERATION), 103);
	assert_int_equal(here->cache.oldest, 4);
}

#define KEYS  5000
#define TURNS 400000

/* What is put under a key has its number in it. */
static void never_of_another_key(void **state)
{
	struct here *here = *state;
	unsigned int i, known = 0, seed = 1;

	for (i = 1; i <= TURNS; i++) {
		/* some keys far more often than others */
		uint32_t key = 1 + rand_r(&seed) % (rand_r(&seed) % 4 ? 300 : KEYS);
		uint32_t generation = 1 + rand_r(&seed) % 2;
		uint64_t word = ask(here, key, generation), kind = key * 2 + generation - 1;

		if (word) {
			assert_int_equal(word % (4 * KEYS), kind);
			known++;
		}
		if (!word || rand_r(&seed) % 16 == 0) {
			word = i * 4ull * KEYS + kind;
			tell(here, key, generation, word);
			here->expected--;
			assert_int_equal(ask(here, key, generation), word);
		}
		if (rand_r(&seed) % 8 == 0)
			here->expected = rand_r(&seed);
	}
	assert_in_range(known, TURNS / 2, TURNS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(only_what_was_told_is_known, make, drop),
		cmocka_unit_test_setup_teardown(what_is_told_again_takes_no_other_place, make,
						drop),
		cmocka_unit_test_setup_teardown(a_stack_is_read_in_its_order, make, drop),
		cmocka_unit_test_setup_teardown(two_keys_share_an_entry_of_the_index, make, drop),
		cmocka_unit_test_setup_teardown(the_oldest_is_written_over, make, drop),
		cmocka_unit_test_setup_teardown(a_lost_place_is_used_where_it_is_found, make, drop),
		cmocka_unit_test_setup_teardown(never_of_another_key, make, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
