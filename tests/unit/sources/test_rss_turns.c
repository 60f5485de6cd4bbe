// SPDX-License-Identifier: Apache-2.0
/* Whose memory is counted and read next, and that no one waits for ever. */
#include "../prelude.h"

#include "sources/memory/rss_turns.h"

#define SECOND 1000000000ull
#define MIB    (1ull << 20)

static void begin(struct rss_turns *turns, pid_t first, pid_t last, uint64_t now)
{
	rss_turns_begin(turns);
	for (pid_t pid = first; pid <= last; pid++)
		assert_true(rss_turns_see(turns, pid, now));
}

static struct rss_turn *turn_of(struct rss_turns *turns, pid_t pid)
{
	vec_foreach (&turns->all, turn)
		if (turn->pid == pid)
			return turn;
	return NULL;
}

static void forgotten(void *context, const struct rss_turn *turn)
{
	*(uint64_t *)context += (uint64_t)turn->pid;
}

static void who_is_gone_is_told_once(void **state)
{
	struct rss_turns turns = {0};
	uint64_t gone = 0;

	(void)state;
	begin(&turns, 1, 5, SECOND);
	rss_turns_forget_gone(&turns, forgotten, &gone);
	assert_int_equal(gone, 0);
	turn_of(&turns, 5)->bytes = 7;
	begin(&turns, 3, 6, 2 * SECOND);
	rss_turns_forget_gone(&turns, forgotten, &gone);
	assert_int_equal(gone, 1 + 2);
	assert_int_equal(turns.all.count, 4);
	/* what was known of one that stays is found again */
	begin(&turns, 3, 6, 3 * SECOND);
	rss_turns_forget_gone(&turns, forgotten, &gone);
	assert_int_equal(gone, 1 + 2);
	assert_int_equal(turns.all.count, 4);
	assert_int_equal(turn_of(&turns, 5)->bytes, 7);
	rss_turns_free(&turns);
}

/* Only two are counted in each round, in which one comes and one goes. */
static void all_are_counted_at_last(void **state)
{
	struct rss_turns turns = {0};
	uint64_t gone = 0;

	(void)state;
	for (uint64_t round = 1; round <= 20; round++) {
		uint64_t now = round * SECOND;

		begin(&turns, 1, 10, now);
		assert_true(rss_turns_see(&turns, (pid_t)(100 + round), now));
		rss_turns_forget_gone(&turns, forgotten, &gone);
		rss_turns_to_count(&turns, now);
		for (size_t i = 0; i < 2 && i < turns.order.count; i++) {
			turns.order.at[i]->was_counted = true;
			turns.order.at[i]->count_due = now + 3 * SECOND;
		}
	}
	for (pid_t pid = 1; pid <= 10; pid++)
		assert_true(turn_of(&turns, pid)->was_counted);
	rss_turns_free(&turns);
}

/* One that grew is read again, although new ones come all the time; so is one that is small. */
static void a_large_one_does_not_wait_for_new_ones(void **state)
{
	struct rss_turns turns = {0};
	uint64_t gone = 0;
	unsigned int of_large = 0, of_small = 0;

	(void)state;
	for (uint64_t round = 1; round <= 100; round++) {
		uint64_t now = round * SECOND;

		begin(&turns, 1, 2, now);
		for (uint64_t i = 0; i < 10; i++)
			assert_true(rss_turns_see(&turns, (pid_t)(100 + 10 * round + i), now));
		rss_turns_forget_gone(&turns, forgotten, &gone);
		vec_foreach (&turns.all, turn)
			turn->bytes = turn->pid == 1 ? 100 * MIB : 2 * MIB;
		rss_turns_to_read(&turns, now);
		of_large += turns.order.at[0]->pid == 1;
		of_small += turns.order.at[0]->pid == 2;
		turns.order.at[0]->read_due = now + 10 * SECOND;
	}
	assert_in_range(of_large, 9, 10);
	assert_in_range(of_small, 5, 10);
	rss_turns_free(&turns);
}

static void what_has_nothing_is_not_read(void **state)
{
	struct rss_turns turns = {0};

	(void)state;
	begin(&turns, 1, 2, SECOND);
	turn_of(&turns, 1)->was_counted = true;
	rss_turns_to_read(&turns, SECOND);
	assert_int_equal(turns.order.count, 1);
	assert_int_equal(turns.order.at[0]->pid, 2);
	rss_turns_free(&turns);
}

/* What ends at the turn from one film to the next is not forgotten: the first one has it still. */
static void who_ends_at_a_turn_is_told(void **state)
{
	struct rss_turns turns = {0};
	uint64_t gone = 0;

	(void)state;
	begin(&turns, 1, 3, SECOND);
	turn_of(&turns, 1)->thread = 10;
	turn_of(&turns, 2)->thread = 20;
	turn_of(&turns, 1)->was_read = true;
	turn_of(&turns, 1)->read_due = 60 * SECOND;
	rss_turns_turn(&turns, 2 * SECOND);
	assert_true(turn_of(&turns, 1)->is_of_before);
	assert_false(turn_of(&turns, 3)->is_of_before);
	assert_int_equal(turn_of(&turns, 1)->thread, 0);
	rss_turns_to_read(&turns, 2 * SECOND);
	assert_int_equal(turns.order.count, 3);
	/* two films later, too, if it was not seen in between */
	rss_turns_turn(&turns, 3 * SECOND);
	assert_true(turn_of(&turns, 2)->is_of_before);
	begin(&turns, 1, 1, 4 * SECOND);
	rss_turns_forget_gone(&turns, forgotten, &gone);
	assert_int_equal(gone, 2 + 3);
	rss_turns_free(&turns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_gone_is_told_once),
		cmocka_unit_test(all_are_counted_at_last),
		cmocka_unit_test(a_large_one_does_not_wait_for_new_ones),
		cmocka_unit_test(what_has_nothing_is_not_read),
		cmocka_unit_test(who_ends_at_a_turn_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
