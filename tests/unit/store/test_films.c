// SPDX-License-Identifier: Apache-2.0
/*
 * What the films are asked: however many there are, one after the other, and no longer than it may
 * take.
 */
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "made_store.h"
#include "store/ask_private.h"

/* Films of one host each, one minute behind the other. */
enum {
	FILMS = 100,
	SAMPLES = 50,
	LOST = 9 /* of each film of made_film() */
};

/* Longer than any machine takes, so that a busy one answers the same. */
#define NO_HURRY (100 * MINUTE)

struct many {
	struct index *index;
	struct store *store;
	struct made_film films[FILMS];
};

static void film_of_minute(struct made_film *made, unsigned int minute)
{
	struct film_build b;
	struct fail why = {0};
	uint32_t thread;

	film_build_begin(&b, "on-cpu", "ns");
	thread = film_build_thread(&b, 10 + minute, "web", 10 + minute, "web");
	for (unsigned int i = 0; i < SAMPLES; i++)
		film_build_sample(&b, minute * 60000ull + i * 1000, thread, "main;work@web.c:12",
				  10);
	film_loss(b.w, b.event, "ring full", 7);
	film_loss(b.w, 0, "no memory", 2);
	assert_int_equal(film_close(b.w, b.end, &why), 0);
	memcpy(made->path, b.path, sizeof(made->path));
	assert_int_equal(film_open(made->path, &made->film, &why), 0);
}

static int many_begin(void **state)
{
	struct many *many = calloc(1, sizeof(*many));

	assert_non_null(many);
	many->index = made_index(NULL);
	many->store = made_store(many->index);
	for (unsigned int i = 0; i < FILMS; i++) {
		char host[16];

		snprintf(host, sizeof(host), "host-%u", i);
		film_of_minute(&many->films[i], i);
		made_add(many->index, &many->films[i], host);
	}
	*state = many;
	return 0;
}

static int many_end(void **state)
{
	struct many *many = *state;

	index_free(many->index);
	for (unsigned int i = 0; i < FILMS; i++)
		made_film_free(&many->films[i]);
	free(many);
	return 0;
}

/* All are read, and one is open at a time. */
static void test_many(void **state)
{
	struct many *many = *state;
	struct store_ask ask = {.from = START, .to = LATER, .patience = NO_HURRY};
	struct store_processes list;
	struct store_places places;
	struct store_losses losses;
	struct fail why = {0};

	assert_int_equal(store_processes(many->store, &ask, 1000, &list, &why), 0);
	assert_int_equal(list.sum.films_unread, 0);
	assert_int_equal(list.sum.samples, FILMS * SAMPLES);
	assert_int_equal(list.sum.complete_until, LATER);
	/* each with its thread */
	assert_int_equal(list.count, 2 * FILMS);
	store_processes_free(&list);
	assert_int_equal(store_places(many->store, &ask, "work", NULL, &places, &why), 0);
	assert_int_equal(places.sum.films_unread, 0);
	/* the same in all films, and added up as they come */
	assert_int_equal(places.places.all.count, 1);
	assert_int_equal(places.places.all.at[0].line, 12);
	assert_int_equal(places.places.all.at[0].total, FILMS * SAMPLES * 10);
	store_places_free(&places);
	assert_int_equal(store_losses(many->store, &ask, &losses, &why), 0);
	assert_int_equal(losses.sum.films_unread, 0);
	assert_int_equal(losses.sum.lost, FILMS * LOST);
	assert_int_equal(losses.all.count, 2);
	assert_string_equal(losses.all.at[0].reason, "ring full");
	assert_int_equal(losses.all.at[0].count, FILMS * 7);
	store_losses_free(&losses);
}

/* What there was no time for is reported: how many films, and from when on they are missing. */
static void test_cut(void **state)
{
	struct many *many = *state;
	struct store_ask ask = {.from = START, .to = LATER, .patience = 1};
	struct store_processes list;
	struct store_losses losses;
	struct store_timeline timeline;
	struct question by_process = {.shape.by_process = true};
	unsigned int partial = made_partial(many->store);
	struct fail why = {0};

	assert_int_equal(store_processes(many->store, &ask, 1000, &list, &why), 0);
	assert_int_equal(list.sum.samples, SAMPLES);
	assert_int_equal(list.sum.films_unread, FILMS - 1);
	/* all films say that they begin at the same time, with the first */
	assert_int_equal(list.sum.complete_until, MADE_START * 1000000000);
	/* of the one that was read, which is spread over all of the time */
	assert_true(list.sum.filmed > 0);
	store_processes_free(&list);
	assert_int_equal(store_losses(many->store, &ask, &losses, &why), 0);
	assert_int_equal(losses.sum.lost, LOST);
	assert_int_equal(losses.sum.films_unread, FILMS - 1);
	store_losses_free(&losses);
	assert_int_equal(made_partial(many->store), partial + 2);
	ask.question = &by_process;
	assert_int_equal(
		store_timeline(many->store, &ask, STORE_BY_HOST, 10, 10, NULL, &timeline, &why), 0);
	assert_int_equal(timeline.sum.films_unread, FILMS - 1);
	assert_int_equal(timeline.sum.samples, SAMPLES);
	/* all films end at the same time: nothing before it is complete */
	assert_true(timeline.sum.complete_from > START);
	assert_true(timeline.sum.complete_until >= timeline.sum.complete_from);
	store_timeline_free(&timeline);
}

/* Its place among all of the same begin, which are read by their names. */
static unsigned int place_of(const struct many *many, unsigned int film)
{
	unsigned int place = 0;

	for (unsigned int i = 0; i < FILMS; i++)
		place += strcmp(many->films[i].path, many->films[film].path) < 0;
	return place;
}

/* However many films there is time for, they are from all of the time. */
static void test_spread(void **state)
{
	struct many *many = *state;
	struct store_ask ask = {.from = START, .to = LATER};
	struct store_processes list;
	struct fail why = {0};
	unsigned int of_quarter[4] = {0}, count = 0;

	for (ask.patience = 1; count < 8; ask.patience += ask.patience / 2 + 1000) {
		assert_int_equal(store_processes(many->store, &ask, 1000, &list, &why), 0);
		memset(of_quarter, 0, sizeof(of_quarter));
		count = 0;
		for (size_t i = 0; i < list.count; i++) {
			if (list.at[i].tid)
				continue;
			of_quarter[place_of(many, list.at[i].pid - 10) * 4 / FILMS]++;
			count++;
		}
		assert_int_equal(list.sum.films_unread, FILMS - count);
		assert_int_equal(list.sum.samples, count * SAMPLES);
		store_processes_free(&list);
		for (int i = 0; i < 4; i++) {
			assert_true(of_quarter[i] + 1 >= count / 4);
			assert_true(of_quarter[i] <= count / 4 + 2);
		}
	}
}

/* Of each host, by the films. */
static void test_series(void **state)
{
	struct many *many = *state;
	struct question by_process = {.shape.by_process = true};
	struct store_ask ask = {
		.from = START, .to = LATER, .patience = NO_HURRY, .question = &by_process};
	struct store_series_list list;
	struct fail why = {0};

	assert_int_equal(store_series(many->store, &ask, 1000, &list, &why), 0);
	assert_true(list.sum.by_films);
	assert_int_equal(list.count, FILMS);
	for (size_t i = 0; i < list.count; i++)
		assert_int_equal(list.at[i].total, SAMPLES * 10);
	store_series_free(&list);
}

static void test_processes(void **state)
{
	struct made_film films[] = {made_film(19, 2000, 10), made_film(20, 3000, 10)};
	struct index *index = made_index(NULL);
	struct store_ask ask = {.from = START, .to = LATER, .patience = NO_HURRY};
	struct store_processes list;
	struct fail why = {0};
	uint64_t whole = 0, threads = 0;

	(void)state;
	made_add(index, &films[0], "alpha");
	made_add(index, &films[1], "alpha");
	assert_int_equal(store_processes(made_store(index), &ask, 100, &list, &why), 0);
	assert_int_equal(list.count, 9);
	assert_int_equal(list.at[0].tid, 0);
	for (size_t i = 0; i < list.count; i++)
		*(list.at[i].tid ? &threads : &whole) += list.at[i].total;
	assert_int_equal(whole, list.sum.total);
	assert_int_equal(threads, list.sum.total);
	store_processes_free(&list);
	index_free(index);
	for (int i = 0; i < 2; i++)
		made_film_free(&films[i]);
}

/*
 * More processes than are kept: the large ones stay, and what the others had is in the sum of those
 * not listed.
 */
static void test_very_many(void **state)
{
	struct made_film films[3] = {0};
	struct index *index = made_index(NULL);
	struct store_ask ask = {.from = START, .to = LATER, .patience = NO_HURRY};
	struct store_processes list;
	struct fail why = {0};
	uint64_t total = 0;

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		struct film_build b;
		uint32_t thread;

		film_build_begin(&b, "on-cpu", "ns");
		for (uint32_t k = 0; k < ASK_PROCESSES_MAX / 2 + 10; k++) {
			struct film_process process = {.pid = 1000 + k,
						       .start = (i + 1) * NS_HOUR / 1000,
						       .comm = "cc1",
						       .exe = "/usr/bin/cc1"};
			struct film_thread of = {.tid = 1000 + k, .comm = "cc1"};

			of.process = film_add_process(b.w, &process);
			film_build_sample(&b, k / 64, film_add_thread(b.w, &of), "main", 1);
		}
		thread = film_build_thread(&b, 7, "web", 7, "web");
		film_build_sample(&b, 5000, thread, "main", 1000);
		assert_int_equal(film_close(b.w, b.end, &why), 0);
		memcpy(films[i].path, b.path, sizeof(films[i].path));
		assert_int_equal(film_open(films[i].path, &films[i].film, &why), 0);
		made_add(index, &films[i], "alpha");
	}
	assert_int_equal(store_processes(made_store(index), &ask, 10, &list, &why), 0);
	assert_string_equal(list.at[0].comm, "web");
	assert_int_equal(list.at[0].total, 3000);
	assert_int_equal(list.at[1].total, 3000);
	for (size_t i = 0; i < list.count; i++)
		total += list.at[i].tid ? 0 : list.at[i].total;
	assert_int_equal(total + list.others, list.sum.total);
	store_processes_free(&list);
	index_free(index);
	for (unsigned int i = 0; i < 3; i++)
		made_film_free(&films[i]);
}

static uint64_t samples_in(struct index *index, uint64_t from, uint64_t to)
{
	struct store_ask ask = {.from = from, .to = to, .patience = NO_HURRY};
	struct store_answer answer = made_flame(index, &ask);
	uint64_t samples = answer.sum.samples;

	assert_false(answer.sum.by_films);
	store_answer_free(&answer);
	return samples;
}

/*
 * A film whose samples lie outside of what it says to cover: they are of its hours, and go with it.
 */
static void test_outside(void **state)
{
	struct index *index = made_index(NULL);
	struct made_film made = {0};
	struct film_build b;
	struct fail why = {0};
	uint32_t thread;

	(void)state;
	film_build_begin(&b, "on-cpu", "ns");
	thread = film_build_thread(&b, 1, "web", 1, "web");
	film_build_sample(&b, 1000, thread, "main", 1);
	film_build_sample(&b, 50 * HOUR / 1000000, thread, "main", 1);
	assert_int_equal(film_close(b.w, FILM_BUILD_START + 10 * MINUTE, &why), 0);
	memcpy(made.path, b.path, sizeof(made.path));
	assert_int_equal(film_open(made.path, &made.film, &why), 0);
	assert_int_equal(made.film->info.end, FILM_BUILD_START + 10 * MINUTE);
	made_add(index, &made, "alpha");
	assert_int_equal(samples_in(index, START, START + HOUR), 2);
	assert_int_equal(index_forget(index, made.path, &why), 0);
	/* all time that there is, which is not looked at hour by hour */
	assert_int_equal(samples_in(index, 1, INT64_MAX), 0);
	made_add(index, &made, "alpha");
	assert_int_equal(index_compact(index, LATER, &why), 0);
	assert_int_equal(samples_in(index, 1, INT64_MAX), 2);
	index_free(index);
	made_film_free(&made);
}

/* More hosts than rows of their own: the others have what is missing. */
static void test_rows(void **state)
{
	enum {
		HOSTS = 1100
	};
	struct index *index = made_index(NULL);
	struct store_ask ask = {.from = START, .to = START + HOUR, .patience = NO_HURRY};
	struct store_timeline timeline;
	struct made_film made = {0};
	struct fail why = {0};
	uint64_t total = 0;

	(void)state;
	film_of_minute(&made, 0);
	for (unsigned int i = 0; i < HOSTS; i++) {
		char name[32], host[32];
		struct index_film of = {.name = name, .host = host};

		snprintf(name, sizeof(name), "films/%u.film", i);
		snprintf(host, sizeof(host), "host-%u", i);
		assert_int_equal(index_add(index, &of, made.film, &why), 0);
	}
	assert_int_equal(store_timeline(made_store(index), &ask, STORE_BY_HOST, 10, 20, NULL,
					&timeline, &why),
			 0);
	assert_int_equal(timeline.rows, 21);
	assert_string_equal(timeline.at[20].name, "");
	assert_int_equal(timeline.at[20].total, (HOSTS - 20) * SAMPLES * 10);
	for (size_t i = 0; i < timeline.rows; i++)
		for (size_t k = 0; k < timeline.steps; k++)
			total += timeline.at[i].values[k];
	assert_int_equal(total, HOSTS * SAMPLES * 10);
	store_timeline_free(&timeline);
	index_free(index);
	made_film_free(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_many, many_begin, many_end),
		cmocka_unit_test_setup_teardown(test_cut, many_begin, many_end),
		cmocka_unit_test_setup_teardown(test_spread, many_begin, many_end),
		cmocka_unit_test_setup_teardown(test_series, many_begin, many_end),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_very_many),
		cmocka_unit_test(test_outside),
		cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
