// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "film/ahead.h"
#include "make.h"

#define NONE SIZE_MAX

struct line {
	size_t places[AHEAD_PLACES];
	atomic_size_t made;
	size_t taken[AHEAD_CONSUMERS_MAX];
	atomic_size_t wrong;
	unsigned int ended_by;
	size_t end_at; /* take() of that taker ends there with 7 */
};

static void make(void *context, size_t i)
{
	struct line *line = context;

	line->places[i % AHEAD_PLACES] = i;
	line->made++;
}

static int take(void *context, unsigned int taker, size_t i)
{
	struct line *line = context;

	line->wrong += i != line->taken[taker] || line->places[i % AHEAD_PLACES] != i;
	line->taken[taker]++;
	return i == line->end_at && taker == line->ended_by ? 7 : 0;
}

static int run_several(struct line *line, size_t count, unsigned int takers)
{
	struct ahead ahead = {count, make, take, takers, line};
	int err = ahead_run(&ahead);

	assert_int_equal(line->wrong, 0);
	return err;
}

static int run(struct line *line, size_t count, size_t end_at)
{
	*line = (struct line){.end_at = end_at};
	return run_several(line, count, 1);
}

/*
 * However many there are and wherever it ends, what a loop would do is done, and as many more as
 * there are places are made at most.
 */
static void test_as_a_loop(void **state)
{
	struct line line;

	(void)state;
	for (size_t count = 0; count < 40; count++) {
		assert_int_equal(run(&line, count, NONE), 0);
		assert_int_equal(line.taken[0], count);
		assert_int_equal(line.made, count);
		for (size_t end = 0; end < count; end++) {
			assert_int_equal(run(&line, count, end), 7);
			assert_int_equal(line.taken[0], end + 1);
			assert_in_range(line.made, end + 1, end + 1 + AHEAD_PLACES);
		}
	}
	assert_int_equal(run(&line, 20000, NONE), 0);
	assert_int_equal(line.taken[0], 20000);
}

/* Each taker takes all, in order; and where one ends it, no other goes on for long. */
static void test_several_takers(void **state)
{
	(void)state;
	for (unsigned int takers = 2; takers <= AHEAD_CONSUMERS_MAX; takers++) {
		struct line line = {.end_at = NONE};

		assert_int_equal(run_several(&line, 3000, takers), 0);
		assert_int_equal(line.made, 3000);
		for (unsigned int i = 0; i < takers; i++)
			assert_int_equal(line.taken[i], 3000);
		for (size_t end = 0; end < 50; end++) {
			line = (struct line){.end_at = end, .ended_by = end % takers};
			assert_int_equal(run_several(&line, 60, takers), 7);
			assert_int_equal(line.taken[line.ended_by], end + 1);
			for (unsigned int i = 0; i < takers; i++)
				assert_true(line.taken[i] <= end + AHEAD_PLACES);
			assert_in_range(line.made, end + 1, end + 1 + AHEAD_PLACES);
		}
	}
}

/* Ends with the block that its context names. */
struct stop {
	struct sum sum;
	uint64_t at;
};

static int add_up_to(void *context, const struct film_samples *samples)
{
	struct stop *stop = context;

	add_up(&stop->sum, samples);
	return stop->sum.blocks == stop->at ? 7 : 0;
}

/* What is wrong with a block is reported when its turn comes, not when it is read. */
static void test_damage_in_its_turn(void **state)
{
	const char *path = new_path();
	struct film *film;
	struct fail why;

	(void)state;
	write_seconds(path, 8);
	change_film(path, "UPDATE block SET data = '' WHERE id = 5");
	film = open_film(path);
	for (uint64_t at = 1; at < 5; at++) {
		struct stop stop = {.at = at};

		why = (struct fail){0};
		assert_int_equal(film_each_samples(film, 1, 0, UINT64_MAX, add_up_to, &stop, &why),
				 7);
		assert_int_equal(stop.sum.count, 100 * at);
		assert_int_equal(why.err, 0);
		assert_string_equal(why.what, "");
	}
	{
		struct stop stop = {.at = NONE};

		assert_int_equal(film_each_samples(film, 1, 0, UINT64_MAX, add_up_to, &stop, &why),
				 -EBADMSG);
		assert_int_equal(stop.sum.count, 400);
		assert_non_null(strstr(why.what, "damaged"));
		stop.sum = (struct sum){0};
		assert_int_equal(film_each_samples(film, 1, 0, UINT64_MAX, add_up_to, &stop, NULL),
				 -EBADMSG);
	}
	film_free(film);
	remove_folder();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_a_loop),
		cmocka_unit_test(test_several_takers),
		cmocka_unit_test(test_damage_in_its_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
