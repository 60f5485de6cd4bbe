// SPDX-License-Identifier: Apache-2.0
/* Films that are too old, or too many, go, and nothing else. */
#include "../prelude.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "film/writer.h"
#include "kept_store.h"
#include "store/ask.h"
#include "store/index_private.h"

static void test_old_films_go(void **state)
{
	struct store *store = open_store(0, 10 * HOUR);
	struct store_status status;
	bool again;

	(void)state;
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(send_film(store, "web7", "a", i + 1, BEGIN + i * 3600, &again), 0);
	tick(store, BEGIN + 3600);
	assert_int_equal(look().films, 4);
	tick(store, BEGIN + 3600 + 10);
	/* a clock that jumps for a moment costs nothing */
	tick(store, BEGIN + 1000 * 3600);
	assert_int_equal(look().films, 4);
	store_free(store);
	/* a store that starts with it believes it */
	store = open_store(0, 10 * HOUR);
	tick(store, BEGIN + 11 * 3600 + 100);
	assert_int_equal(look().samples, 2 * SAMPLES);
	assert_int_equal(indexed(store), 2 * SAMPLES);
	store_status(store, &status);
	assert_int_equal(status.removed, 2);
	store_free(store);
}

static void test_too_many_films_go(void **state)
{
	struct store *store = open_store(0, 0);
	struct store_options options = {store_path, 0, 0, NULL};
	char growing[256];
	struct store_status status;
	bool again;

	(void)state;
	assert_int_equal(
		store_film_path(store, "me", BEGIN * SECOND, growing, sizeof(growing), NULL), 0);
	make_film(growing, BEGIN, NULL);
	for (unsigned int i = 0; i < 20; i++)
		assert_int_equal(send_film(store, "web7", "a", i + 1, BEGIN + i * 3600, &again), 0);
	tick(store, BEGIN);
	store_status(store, &status);
	assert_int_equal(status.films, 21);
	options.bytes_max = 200000;
	assert_int_equal(store_configure(store, &options, NULL), 0);
	tick(store, BEGIN);
	store_status(store, &status);
	assert_true(status.films > 1 && status.films < 10);
	assert_int_equal(access(growing, F_OK), 0);
	assert_int_equal(indexed(store), look().samples);
	store_free(store);
}

static unsigned int films_in(const char *host)
{
	/* as they came, and as the hour's film that they become */
	static const char *const places[] = {"inbox/%s/*.film", "films/%s/*/*.film"};
	unsigned int count = 0;

	for (size_t i = 0; i < 2; i++) {
		char pattern[256];
		size_t length = (size_t)snprintf(pattern, sizeof(pattern), "%s/", store_path);
		glob_t found;

		snprintf(pattern + length, sizeof(pattern) - length, places[i], host);
		if (!glob(pattern, 0, NULL, &found))
			count += (unsigned int)found.gl_pathc;
		globfree(&found);
	}
	return count;
}

static void send_of(struct store *store, const char *host, uint64_t owner, unsigned int from,
		    unsigned int count)
{
	bool again;
	char path[160];

	for (unsigned int i = from; i < from + count; i++) {
		struct store_sender sender = {host, "", 0, owner};

		snprintf(path, sizeof(path), "%s/one.film", root);
		make_film(path, BEGIN + i * 3600, NULL);
		assert_int_equal(store_add_film(store, path, &sender, &again, NULL), 0);
	}
}

/*
 * A sender of much pushes out its own films: neither others' films, which are older, nor those
 * that are made here.
 */
static void test_nobody_pushes_out_others(void **state)
{
	struct store *store = open_store(0, 0);
	struct store_options options = {store_path, 0, 0, NULL};
	struct store_status status;
	struct store_host of;
	char own[256];

	(void)state;
	assert_int_equal(store_film_path(store, "me", BEGIN * SECOND, own, sizeof(own), NULL), 0);
	make_film(own, BEGIN, NULL);
	send_of(store, "web1", 1, 0, 3);
	send_of(store, "flood-a", 2, 100, 10);
	send_of(store, "flood-b", 2, 110, 10);
	store_free(store);
	/* the owners are known after another start, and what is recorded here as soon as it is */
	store = open_store(0, 0);
	store_host(store, "web1", &of);
	assert_true(of.owner == 1 && !of.is_own);
	assert_int_equal(
		store_film_path(store, "me", (BEGIN + 3600) * SECOND, own, sizeof(own), NULL), 0);
	store_host(store, "me", &of);
	assert_true(of.owner == 0 && of.is_own);
	tick(store, BEGIN);
	store_status(store, &status);
	options.bytes_max = status.bytes / 5;
	assert_int_equal(store_configure(store, &options, NULL), 0);
	tick(store, BEGIN);
	assert_int_equal(films_in("web1"), 3);
	assert_int_equal(films_in("me"), 1);
	assert_true(films_in("flood-a") + films_in("flood-b") < 15);
	/* of one owner the oldest go, whichever the machine */
	assert_true(films_in("flood-a") < films_in("flood-b"));
	store_free(store);
}

/* A film of that many functions, each a stack of its own. */
static void make_large(const char *path, uint64_t begin, unsigned int functions)
{
	struct film_info info = {.version = "1",
				 .hostname = "old",
				 .start = SECOND,
				 .wall_offset = (int64_t)((begin - 1) * SECOND)};
	struct film_event event = {"on-cpu", "ns", "", 99};
	struct film_image image = {FILM_IMAGE_FILE, "/usr/bin/large", {3}, 1};
	struct film_writer *w = NULL;

	assert_int_equal(film_create(path, &info, &w, NULL), 0);
	film_add_event(w, &event);
	film_add_image(w, &image);
	for (unsigned int i = 0; i < functions; i++) {
		uint32_t frame = film_frame(w, 1, FILM_FRAME_NATIVE, 16ull * (i + 1));
		char words[32];
		struct film_name name = {words, "", 0};

		snprintf(words, sizeof(words), "function_%u", i);
		film_name_frame(w, frame, &name, 1);
		film_sample(w, 1, SECOND + i, 0, film_stack(w, 0, frame, FILM_HOW_EXACT), 1);
	}
	assert_int_equal(film_close(w, 2 * SECOND, NULL), 0);
}

static uint64_t function_count(struct store *store)
{
	struct index *index = store_index(store);
	struct index_status status;

	index_status(index, &status);
	index_free(index);
	return status.functions;
}

/* With films go the names that only they had; answers that are being read keep theirs. */
static void test_names_go_with_films(void **state)
{
	struct store *store = open_store(0, 10 * HOUR);
	struct store_sender sender = {"old", "", 0};
	struct store_ask ask = {0};
	struct store_answer answer;
	struct store_event events[4];
	char path[128];
	bool again;

	(void)state;
	snprintf(path, sizeof(path), "%s/large.film", root);
	make_large(path, BEGIN, INDEX_CLEAN_PATHS + 100);
	assert_int_equal(store_add_film(store, path, &sender, &again, NULL), 0);
	assert_int_equal(send_film(store, "web7", "a", 1, BEGIN + 5 * 3600, &again), 0);
	tick(store, BEGIN + 3600);
	assert_true(function_count(store) > INDEX_CLEAN_PATHS);
	store_free(store);
	store = open_store(0, 10 * HOUR);
	assert_int_equal(store_flame(store, &ask, &answer, NULL), 0);
	assert_int_equal(store_events(store, events, 4), 1);
	tick(store, BEGIN + 12 * 3600);
	assert_true(function_count(store) < 20);
	assert_string_equal(events[0].name, "on-cpu");
	assert_int_equal(answer.sum.samples, INDEX_CLEAN_PATHS + 100 + SAMPLES);
	for (size_t i = 0; i < answer.functions.count; i++)
		assert_true(*answer.functions.at[i].label->name);
	store_answer_free(&answer);
	/* it goes on, and is the same after another start */
	assert_int_equal(indexed(store), SAMPLES);
	assert_int_equal(send_film(store, "web7", "a", 2, BEGIN + 6 * 3600, &again), 0);
	tick(store, BEGIN + 12 * 3600);
	assert_int_equal(indexed(store), 2 * SAMPLES);
	store_free(store);
	store = open_store(0, 10 * HOUR);
	assert_int_equal(indexed(store), 2 * SAMPLES);
	assert_int_equal(send_film(store, "web7", "a", 1, BEGIN + 5 * 3600, &again), 0);
	assert_true(again);
	store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KEPT_TEST(test_old_films_go),
		KEPT_TEST(test_too_many_films_go),
		KEPT_TEST(test_nobody_pushes_out_others),
		KEPT_TEST(test_names_go_with_films),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
