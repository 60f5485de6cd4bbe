// SPDX-License-Identifier: Apache-2.0
/* Films that are read while they grow: up to when frames have the names that they will have. */

#include "../prelude.h"

#include "make.h"

/*
 * Sums up the samples of event 1 in the blocks behind that many, as far as their names are settled.
 */
static struct sum settled_behind(const char *path, uint64_t *blocks)
{
	struct film *film = open_film(path);
	struct sum sum = {0};
	uint64_t to = film_settled_count(film);

	assert_int_equal(film_each_new_samples(film, 1, *blocks, to, add_up, &sum, NULL), 0);
	*blocks = to > *blocks ? to : *blocks;
	film_free(film);
	return sum;
}

static void test_names_follow(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create(path);
	uint64_t blocks = 0;

	(void)state;
	film_names_follow(w);
	put_second(w, 0);
	commit(w, test_info.start + SECOND);
	assert_int_equal(settled_behind(path, &blocks).count, 0);
	put_second(w, 1);
	film_names_settled(w);
	commit(w, test_info.start + 2 * SECOND);
	assert_int_equal(settled_behind(path, &blocks).count, 200);
	/* what comes behind it is not settled until it is said again */
	put_second(w, 2);
	commit(w, test_info.start + 3 * SECOND);
	assert_int_equal(settled_behind(path, &blocks).count, 0);
	put_second(w, 3);
	film_names_settled(w);
	commit(w, test_info.start + 4 * SECOND);
	assert_int_equal(settled_behind(path, &blocks).count, 200);
	/* what is closed is settled */
	put_second(w, 4);
	close_film(w, test_info.start + 5 * SECOND);
	assert_int_equal(settled_behind(path, &blocks).count, 100);
	remove_folder();
}

static void test_other_films_are_settled(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create(path);
	uint64_t blocks = 0;
	struct film *film;

	(void)state;
	put_second(w, 0);
	commit(w, test_info.start + SECOND);
	film = open_film(path);
	assert_true(film->settled == UINT64_MAX);
	assert_int_equal(film_settled_count(film), film_block_count(film));
	film_free(film);
	assert_int_equal(settled_behind(path, &blocks).count, 100);
	close_film(w, test_info.start + SECOND);
	remove_folder();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_follow),
		cmocka_unit_test(test_other_films_are_settled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
