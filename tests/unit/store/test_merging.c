// SPDX-License-Identifier: Apache-2.0
/* Films become few, and every sample is there once, whenever the store is killed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "kept_store.h"

#include <cmocka.h>

/* Where a child ends, as if it was killed: before that many calls of what changes something. */
static long calls_left = -1, steps_left = -1;

static void count_down(long *left)
{
	if (*left >= 0 && --*left < 0)
		_exit(9);
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to)
{
	count_down(&calls_left);
	return __real_rename(from, to);
}

int __real_unlink(const char *path);
int __wrap_unlink(const char *path);
int __wrap_unlink(const char *path)
{
	count_down(&calls_left);
	return __real_unlink(path);
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	count_down(&calls_left);
	return __real_fsync(fd);
}

int __real_sqlite3_step(sqlite3_stmt *statement);
int __wrap_sqlite3_step(sqlite3_stmt *statement);
int __wrap_sqlite3_step(sqlite3_stmt *statement)
{
	count_down(&steps_left);
	return __real_sqlite3_step(statement);
}

/* Many small films become some, and one when their hour is over; films of other labels stay apart. */
static void test_films_become_few(void **state)
{
	struct store *store = open_store(0, 0);
	struct store_sender sender = {"web7", "", 0};
	struct store_status status;
	struct fail why = {0};
	char path[128];
	bool again;

	(void)state;
	send_some(store, "a", 31, BEGIN + 10);
	tick(store, BEGIN + 400);
	assert_int_equal(look().films, 1);
	send_some(store, "b", 2, BEGIN + 500);
	snprintf(path, sizeof(path), "%s/sent.film", root);
	make_film(path, BEGIN + 600, "env=test");
	assert_int_equal(store_take(store, path, &sender, &again, &why), 0);
	tick(store, BEGIN + 700);
	assert_int_equal(look().films, 4);
	assert_int_equal(look().parts, 3);
	assert_int_equal(indexed(store), 34 * SAMPLES);
	store_free(store);
	store = open_store(0, 0);
	for (int i = 0; i < 3; i++)
		tick(store, BEGIN + 3600 + 200);
	assert_int_equal(look().films, 2);
	assert_int_equal(look().packed, 2);
	assert_int_equal(look().samples, 34 * SAMPLES);
	assert_int_equal(indexed(store), 34 * SAMPLES);
	store_status(store, &status);
	assert_int_equal(status.films, 2);
	assert_int_equal(status.first, (BEGIN + 10) * SECOND);
	/* and what comes late joins them */
	assert_int_equal(send_film(store, "web7", "b", 9, BEGIN + 2000, &again), 0);
	tick(store, BEGIN + 3600 + 200);
	store_free(store);
	store = open_store(0, 0);
	for (int i = 0; i < 3; i++)
		tick(store, BEGIN + 3600 + 200);
	assert_int_equal(look().films, 2);
	assert_int_equal(look().samples, 35 * SAMPLES);
	assert_int_equal(indexed(store), 35 * SAMPLES);
	store_free(store);
}

/* Ends a child in the midst of its work; what is there afterwards is complete. True: it was done before that. */
static bool work_and_die(long *left, long after)
{
	pid_t pid = fork();
	struct store *store;
	struct fail why;
	int status;

	if (!pid) {
		struct store_options options = {store_path, 0, 0, NULL};

		*left = after;
		if (store_open(&options, &store, &why))
			_exit(1);
		for (int i = 0; i < 4; i++)
			store_tick(store, (BEGIN + 3600 + 200) * SECOND, &why);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_not_equal(WEXITSTATUS(status), 1);
	return !WEXITSTATUS(status);
}

static void die_and_check(long *left, long after, unsigned int *number, unsigned int *films)
{
	struct store *store = open_store(0, 0);
	char agent[16];

	/* something to do: films that become one, and then a part of the hour's film */
	snprintf(agent, sizeof(agent), "a%u", ++*number);
	send_some(store, agent, 3, BEGIN + 30 * *number);
	*films += 3;
	store_free(store);
	work_and_die(left, after);
	store = open_store(0, 0);
	for (int i = 0; i < 4; i++)
		tick(store, BEGIN + 3600 + 200);
	assert_int_equal(look().samples, *films * SAMPLES);
	assert_int_equal(look().films, 1);
	assert_int_equal(indexed(store), *films * SAMPLES);
	store_free(store);
}

static void test_killed_anywhere(void **state)
{
	unsigned int number = 0, films = 0;

	(void)state;
	for (long after = 0; after < 60; after++)
		die_and_check(&calls_left, after, &number, &films);
}

static void test_killed_between_statements(void **state)
{
	unsigned int number = 0, films = 0;

	(void)state;
	for (long after = 3; after < 1500; after += 1 + after / 6)
		die_and_check(&steps_left, after, &number, &films);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KEPT_TEST(test_films_become_few),
		KEPT_TEST(test_killed_anywhere),
		KEPT_TEST(test_killed_between_statements),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
