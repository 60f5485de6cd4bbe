// SPDX-License-Identifier: Apache-2.0
/* A store from the outside: every sample that was taken is in its films and in its index once. */
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/clock.h"
#include "film/writer.h"
#include "kept_store.h"
#include "store/ask.h"
#include "store/folder.h"
#include "store/index_private.h"
#include "store/room.h"

static void test_each_film_is_taken_once(void **state)
{
	struct store *store = open_store(0, 0);
	struct store_status status;
	bool again;

	(void)state;
	send_some(store, "agent-1", 3, BEGIN);
	assert_int_equal(send_film(store, "web7", "agent-1", 3, BEGIN, &again), 0);
	assert_true(again);
	assert_int_equal(send_film(store, "web7", "agent-2", 3, BEGIN, &again), 0);
	assert_false(again);
	tick(store, BEGIN + 100);
	assert_int_equal(indexed(store), 4 * SAMPLES);
	store_status(store, &status);
	assert_int_equal(status.films, 4);
	assert_int_equal(status.taken, 4);
	assert_int_equal(status.again, 1);
	assert_int_equal(status.hosts, 1);
	store_free(store);

	/* also after another start: not merged, merged, and without an index */
	store = open_store(0, 0);
	assert_int_equal(send_film(store, "web7", "agent-1", 2, BEGIN, &again), 0);
	assert_true(again);
	tick(store, BEGIN + 10000);
	tick(store, BEGIN + 10000);
	assert_int_equal(look().films, 1);
	assert_int_equal(look().packed, 1);
	store_free(store);
	store = open_store(0, 0);
	assert_int_equal(send_film(store, "web7", "agent-1", 3, BEGIN, &again), 0);
	assert_true(again);
	assert_int_equal(send_film(store, "web7", "agent-1", 4, BEGIN, &again), 0);
	assert_false(again);
	tick(store, BEGIN + 10000);
	assert_int_equal(indexed(store), 5 * SAMPLES);
	assert_int_equal(look().samples, 5 * SAMPLES);
	store_free(store);
}

/* A thread that moves films waits for a busy disk, and has the lock meanwhile. */
static void test_status_waits_for_nobody(void **state)
{
	struct store *store = open_store(0, 0);
	struct store_event events[2];
	struct store_status status;

	(void)state;
	send_some(store, "agent-1", 3, BEGIN);
	tick(store, BEGIN + 100);
	pthread_mutex_lock(&store->lock);
	store->taken++;
	store_status(store, &status);
	assert_int_equal(status.taken, 3);
	assert_int_equal(status.films, 3);
	assert_int_equal(status.hosts, 1);
	assert_true(status.bytes > 0);
	assert_int_equal(store_events(store, events, 2), 1);
	assert_string_equal(events[0].name, "on-cpu");
	pthread_mutex_unlock(&store->lock);
	store_status(store, &status);
	assert_int_equal(status.taken, 4);
	store_free(store);
}

/* Of a full index the status says how many samples stand in "[others]"; none is lost. */
static void test_full_index(void **state)
{
	struct store *store = open_store(0, 0);
	struct store_status status;

	(void)state;
	send_some(store, "a", 1, BEGIN);
	tick(store, BEGIN + 20);
	store_status(store, &status);
	assert_int_equal(status.in_others, 0);
	/* the next host would be the next series */
	store->index->dictionary.series.max = store->index->dictionary.series.count;
	assert_int_equal(send_film(store, "web8", "b", 1, BEGIN, &(bool){false}), 0);
	tick(store, BEGIN + 20);
	store_status(store, &status);
	assert_int_equal(status.in_others, SAMPLES);
	assert_int_equal(indexed(store), 2 * SAMPLES);
	store_free(store);
}

static void test_what_is_not_taken(void **state)
{
	struct store *store = open_store(0, 0);
	struct store_sender sender = {"web7", "", 0};
	struct fail why = {0};
	char path[128], long_name[300];
	bool again;
	FILE *file;

	(void)state;
	memset(long_name, 'a', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = 0;
	assert_int_equal(send_film(store, "", "a", 1, BEGIN, &again), -EINVAL);
	assert_int_equal(send_film(store, long_name, "a", 1, BEGIN, &again), -ENAMETOOLONG);
	assert_int_equal(send_film(store, "web7", "../a", 1, BEGIN, &again), -EINVAL);
	assert_int_equal(send_film(store, "web7", "a", 0, BEGIN, &again), -EINVAL);
	/* of next year */
	assert_int_equal(
		send_film(store, "web7", "a", 1,
			  (clock_ns() + (uint64_t)clock_wall_offset()) / SECOND + 366 * 86400,
			  &again),
		-EINVAL);
	snprintf(path, sizeof(path), "%s/sent.film", root);
	file = fopen(path, "w");
	fputs("no film", file);
	fclose(file);
	assert_int_equal(store_add_film(store, path, &sender, &again, &why), -EBADMSG);
	assert_int_equal(access(path, F_OK), -1);
	/* its catalogue is sound, and a block is not */
	make_film(path, BEGIN, NULL);
	{
		sqlite3 *db;

		assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
		sqlite3_exec(db, "UPDATE block SET total = total + 1", NULL, NULL, NULL);
		sqlite3_close(db);
	}
	assert_int_equal(store_add_film(store, path, &sender, &again, &why), -EBADMSG);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(look().films, 0);
	store_free(store);
}

static void test_hosts_of_any_name(void **state)
{
	static const char *const hosts[] = {"..",  ".",	    "a/b", "../../etc", "héuschen",
					    "%2E", "a b\n", "-rf", "~",		"films"};
	struct store *store = open_store(0, 0);
	char folder[FOLDER_HOST_MAX + 1], host[FOLDER_HOST_MAX + 1];
	size_t count = sizeof(hosts) / sizeof(hosts[0]);
	struct store_status status;
	bool again;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(folder_of_host(hosts[i], folder, NULL), 0);
		assert_null(strchr(folder, '/'));
		assert_true(folder[0] != '.');
		assert_true(folder_host_of(folder, host));
		assert_string_equal(host, hosts[i]);
		assert_int_equal(send_film(store, hosts[i], "", 0, BEGIN, &again), 0);
	}
	tick(store, BEGIN + 100);
	store_status(store, &status);
	assert_int_equal(status.hosts, count);
	assert_int_equal(look().films, count);
	assert_int_equal(indexed(store), count * SAMPLES);
	store_free(store);
}

static void test_paths_for_the_recorder(void **state)
{
	struct store *store = open_store(0, 0), *other = NULL;
	struct store_options options = {store_path, 0, 0, NULL};
	char path[256], small[16];
	struct fail why = {0};

	(void)state;
	assert_int_equal(store_open(&options, &other, &why), -EBUSY);
	assert_int_equal(store_film_path(store, "me", BEGIN * SECOND, path, sizeof(path), NULL), 0);
	assert_string_equal(path + strlen(store_path), "/films/me/2026-01-02/03.film");
	make_film(path, BEGIN, NULL);
	assert_int_equal(store_film_path(store, "me", BEGIN * SECOND, path, sizeof(path), NULL), 0);
	assert_string_equal(path + strlen(store_path), "/films/me/2026-01-02/03.2.film");
	assert_int_equal(store_film_path(store, "me", BEGIN * SECOND, small, sizeof(small), &why),
			 -ENAMETOOLONG);
	store_free(store);
	store = open_store(0, 0);
	assert_int_equal(store_film_path(store, "me", BEGIN * SECOND, path, sizeof(path), NULL), 0);
	assert_string_equal(path + strlen(store_path), "/films/me/2026-01-02/03.2.film");
	make_film(path, BEGIN + 60, NULL);
	/* while it is recorded, and once that is over */
	tick(store, BEGIN + 100);
	assert_int_equal(indexed(store), 2 * SAMPLES);
	store_film_done(store, path);
	for (int i = 0; i < 6; i++)
		tick(store, BEGIN + 3600 + 200);
	assert_int_equal(look().films, 1);
	assert_int_equal(look().samples, 2 * SAMPLES);
	assert_int_equal(indexed(store), 2 * SAMPLES);
	store_free(store);
}

enum {
	LONG = 1200 /* s: so long that the index answers, be it late */
};

/* Seconds behind BEGIN. */
static uint64_t complete_until(struct store *store, const char *host,
			       const struct question *question)
{
	struct store_ask ask = {
		.from = BEGIN * SECOND,
		.to = (BEGIN + LONG) * SECOND,
		.host = host,
		.question = question,
	};
	struct store_answer answer = {0};
	uint64_t until;

	assert_int_equal(store_flame(store, &ask, &answer, NULL), 0);
	until = answer.sum.complete_until;
	assert_int_equal(until % SECOND, 0);
	store_answer_free(&answer);
	return until / SECOND - BEGIN;
}

static uint64_t filmed(struct store *store, uint64_t from, uint64_t to, const char *host,
		       bool by_films)
{
	const char *all = "*";
	struct question question = {.filter.comms = {.at = &all, .count = by_films}};
	struct store_ask ask = {
		.from = (BEGIN + from) * SECOND,
		.to = (BEGIN + to) * SECOND,
		.host = host,
		.question = &question,
	};
	struct store_answer answer = {0};
	uint64_t ns;

	assert_int_equal(store_flame(store, &ask, &answer, NULL), 0);
	assert_true(answer.sum.by_films == by_films);
	ns = answer.sum.filmed;
	store_answer_free(&answer);
	assert_int_equal(ns % SECOND, 0);
	return ns / SECOND;
}

/* An average is of the time of which there are films: each second counts once, and gaps do not. */
static void test_filmed(void **state)
{
	struct store *store = open_store(0, 0);
	bool again;

	(void)state;
	/* of ten seconds each */
	assert_int_equal(send_film(store, "web7", "a", 1, BEGIN + 100, &again), 0);
	assert_int_equal(send_film(store, "web8", "b", 1, BEGIN + 105, &again), 0);
	assert_int_equal(send_film(store, "web7", "a", 2, BEGIN + 200, &again), 0);
	tick(store, BEGIN + 300);
	for (int by_films = 0; by_films < 2; by_films++) {
		assert_int_equal(filmed(store, 0, 600, NULL, by_films), 25);
		assert_int_equal(filmed(store, 0, 600, "web7", by_films), 20);
		assert_int_equal(filmed(store, 0, 600, "web8", by_films), 10);
		assert_int_equal(filmed(store, 600, 1200, NULL, by_films), 0);
	}
	/* whole minutes, and what was asked */
	assert_int_equal(filmed(store, 60, 360, NULL, false), 25);
	assert_int_equal(filmed(store, 108, 208, NULL, true), 15);
	store_free(store);
}

/*
 * Answers say until when they are complete: a film that grows has more than the index, and than
 * names.
 */
static void test_complete_until(void **state)
{
	struct store *store = open_store(0, 0);
	struct film_info info = {.version = "1",
				 .hostname = "me",
				 .start = SECOND,
				 .wall_offset = (int64_t)(BEGIN * SECOND)};
	struct film_event event = {"on-cpu", "ns", "", 99};
	const char *all = "*";
	struct question by_films = {.filter.comms = {.at = &all, .count = 1}};
	struct film_writer *w = NULL;
	char path[256];

	(void)state;
	assert_int_equal(store_film_path(store, "you", BEGIN * SECOND, path, sizeof(path), NULL),
			 0);
	make_film(path, BEGIN, NULL);
	assert_int_equal(store_film_path(store, "me", BEGIN * SECOND, path, sizeof(path), NULL), 0);
	assert_int_equal(film_create(path, &info, &w, NULL), 0);
	film_names_follow(w);
	film_add_event(w, &event);
	film_sample(w, 1, 2 * SECOND, 0, 0, 1);
	film_names_settled(w);
	assert_int_equal(film_commit(w, 4 * SECOND, true, NULL), 0);
	film_sample(w, 1, 5 * SECOND, 0, 0, 1);
	assert_int_equal(film_commit(w, 6 * SECOND, true, NULL), 0);
	/* nothing was looked at */
	assert_int_equal(complete_until(store, NULL, NULL), 0);
	assert_int_equal(complete_until(store, "you", NULL), 0);
	tick(store, BEGIN + 100);
	assert_int_equal(complete_until(store, NULL, NULL), 4);
	assert_int_equal(complete_until(store, "me", NULL), 4);
	assert_int_equal(complete_until(store, "me", &by_films), 6);
	/* it has ended, and there is no other */
	assert_int_equal(complete_until(store, "you", NULL), LONG);
	assert_int_equal(complete_until(store, "you", &by_films), LONG);
	assert_int_equal(film_close(w, 7 * SECOND, NULL), 0);
	store_free(store);
	store = open_store(0, 0);
	tick(store, BEGIN + 100);
	assert_int_equal(complete_until(store, NULL, NULL), LONG);
	store_free(store);
}

/*
 * The second film of an hour: what comes before it is complete, and between two ticks the index
 * goes on.
 */
static void test_next_film(void **state)
{
	struct film_info info = {
		.version = "1",
		.hostname = "me",
		.kernel = "6.1",
		.arch = "x86_64",
		.command = "stackcam serve",
		.labels = "",
		.cpus = 2,
		.start = 600 * SECOND,
		.wall_offset = (int64_t)(BEGIN * SECOND),
	};
	struct film_event event = {"on-cpu", "ns", "cpu-clock", 99};
	struct store *store = open_store(0, 0);
	struct film_writer *w = NULL;
	struct fail why = {0};
	char path[256];

	(void)state;
	assert_int_equal(store_film_path(store, "me", BEGIN * SECOND, path, sizeof(path), NULL), 0);
	make_film(path, BEGIN, NULL);
	tick(store, BEGIN + 100);
	assert_int_equal(complete_until(store, NULL, NULL), LONG);
	assert_int_equal(
		store_film_path(store, "me", (BEGIN + 600) * SECOND, path, sizeof(path), NULL), 0);
	assert_string_equal(path + strlen(store_path), "/films/me/2026-01-02/03.2.film");
	assert_int_equal(complete_until(store, NULL, NULL), 599);
	assert_int_equal(film_create(path, &info, &w, NULL), 0);
	film_names_follow(w);
	film_add_event(w, &event);
	film_sample(w, 1, 602 * SECOND, 0, 0, 1);
	film_names_settled(w);
	assert_int_equal(film_commit(w, 604 * SECOND, true, NULL), 0);
	assert_int_equal(store_follow(store, &why), 0);
	assert_int_equal(complete_until(store, NULL, NULL), 604);
	assert_int_equal(indexed(store), SAMPLES + 1);
	assert_int_equal(film_close(w, 605 * SECOND, NULL), 0);
	store_free(store);
}

/* Samples of the seconds [from, to) behind BEGIN, and whether films answered. */
static uint64_t samples_of(struct store *store, uint64_t from, uint64_t to, bool *by_films)
{
	struct store_ask ask = {.from = (BEGIN + from) * SECOND, .to = (BEGIN + to) * SECOND};
	struct store_answer answer = {0};
	uint64_t samples;

	assert_int_equal(store_flame(store, &ask, &answer, NULL), 0);
	assert_int_equal(answer.sum.films_damaged, 0);
	samples = answer.sum.samples;
	*by_films = answer.sum.by_films;
	store_answer_free(&answer);
	return samples;
}

/*
 * What the index does not yet know of a film that grows comes from the film, when the latest is
 * asked for.
 */
static void test_latest_of_a_late_index(void **state)
{
	struct store *store = open_store(0, 0);
	struct film_info info = {.version = "1",
				 .hostname = "me",
				 .start = SECOND,
				 .wall_offset = (int64_t)(BEGIN * SECOND)};
	struct film_event event = {"on-cpu", "ns", "", 99};
	const char *any = "*";
	struct question question = {.filter.comms = {.at = &any, .count = 1}};
	struct store_ask all = {.question = &question};
	struct store_answer answer = {0};
	struct film_writer *w = NULL;
	bool by_films;
	char path[256];

	(void)state;
	assert_int_equal(store_film_path(store, "me", BEGIN * SECOND, path, sizeof(path), NULL), 0);
	/* the recorder has not begun it */
	assert_int_equal(samples_of(store, 0, 300, &by_films), 0);
	assert_int_equal(film_create(path, &info, &w, NULL), 0);
	film_add_event(w, &event);
	film_sample(w, 1, 2 * SECOND, 0, 0, 1);
	assert_int_equal(film_commit(w, 4 * SECOND, true, NULL), 0);
	/* nothing was looked at */
	assert_int_equal(samples_of(store, 0, 300, &by_films), 1);
	assert_true(by_films);
	tick(store, BEGIN + 5);
	film_sample(w, 1, 200 * SECOND, 0, 0, 1);
	assert_int_equal(film_commit(w, 201 * SECOND, true, NULL), 0);
	/* as far as the index knows, the film ended before */
	assert_int_equal(samples_of(store, 120, 300, &by_films), 1);
	assert_true(by_films);
	assert_int_equal(samples_of(store, 0, LONG, &by_films), 1);
	assert_false(by_films);
	/* nor does it know when all that is there ends */
	assert_int_equal(store_flame(store, &all, &answer, NULL), 0);
	assert_int_equal(answer.sum.samples, 2);
	store_answer_free(&answer);
	assert_int_equal(film_close(w, 202 * SECOND, NULL), 0);
	store_free(store);
}

static void test_single_film(void **state)
{
	struct store *store = NULL;
	struct store_status status;
	struct fail why = {0};
	char path[128];
	bool again;

	(void)state;
	snprintf(path, sizeof(path), "%s/one.film", root);
	make_film(path, BEGIN, "env=prod");
	assert_int_equal(store_open_film(path, &store, &why), 0);
	assert_int_equal(indexed(store), SAMPLES);
	tick(store, BEGIN + 1000);
	store_status(store, &status);
	assert_int_equal(status.films, 1);
	assert_true(status.bytes > 1000);
	assert_int_equal(send_film(store, "a", "a", 1, BEGIN, &again), -EROFS);
	store_free(store);
	assert_int_equal(store_open_film("/no/such.film", &store, &why), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KEPT_TEST(test_each_film_is_taken_once),
		KEPT_TEST(test_status_waits_for_nobody),
		KEPT_TEST(test_full_index),
		KEPT_TEST(test_what_is_not_taken),
		KEPT_TEST(test_hosts_of_any_name),
		KEPT_TEST(test_paths_for_the_recorder),
		KEPT_TEST(test_complete_until),
		KEPT_TEST(test_filmed),
		KEPT_TEST(test_next_film),
		KEPT_TEST(test_latest_of_a_late_index),
		KEPT_TEST(test_single_film),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
