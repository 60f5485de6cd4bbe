// SPDX-License-Identifier: Apache-2.0
/* What is damaged, full or killed costs nothing else. */
#include "../prelude.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <sqlite3.h>

#include "film/schema.h"
#include "film/writer.h"
#include "store/ask.h"
#include "store/folder.h"
#include "kept_store.h"
#include "killed.h"

static void damage(const char *name, const char *with)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", store_path, name);
	file = fopen(path, "r+");
	assert_non_null(file);
	fseek(file, 3000, SEEK_SET);
	for (int i = 0; i < 2000; i++)
		fputs(with, file);
	fclose(file);
}

static void test_damaged_films(void **state)
{
	struct store *store = open_store(0, 0);
	struct store_status status;
	bool again;

	(void)state;
	assert_int_equal(send_film(store, "a", "a", 1, BEGIN, &again), 0);
	assert_int_equal(send_film(store, "b", "b", 1, BEGIN, &again), 0);
	assert_int_equal(send_film(store, "c", "c", 1, BEGIN, &again), 0);
	/* one before it was looked at, one after */
	damage("inbox/a/1767322800_a_1.film", "bad");
	tick(store, BEGIN + 100);
	store_status(store, &status);
	assert_int_equal(status.set_aside, 1);
	assert_int_equal(indexed(store), 2 * SAMPLES);
	damage("inbox/b/1767322800_b_1.film", "bad");
	store_free(store);
	store = open_store(0, 0);
	for (int i = 0; i < 3; i++)
		tick(store, BEGIN + 10000);
	store_status(store, &status);
	assert_int_equal(status.set_aside, 1);
	assert_int_equal(status.films, 1);
	assert_int_equal(look().samples, SAMPLES);
	store_free(store);
}

/* Gaps that the store tells. */
static unsigned int gaps(struct store *store)
{
	struct store_ask ask = {.from = 1, .to = INT64_MAX};
	struct store_answer answer = {0};
	unsigned int count;

	assert_int_equal(store_flame(store, &ask, &answer, NULL), 0);
	count = answer.sum.films_damaged;
	store_answer_free(&answer);
	return count;
}

/* Films of aside/. */
static unsigned int count_aside(void)
{
	char path[256], name[FOLDER_NAME_MAX];
	unsigned int count = 0;
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/aside", store_path);
	dir = opendir(path);
	assert_non_null(dir);
	while ((entry = readdir(dir)))
		count += folder_parse_aside(entry->d_name, name);
	closedir(dir);
	return count;
}

/* Of a film, as if another version of stackcam had written it. */
static void set_version(const char *name, int version)
{
	char path[256], sql[64];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/%s", store_path, name);
	snprintf(sql, sizeof(sql), "PRAGMA user_version = %d", version);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void keep_words(void *context, const char *words)
{
	snprintf(context, 512, "%s", words);
}

/*
 * A user who goes back to an earlier stackcam finds the later one's films as they were; one who
 * goes on has them again.
 */
static void test_films_of_a_later_version(void **state)
{
	char words[512] = "";
	struct store_options options = {.path = store_path,
					.bytes_max = 1,
					.age_max = 1,
					.log = keep_words,
					.context = words};
	struct store *store = open_store(0, 0);
	struct store_status status;
	struct fail why = {0};
	bool again;

	(void)state;
	assert_int_equal(send_film(store, "a", "a", 1, BEGIN, &again), 0);
	store_free(store);
	set_version("inbox/a/1767322800_a_1.film", 1000);
	assert_int_equal(store_open(&options, &store, &why), 0);
	for (int i = 0; i < 5; i++)
		tick(store, BEGIN + 10000);
	assert_non_null(strstr(words, "inbox/a/1767322800_a_1.film has version 1000"));
	store_status(store, &status);
	assert_int_equal(status.later, 1);
	assert_int_equal(status.set_aside, 0);
	assert_int_equal(status.removed, 0);
	assert_int_equal(count_aside(), 0);
	assert_int_equal(gaps(store), 1);
	store_free(store);
	set_version("inbox/a/1767322800_a_1.film", FILM_SCHEMA_VERSION);
	store = open_store(0, 0);
	tick(store, BEGIN + 10000);
	assert_int_equal(look().samples, SAMPLES);
	assert_int_equal(gaps(store), 0);
	store_free(store);
}

/* While nothing can be written it stays where it is; then the index learns it, and it is moved. */
static void test_damaged_and_full(void **state)
{
	struct store *store = open_store(0, 0);
	struct store_status status;
	struct rlimit usual, none;
	struct fail why = {0};
	bool again;

	(void)state;
	assert_int_equal(send_film(store, "a", "a", 1, BEGIN, &again), 0);
	assert_int_equal(send_film(store, "b", "b", 1, BEGIN, &again), 0);
	tick(store, BEGIN + 100);
	assert_int_equal(indexed(store), 2 * SAMPLES);
	damage("inbox/b/1767322800_b_1.film", "bad");
	store_free(store);
	store = open_store(0, 0);
	/* files cannot be written */
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
	none = (struct rlimit){0, usual.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	assert_int_not_equal(store_tick(store, (BEGIN + 200) * SECOND, &why), 0);
	store_status(store, &status);
	assert_int_equal(status.set_aside, 0);
	assert_int_equal(status.films, 2);
	assert_int_equal(indexed(store), 2 * SAMPLES);
	assert_int_equal(gaps(store), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
	tick(store, BEGIN + 300);
	assert_int_equal(indexed(store), SAMPLES);
	assert_int_equal(gaps(store), 1);
	store_status(store, &status);
	assert_int_equal(status.set_aside, 1);
	assert_int_equal(status.films, 1);
	store_free(store);
}

/*
 * A film that was looked at before and one that was not: each is one gap, whenever the store is
 * killed.
 */
static void damage_and_die(long *left, long after)
{
	struct store *store;
	bool again;

	assert_int_equal(kept_set_up(NULL), 0);
	store = open_store(0, 0);
	assert_int_equal(send_film(store, "good", "g", 1, BEGIN, &again), 0);
	assert_int_equal(send_film(store, "a_b", "a", 1, BEGIN, &again), 0);
	tick(store, BEGIN + 100);
	assert_int_equal(send_film(store, "b", "b", 1, BEGIN, &again), 0);
	store_free(store);
	damage("inbox/a_b/1767322800_a_1.film", "bad");
	damage("inbox/b/1767322800_b_1.film", "bad");
	work_and_die(left, after);
	store = open_store(0, 0);
	tick(store, BEGIN + 100);
	assert_int_equal(gaps(store), 2);
	assert_int_equal(indexed(store), SAMPLES);
	assert_int_equal(count_aside(), 2);
	assert_int_equal(look().films, 1);
	store_free(store);
	kept_tear_down(NULL);
}

static void test_damaged_and_killed(void **state)
{
	(void)state;
	for (long after = 0; after < 20; after++)
		damage_and_die(&calls_left, after);
	for (long after = 0; after < 300; after += 1 + after / 12)
		damage_and_die(&steps_left, after);
}

/* What was set aside is a gap for an index that is made anew, too; and stays one. */
static void test_gaps_of_new_index(void **state)
{
	struct store *store = open_store(0, 0);
	char command[256];
	bool again;

	(void)state;
	assert_int_equal(send_film(store, "good", "g", 1, BEGIN, &again), 0);
	assert_int_equal(send_film(store, "a_b", "a-1", 1, BEGIN, &again), 0);
	damage("inbox/a_b/1767322800_a-1_1.film", "bad");
	tick(store, BEGIN + 100);
	assert_int_equal(gaps(store), 1);
	store_free(store);
	snprintf(command, sizeof(command), "rm -f %s/index.db*", store_path);
	assert_int_equal(system(command), 0);
	for (int i = 0; i < 2; i++) {
		store = open_store(0, 0);
		tick(store, BEGIN + 100);
		assert_int_equal(gaps(store), 1);
		assert_int_equal(indexed(store), SAMPLES);
		store_free(store);
	}
}

/* Names of aside/ and back, those of hosts that have what stands between their parts, too. */
static void test_names_aside(void **state)
{
	static const char *const names[] = {
		"films/web7/2026-11-21/14.film",	   "films/a_b__/2026-11-21/14.2.film",
		"films/_2026-11-21_14/2026-11-21/14.film", "inbox/web7/1767322800_a-1_7.film",
		"inbox/a_1_b_2/1767322800__7.film",
	};
	static const char *const others[] = {
		"1.000000000_index.db",
		"1.000000000_films_web7_2026-11-21_14.film-wal",
		"films_web7_2026-11-21_14.film",
		"1.0_films_2026-11-21_14.film",
		"1.0_inbox_7.film",
		"1.0_inbox___.film",
		"1.0_",
		"1.0",
		"",
	};
	char aside[FOLDER_NAME_MAX], name[FOLDER_NAME_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		folder_aside_name(aside, sizeof(aside), names[i], BEGIN * SECOND + 5);
		assert_null(strchr(aside, '/'));
		assert_true(folder_parse_aside(aside, name));
		assert_string_equal(name, names[i]);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(folder_parse_aside(others[i], name));
}

static void test_damaged_index(void **state)
{
	struct store *store = open_store(0, 0);
	struct store_status status;

	(void)state;
	send_some(store, "a", 4, BEGIN);
	tick(store, BEGIN + 100);
	store_free(store);
	damage("index.db", "\xff\xfe");
	store = open_store(0, 0);
	for (int i = 0; i < 3; i++)
		tick(store, BEGIN + 100);
	assert_int_equal(indexed(store), 4 * SAMPLES);
	assert_int_equal(look().samples, 4 * SAMPLES);
	store_status(store, &status);
	assert_int_equal(status.set_aside, 1);
	store_free(store);
	/* no index at all, and half a merge */
	{
		char command[256];

		snprintf(command, sizeof(command),
			 "cd %s && rm -f index.db* && echo films/x > merge.list && echo > "
			 "merge.film",
			 store_path);
		assert_int_equal(system(command), 0);
	}
	store = open_store(0, 0);
	tick(store, BEGIN + 100);
	assert_int_equal(indexed(store), 4 * SAMPLES);
	store_free(store);
}

/* A recorder that was killed leaves a film with what SQLite wrote beside it. */
static void test_killed_recorder(void **state)
{
	struct store *store = open_store(0, 0);
	const char *all = "*";
	struct question question = {0};
	struct store_ask ask = {
		.from = BEGIN * SECOND, .to = (BEGIN + 900) * SECOND, .question = &question};
	struct store_answer answer;
	char path[256], wal[300];
	pid_t pid;
	int status;

	(void)state;
	assert_int_equal(store_film_path(store, "me", BEGIN * SECOND, path, sizeof(path), NULL), 0);
	store_free(store);
	pid = fork();
	if (!pid) {
		struct film_info info = {.version = "1",
					 .hostname = "me",
					 .start = SECOND,
					 .wall_offset = (int64_t)(BEGIN * SECOND)};
		struct film_event event = {"on-cpu", "ns", "", 99};
		struct film_writer *w = NULL;

		film_create(path, &info, &w, NULL);
		film_add_event(w, &event);
		film_sample(w, 1, 2 * SECOND, 0, 0, 1);
		film_commit(w, 3 * SECOND, true, NULL);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	snprintf(wal, sizeof(wal), "%s-wal", path);
	assert_int_equal(access(wal, F_OK), 0);
	store = open_store(0, 0);
	tick(store, BEGIN + 100);
	/* no process writes it any more: a reader has all that there will be */
	question.filter.comms.at = &all;
	question.filter.comms.count = 1;
	assert_int_equal(store_flame(store, &ask, &answer, NULL), 0);
	assert_true(answer.sum.by_films);
	assert_int_equal(answer.sum.samples, 1);
	assert_true(answer.sum.complete_until == answer.sum.to);
	store_answer_free(&answer);
	for (int i = 0; i < 3; i++)
		tick(store, BEGIN + 3600 + 200);
	assert_int_equal(indexed(store), 1);
	assert_int_equal(look().packed, 1);
	assert_int_equal(access(wal, F_OK), -1);
	store_free(store);
}

static void test_full_disk(void **state)
{
	struct store *store;
	struct store_status status;
	struct store_sender sender = {"web8", "b", 1};
	char filler[128], path[128];
	struct fail why = {0};
	unsigned int taken;
	bool again;
	int fd, err;

	(void)state;
	assert_int_equal(mkdir(store_path, 0700), 0);
	if (mount("tmpfs", store_path, "tmpfs", 0, "size=1500k")) {
		skip();
		return;
	}
	spool = store_path;
	store = open_store(0, 0);
	send_some(store, "a", 3, BEGIN);
	tick(store, BEGIN + 100);
	snprintf(path, sizeof(path), "%s/sent.film", store_path);
	make_film(path, BEGIN, NULL);
	snprintf(filler, sizeof(filler), "%s/filler", store_path);
	fd = open(filler, O_CREAT | O_WRONLY, 0600);
	while (write(fd, root, sizeof(root)) > 0)
		;
	close(fd);
	/* no part may be known afterwards, if it was not taken */
	err = store_add_film(store, path, &sender, &again, &why);
	assert_true(!err || err == -ENOSPC);
	taken = err ? 3 : 4;
	store_free(store);
	store = open_store(0, 0);
	for (int i = 0; i < 3; i++) {
		store_tick(store, (BEGIN + 10000) * SECOND, &why);
	}
	store_status(store, &status);
	assert_true(status.is_full);
	assert_int_equal(look().samples, taken * SAMPLES);
	/* and when there is room again */
	unlink(filler);
	for (int i = 0; i < 3; i++)
		tick(store, BEGIN + 10000);
	store_status(store, &status);
	assert_false(status.is_full);
	assert_int_equal(look().films, taken == 4 ? 2 : 1);
	assert_int_equal(look().samples, taken * SAMPLES);
	assert_int_equal(indexed(store), taken * SAMPLES);
	store_free(store);
	umount(store_path);
}

/* A film of summed calls, of that many hours, at the path from which films are sent. */
static void make_sums(char path[128], uint64_t hours)
{
	struct film_info info = {
		.version = "1",
		.hostname = "web7",
		.kernel = "6.1",
		.arch = "x86_64",
		.command = "stackcam trace",
		.start = SECOND,
		.wall_offset = (int64_t)(BEGIN * SECOND),
	};
	struct film_event event = {"calls", "ns", "uprobe", 0};
	struct film_image image = {FILM_IMAGE_FILE, "/usr/bin/app", {1, 2}, 2};
	struct film_sum sum = {.calls = 1, .total = 10, .self = 10, .min = 10, .max = 10};
	struct film_writer *w = NULL;

	snprintf(path, 128, "%s/sums.film", spool);
	assert_int_equal(film_create(path, &info, &w, NULL), 0);
	film_add_event(w, &event);
	film_add_image(w, &image);
	sum.frame = film_frame(w, 1, FILM_FRAME_NATIVE, 0x1000);
	sum.buckets[3] = 1;
	film_sum(w, 1, SECOND, 2 * SECOND, &sum);
	assert_int_equal(film_close(w, SECOND + hours * HOUR, NULL), 0);
}

static int take_sums(struct store *store, const char *path, uint64_t number)
{
	struct store_sender sender = {"web7", "a", number};
	struct fail why = {0};
	bool again;
	int err = store_add_film(store, path, &sender, &again, &why);

	assert_int_equal(why.err, err);
	assert_int_equal(access(path, F_OK), -1);
	return err;
}

/* What only some verbs read is read, too, before a film is taken; and how long it is. */
static void test_sums_and_lengths(void **state)
{
	struct store *store = open_store(0, 0);
	char path[128];
	sqlite3 *db;

	(void)state;
	make_sums(path, 1);
	assert_int_equal(take_sums(store, path, 1), 0);
	make_sums(path, 1);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "UPDATE block SET data = x'0102'", NULL, NULL, NULL), 0);
	assert_int_equal(sqlite3_changes(db), 1);
	sqlite3_close(db);
	assert_int_equal(take_sums(store, path, 2), -EBADMSG);
	make_sums(path, 10000);
	assert_int_equal(take_sums(store, path, 3), -EINVAL);
	store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KEPT_TEST(test_damaged_films),
		KEPT_TEST(test_damaged_index),
		KEPT_TEST(test_damaged_and_full),
		KEPT_TEST(test_killed_recorder),
		KEPT_TEST(test_full_disk),
		KEPT_TEST(test_sums_and_lengths),
		KEPT_TEST(test_gaps_of_new_index),
		KEPT_TEST(test_films_of_a_later_version),
		cmocka_unit_test(test_damaged_and_killed),
		cmocka_unit_test(test_names_aside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
