// SPDX-License-Identifier: Apache-2.0
/* Turns become lives without a gap; what was not seen of them is in them as such. */
#include "../prelude.h"

#include <stdio.h>
#include <string.h>

#include "sources/lanes/lane_lives.h"

#define BEGIN 1000ull
#define PID   7

/* Turns as words, "g5: ran 10 waited 20;", and what each goroutine has come to. */
static struct told {
	char words[4000];
	uint64_t end[64];
	struct film_turn last;
	unsigned int rows;
} told;

static uint32_t row_of(void *context, pid_t pid, uint64_t number, uint64_t start, const char *name)
{
	(void)context;
	(void)name;
	(void)start;
	assert_int_equal(pid, PID);
	told.rows++;
	/* there is room for 64 */
	return number < 16 ? (uint32_t)number : 16 + (uint32_t)number % 48;
}

static uint32_t thread_of(void *context, pid_t pid, pid_t tid)
{
	(void)context;
	(void)pid;
	return 1000 + (uint32_t)tid;
}

static void add(const char *what, uint64_t value)
{
	size_t used = strlen(told.words);

	if (value)
		snprintf(told.words + used, sizeof(told.words) - used, "%s%llu", what,
			 (unsigned long long)value);
}

static void take(void *context, const struct film_turn *turn)
{
	uint64_t time = turn->unseen + turn->ran + turn->waited + turn->ready;

	(void)context;
	assert_true(turn->thread && turn->thread < 64);
	/* each begins where the one before ended */
	if (told.end[turn->thread])
		assert_int_equal(turn->end - time, told.end[turn->thread]);
	told.end[turn->thread] = turn->end;
	add("g", turn->thread);
	add(" unseen ", turn->unseen);
	add(" ran ", turn->ran);
	add(" waited ", turn->waited);
	add(" ready ", turn->ready);
	add(" by ", turn->waker);
	if (turn->flags & FILM_TURN_BEGINS)
		add(" begins ", turn->end - time);
	if (turn->flags & FILM_TURN_ENDS)
		add(" ends ", turn->end);
	strcat(told.words, "; ");
	told.last = *turn;
}

static const struct lane_lives_to to = {row_of, thread_of, take, NULL, false};

static const struct lane_also nothing, also = {.reason = 2, .stack = 9};

static struct lane_lives *begin(void)
{
	struct lane_lives *lives = lane_lives_new(&to);

	told = (struct told){0};
	assert_non_null(lives);
	lane_lives_begin(lives, BEGIN);
	return lives;
}

static void give(struct lane_lives *lives, uint64_t number, uint64_t since, uint64_t out,
		 uint64_t woken, uint64_t in, unsigned int flags)
{
	struct lane_turn turn = {
		.number = number,
		.since = since,
		.out = out,
		.woken = woken,
		.thread = 3,
		.flags = (uint8_t)(LANE_TURN | flags),
	};

	lane_lives_add(lives, PID, &turn, in, &also);
}

static void test_a_life(void **state)
{
	struct lane_lives *lives = begin();

	(void)state;
	give(lives, 5, 0, 2000, 2000, 2010, LANE_BEGINS | LANE_GAVE_WAY);
	assert_int_equal(told.last.state, 0);
	give(lives, 5, 2010, 2030, 2100, 2105, 0);
	assert_int_equal(told.last.state, FILM_WAIT_GOROUTINE);
	assert_int_equal(told.last.call, 3);
	assert_int_equal(told.last.stack, 9);
	assert_int_equal(told.last.on, 1003);
	give(lives, 5, 2105, 2115, 2115, 2120, LANE_GAVE_WAY);
	assert_int_equal(told.last.state, FILM_WAIT_READY);
	give(lives, 5, 2120, 2125, 2125, 2125, LANE_ENDS);
	assert_string_equal(told.words, "g5 ready 10 begins 2000; g5 ran 20 waited 70 ready 5; "
					"g5 ran 10 ready 5; g5 ran 5 ends 2125; ");
	assert_int_equal(lane_lives_counts(lives).holes, 0);
	lane_lives_free(lives);
}

static void test_lost_records_are_a_hole(void **state)
{
	struct lane_lives *lives = begin();

	(void)state;
	give(lives, 5, 0, 2000, 2000, 2010, LANE_BEGINS);
	give(lives, 5, 2200, 2210, 2220, 2230, 0);
	assert_string_equal(told.words,
			    "g5 ready 10 begins 2000; g5 unseen 190 ran 10 waited 10 ready 10; ");
	assert_int_equal(lane_lives_counts(lives).holes, 1);
	lane_lives_free(lives);
}

/* What is older than the recording begins with it, in what it was found in. */
static void test_lives_from_before(void **state)
{
	struct lane_lives *lives = begin();

	(void)state;
	give(lives, 5, 500, 1500, 1600, 1700, LANE_BEFORE);
	give(lives, 6, 0, 500, 1600, 1700, LANE_BEFORE);
	assert_string_equal(told.words, "g5 ran 500 waited 100 ready 100 begins 1000; "
					"g6 waited 600 ready 100 begins 1000; ");
	assert_true(told.last.flags & FILM_WAIT_BEFORE);
	lane_lives_free(lives);
}

static void cut(struct lane_lives *lives, uint64_t since, uint64_t out, uint64_t woken,
		uint64_t time)
{
	const struct lane_turn goes_on = {.number = 5, .since = since, .out = out, .woken = woken};

	lane_lives_cut(lives, PID, &goes_on, &also, time, false, false);
}

/* Parts of what goes on, and its end, add up. */
static void test_parts(void **state)
{
	struct lane_lives *lives = begin();

	(void)state;
	give(lives, 5, 0, 2000, 2000, 2000, LANE_BEGINS | LANE_GAVE_WAY);
	cut(lives, 2000, 0, 0, 2100);
	assert_true(told.last.flags & FILM_WAIT_OPEN);
	cut(lives, 2000, 2150, 0, 2200);
	cut(lives, 2000, 2150, 2250, 2300);
	give(lives, 5, 2000, 2150, 2250, 2350, 0);
	assert_string_equal(told.words, "g5 ran 100 begins 2000; g5 ran 50 waited 50; "
					"g5 waited 50 ready 50; g5 ready 50; ");
	/* of the turn that begins later, the record of the one before it is in a ring still */
	cut(lives, 2400, 0, 0, 2500);
	assert_int_equal(told.end[5], 2350);
	/* copied while it was changed */
	cut(lives, 2350, 2340, 0, 2500);
	assert_int_equal(told.end[5], 2350);
	lane_lives_free(lives);
}

static void test_wakers(void **state)
{
	struct lane_turn turn = {.number = 5,
				 .out = 2000,
				 .woken = 2000,
				 .readier = 9,
				 .flags = LANE_TURN | LANE_BEGINS};
	struct lane_lives *lives = begin();

	(void)state;
	/* the one that made it has told of nothing yet */
	lane_lives_add(lives, PID, &turn, 2010, &nothing);
	assert_int_equal(told.last.waker, 9);
	assert_int_equal(told.last.context, FILM_WAIT_BY_THREAD);
	give(lives, 9, 500, 2100, 2100, 2100, LANE_BEFORE | LANE_ENDS);
	assert_int_equal(told.rows, 2);
	assert_int_equal(told.last.ran, 1100);
	lane_lives_free(lives);
}

static void test_a_process_that_ends(void **state)
{
	const struct lane_turn waits = {.number = 6, .out = 500, .flags = LANE_BEFORE};
	struct lane_lives *lives = begin();

	(void)state;
	give(lives, 5, 0, 2000, 2000, 2010, LANE_BEGINS);
	lane_lives_cut(lives, PID, &waits, &also, 2500, true, false);
	lane_lives_ended(lives, PID, 3000);
	/* what the first one did is not known; the other one was seen to wait */
	assert_string_equal(told.words, "g5 ready 10 begins 2000; g6 waited 1500 begins 1000; "
					"g5 unseen 990 ends 3000; g6 waited 500 ends 3000; ");
	lane_lives_free(lives);
}

/* Its last record may be read before that of one that it made ready. */
static void test_one_that_ended_has_made_another_one_ready(void **state)
{
	struct lane_turn turn = {.number = 6,
				 .since = 2000,
				 .out = 2010,
				 .woken = 2040,
				 .readier = 5,
				 .flags = LANE_TURN};
	struct lane_lives *lives = begin();

	(void)state;
	give(lives, 5, 0, 2000, 2000, 2010, LANE_BEGINS | LANE_GAVE_WAY);
	give(lives, 5, 2010, 2050, 2050, 2050, LANE_ENDS);
	assert_int_equal(told.rows, 1);
	lane_lives_add(lives, PID, &turn, 2060, &nothing);
	assert_int_equal(told.last.waker, 5);
	/* it is the one of before, and no other one of its number */
	assert_int_equal(told.rows, 2);
	/* nor does it live on as others end, or its process does */
	for (uint64_t i = 0; i < 20000; i++) {
		give(lives, 7 + i, 0, 3000, 3000, 3000, LANE_BEGINS);
		told.words[0] = 0;
		told.end[told.last.thread] = 0;
		give(lives, 7 + i, 3000, 3010, 3010, 3010, LANE_ENDS);
		told.end[told.last.thread] = 0;
	}
	told.words[0] = 0;
	lane_lives_ended(lives, PID, 4000);
	assert_string_equal(told.words, "g6 unseen 1940 ends 4000; ");
	assert_int_equal(lane_lives_counts(lives).refused, 0);
	lane_lives_free(lives);
}

static void test_tasks_are_woken_by_threads(void **state)
{
	struct lane_lives_to by_threads = to;
	struct lane_lives *lives;
	struct lane_turn turn = {.number = 5,
				 .since = 2000,
				 .out = 2010,
				 .woken = 2020,
				 .readier_thread = 8,
				 .flags = LANE_TURN | LANE_BEGINS};

	(void)state;
	by_threads.by_threads = true;
	lives = lane_lives_new(&by_threads);
	told = (struct told){0};
	assert_non_null(lives);
	/* one that was run as it was made, and then awaits something */
	lane_lives_add(lives, PID, &turn, 2025, &(struct lane_also){.reason = 2});
	assert_int_equal(told.last.state, FILM_WAIT_GOROUTINE);
	assert_int_equal(told.last.waker, 1008);
	/* a task counts more than the thread that ran it */
	turn.readier = 6;
	turn.since = 2025;
	turn.out = 2030;
	turn.woken = 2040;
	turn.flags = LANE_TURN;
	lane_lives_add(lives, PID, &turn, 2045, &(struct lane_also){.reason = 2});
	assert_int_equal(told.last.waker, 6);
	assert_string_equal(told.words, "g5 ran 10 waited 10 ready 5 by 1008 begins 2000; "
					"g5 ran 5 waited 10 ready 5 by 6; ");
	lane_lives_free(lives);
}

static void test_another_film(void **state)
{
	struct lane_lives *lives = begin();

	(void)state;
	give(lives, 5, 0, 2000, 2000, 2010, LANE_BEGINS);
	lane_lives_turn(lives);
	give(lives, 5, 2010, 2030, 2100, 2105, 0);
	assert_int_equal(told.rows, 2);
	assert_string_equal(told.words, "g5 ready 10 begins 2000; "
					"g5 ran 20 waited 70 ready 5 begins 2010; ");
	lane_lives_free(lives);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_life),
		cmocka_unit_test(test_lost_records_are_a_hole),
		cmocka_unit_test(test_lives_from_before),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_wakers),
		cmocka_unit_test(test_a_process_that_ends),
		cmocka_unit_test(test_one_that_ended_has_made_another_one_ready),
		cmocka_unit_test(test_tasks_are_woken_by_threads),
		cmocka_unit_test(test_another_film),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
