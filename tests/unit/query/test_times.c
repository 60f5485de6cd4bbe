// SPDX-License-Identifier: Apache-2.0
/* What depends on when samples were: heat maps, and levels, of which the last state counts. */
#include "../prelude.h"

#include <string.h>

#include "film_build.h"
#include "query/heat.h"
#include "query/view.h"

#define MS 1000000ull

static uint64_t cell(const struct heat *heat, uint64_t ms)
{
	return heat->cells[ms / 20];
}

/*
 * What was sampled stands where it was, what lasted in all of its time. The film begins with a
 * second.
 */
static void test_waits_stand_in_all_their_cells(void **state)
{
	struct question q = {0};
	struct film_build b;
	struct film *film;
	struct heat heat;
	uint32_t thread, other;
	uint64_t sum = 0;

	(void)state;
	film_build_begin(&b, "off-cpu", "ns");
	thread = film_build_thread(&b, 1, "server", 1, "server");
	other = film_build_thread(&b, 2, "other", 2, "other");
	film_build_sample(&b, 30, thread, "main;read", 5 * MS);
	film_build_sample(&b, 90, thread, "main;read", 45 * MS);
	film_build_sample(&b, 2010, other, "main;poll", 1000 * MS);
	film = film_build_open(&b);
	assert_int_equal(heat_of_film(film, &q, &heat, NULL), 0);
	assert_int_equal(heat.seconds, 3);
	assert_int_equal(heat.samples, 3);
	assert_int_equal(heat.total, 1050 * MS);
	assert_int_equal(cell(&heat, 20), 5 * MS);
	assert_int_equal(cell(&heat, 40), 15 * MS);
	assert_int_equal(cell(&heat, 60), 20 * MS);
	assert_int_equal(cell(&heat, 80), 10 * MS);
	assert_int_equal(cell(&heat, 1000), 10 * MS);
	assert_int_equal(cell(&heat, 2000), 10 * MS);
	for (uint32_t i = 0; i < heat.seconds * HEAT_ROWS; i++)
		sum += heat.cells[i];
	assert_int_equal(sum, heat.total);
	heat_free(&heat);
	assert_true(vec_push(&q.filter.pids, 2));
	assert_int_equal(heat_of_film(film, &q, &heat, NULL), 0);
	assert_int_equal(heat.total, 1000 * MS);
	assert_int_equal(heat.most, 20 * MS);
	heat_free(&heat);
	question_free(&q);
	film_free(film);
}

static void test_too_many_seconds(void **state)
{
	struct heat heat;
	struct fail why;

	(void)state;
	assert_int_equal(heat_begin(&heat, 0, 3600ull * 1000 * MS, &why), 0);
	assert_int_equal(heat.seconds, 3600);
	heat_free(&heat);
	assert_int_equal(heat_begin(&heat, 0, 3600ull * 1000 * MS + 1, &why), -22);
	heat_free(&heat);
	/* a part of a second is a column */
	assert_int_equal(heat_begin(&heat, 999 * MS, 1001 * MS, &why), 0);
	assert_int_equal(heat.seconds, 2);
	heat_free(&heat);
}

/* Of memory in use, what was there at last counts, of each process; what a flow had is added up. */
static void test_a_level_is_its_last_state(void **state)
{
	static const char *const names[] = {"inuse_space", "alloc_space"};
	static const uint64_t totals[] = {70 + 9, 100 + 50 + 70 + 5 + 9};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct question q = {0};
		struct film_build b;
		struct film *film;
		struct view view;
		uint32_t thread, other;

		film_build_begin(&b, names[i], "bytes");
		thread = film_build_thread(&b, 1, "server", 1, "server");
		other = film_build_thread(&b, 2, "other", 2, "other");
		film_build_sample(&b, 100, thread, "main;cache", 100);
		film_build_sample(&b, 100, thread, "main;parse", 50);
		film_build_sample(&b, 150, other, "main", 5);
		film_build_sample(&b, 200, other, "main", 9);
		film_build_sample(&b, 300, thread, "main;cache", 70);
		film = film_build_open(&b);
		assert_int_equal(view_open(film, &q, VIEW_WHOLE, &view, NULL), 0);
		assert_int_equal(view.total, totals[i]);
		view_free(&view);
		film_free(film);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits_stand_in_all_their_cells),
		cmocka_unit_test(test_too_many_seconds),
		cmocka_unit_test(test_a_level_is_its_last_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
