// SPDX-License-Identifier: Apache-2.0
/* Films that the recorder of this machine writes: whether they grow is its word, not a file's. */
#include "../prelude.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "film/writer.h"
#include "kept_store.h"
#include "store/ask.h"
#include "store/folder.h"
#include "store/room.h"

#define HOST "web7"

/* A film of the store that is being recorded. */
struct written {
	struct film_writer *w;
	char path[256];
	uint64_t start; /* ns of its clock, which is the wall's */
	uint32_t stack;
};

static struct written begin_film(struct store *store, uint64_t at, const char *event_name)
{
	struct written f = {.start = at * SECOND};
	struct film_info info = {.version = "1",
				 .hostname = HOST,
				 .kernel = "6.1",
				 .arch = "x86_64",
				 .command = "stackcam serve",
				 .cpus = 1,
				 .start = f.start};
	struct film_event event = {event_name, "ns", "cpu-clock", 10};
	struct film_process process = {.pid = 7, .start = 5, .comm = "app", .exe = "/usr/bin/app"};
	struct film_thread thread = {.process = 1, .tid = 7, .start = 5, .comm = "app"};
	struct film_image image = {FILM_IMAGE_FILE, "/usr/bin/app", {1, 2}, 2};

	assert_int_equal(store_film_path(store, HOST, f.start, f.path, sizeof(f.path), NULL), 0);
	assert_int_equal(film_create(f.path, &info, &f.w, NULL), 0);
	film_names_follow(f.w);
	film_add_event(f.w, &event);
	film_add_process(f.w, &process);
	film_add_thread(f.w, &thread);
	film_add_image(f.w, &image);
	f.stack = film_stack(f.w, 0, film_frame(f.w, 1, FILM_FRAME_NATIVE, 0x1000), FILM_HOW_EXACT);
	return f;
}

/* One CPU was busy in those seconds of the film. */
static void put_seconds(struct written *f, uint64_t from, uint64_t to)
{
	for (uint64_t i = from * 10; i < to * 10; i++)
		film_sample(f->w, 1, f->start + i * SECOND / 10, 1, f->stack, SECOND / 10);
}

static void commit(struct written *f, uint64_t seconds)
{
	film_names_settled(f->w);
	assert_int_equal(film_commit(f->w, f->start + seconds * SECOND, true, NULL), 0);
}

/* Looks at all films, however lately it did. */
static void look_again(struct store *store, uint64_t seconds)
{
	vec_foreach (&store->films, film)
		(*film)->again = 0;
	tick(store, seconds);
}

static struct store_sum ask(struct store *store, uint64_t from, uint64_t to)
{
	struct store_ask ask = {.from = from * SECOND, .to = to * SECOND};
	struct store_series_list list;
	struct store_sum sum;
	struct fail why = {0};

	if (store_series(store, &ask, 10, &list, &why))
		fail_print(&why);
	assert_int_equal(why.err, 0);
	sum = list.sum;
	store_series_free(&list);
	return sum;
}

/*
 * A film is closed while a reader has it open, so its log stays; then the reader goes. The answers
 * are complete at once, and the film is a single file soon.
 */
static void test_turn_beside_a_reader(void **state)
{
	struct store *store = open_store(0, 0);
	struct written first = begin_film(store, BEGIN, "on-cpu"), second;
	struct store_sum sum;
	sqlite3 *reader;

	(void)state;
	put_seconds(&first, 0, 60);
	commit(&first, 60);
	look_again(store, BEGIN + 60);
	assert_int_equal(sqlite3_open_v2(first.path, &reader, SQLITE_OPEN_READONLY, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_exec(reader, "SELECT * FROM meta", NULL, NULL, NULL), SQLITE_OK);
	put_seconds(&first, 60, 120);
	second = begin_film(store, BEGIN + 120, "on-cpu");
	assert_int_equal(film_close(first.w, first.start + 120 * SECOND, NULL), -EBUSY);
	assert_true(folder_has_wal(first.path));
	store_film_done(store, first.path);
	put_seconds(&second, 0, 600);
	commit(&second, 600);
	look_again(store, BEGIN + 720);
	sum = ask(store, BEGIN, BEGIN + 720);
	assert_int_equal(sum.complete_until, (BEGIN + 720) * SECOND);
	assert_int_equal(sum.total, 720 * SECOND);
	assert_int_equal(sum.filmed, 720 * SECOND);
	sqlite3_close(reader);
	look_again(store, BEGIN + 730);
	assert_false(folder_has_wal(first.path));
	film_close(second.w, second.start + 600 * SECOND, NULL);
	store_film_done(store, second.path);
	look_again(store, BEGIN + 2 * 3600);
	look_again(store, BEGIN + 2 * 3600);
	assert_int_equal(look().films, 1);
	assert_int_equal(look().packed, 1);
	store_free(store);
}

/* A film's last words are enough: its recorder may take seconds to close the file. */
static void test_its_own_word(void **state)
{
	struct store *store = open_store(0, 0);
	struct written f = begin_film(store, BEGIN, "on-cpu");

	(void)state;
	put_seconds(&f, 0, 60);
	commit(&f, 60);
	look_again(store, BEGIN + 60);
	put_seconds(&f, 60, 120);
	assert_int_equal(film_close(f.w, f.start + 120 * SECOND, NULL), 0);
	look_again(store, BEGIN + 121);
	assert_int_equal(ask(store, BEGIN, BEGIN + 300).complete_until, (BEGIN + 300) * SECOND);
	/* the recorder may still work on it */
	assert_true(store->films.at[0]->is_growing);
	store_film_done(store, f.path);
	look_again(store, BEGIN + 122);
	assert_false(store->films.at[0]->is_growing);
	store_free(store);
}

/* The disk was full: the film has no end of its own, and its recorder says that none will come. */
static void test_given_up(void **state)
{
	struct store *store = open_store(0, 0);
	struct written f = begin_film(store, BEGIN, "on-cpu");
	struct store_sum sum;

	(void)state;
	put_seconds(&f, 0, 60);
	commit(&f, 60);
	look_again(store, BEGIN + 60);
	put_seconds(&f, 60, 62);
	assert_int_equal(film_commit(f.w, f.start + 62 * SECOND, true, NULL), 0);
	sum = ask(store, BEGIN, BEGIN + 120);
	assert_true(sum.complete_until <= (BEGIN + 62) * SECOND);
	store_film_done(store, f.path);
	look_again(store, BEGIN + 70);
	sum = ask(store, BEGIN, BEGIN + 120);
	assert_int_equal(sum.complete_until, (BEGIN + 120) * SECOND);
	assert_int_equal(sum.total, 62 * SECOND);
	assert_int_equal(sum.filmed, 62 * SECOND);
	film_close(f.w, f.start + 62 * SECOND, NULL);
	store_free(store);
}

/* What its recorder was given a name for and never began. */
static void test_never_begun(void **state)
{
	struct store *store = open_store(0, 0);
	char path[256];

	(void)state;
	assert_int_equal(store_film_path(store, HOST, BEGIN * SECOND, path, sizeof(path), NULL), 0);
	assert_int_equal(store->films.count, 1);
	store_film_done(store, path);
	look_again(store, BEGIN + 10);
	assert_int_equal(store->films.count, 0);
	store_free(store);
}

/*
 * Films that the flight recorder keeps lack the event: they are not read, however many there are,
 * and no answer is less complete for them.
 */
static void test_beside_kept_films(void **state)
{
	struct store *store = open_store(0, 0);
	struct written f = begin_film(store, BEGIN, "on-cpu");
	const char *all = "*";
	struct question by_films = {.filter.comms = {.at = &all, .count = 1}};
	struct store_ask ask = {.from = BEGIN * SECOND,
				.to = (BEGIN + 300) * SECOND,
				.question = &by_films,
				.patience = 1};
	struct store_answer answer = {0};

	(void)state;
	put_seconds(&f, 0, 300);
	assert_int_equal(film_close(f.w, f.start + 300 * SECOND, NULL), 0);
	store_film_done(store, f.path);
	for (uint64_t i = 0; i < 20; i++) {
		struct written kept = begin_film(store, BEGIN + 10 * i, "threads");

		put_seconds(&kept, 0, 10);
		assert_int_equal(film_close(kept.w, kept.start + 10 * SECOND, NULL), 0);
		store_film_done(store, kept.path);
	}
	look_again(store, BEGIN + 310);
	assert_int_equal(store_flame(store, &ask, &answer, NULL), 0);
	assert_true(answer.sum.by_films);
	assert_int_equal(answer.sum.films_unread, 0);
	assert_int_equal(answer.sum.complete_from, BEGIN * SECOND);
	assert_int_equal(answer.sum.complete_until, (BEGIN + 300) * SECOND);
	assert_int_equal(answer.sum.total, 300 * SECOND);
	assert_int_equal(answer.sum.filmed, 300 * SECOND);
	store_answer_free(&answer);
	store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KEPT_TEST(test_turn_beside_a_reader),
		KEPT_TEST(test_its_own_word),
		KEPT_TEST(test_given_up),
		KEPT_TEST(test_never_begun),
		KEPT_TEST(test_beside_kept_films),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
