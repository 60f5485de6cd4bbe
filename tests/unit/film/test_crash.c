// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/clock.h"
#include "base/database.h"
#include "base/map.h"
#include "make.h"

/* Commits without end, and one byte to the pipe after each. */
static void commit_until_killed(struct film_writer *w, int to)
{
	uint64_t second;

	for (second = 0;; second++) {
		put_second(w, second);
		commit(w, test_info.start + (second + 1) * SECOND);
		if (write(to, "x", 1) != 1)
			_exit(1);
	}
}

static void write_until_killed(const char *path, int to)
{
	commit_until_killed(create(path), to);
}

static void write_aside_until_killed(const char *path, int to)
{
	struct film_writer *w = create(path);

	film_keep_aside(w);
	commit_until_killed(w, to);
}

/* Kills it once it has written that many bytes, and some time is over. */
static uint64_t kill_after(pid_t pid, int from, uint64_t least, useconds_t delay)
{
	uint64_t finished = 0;
	char bytes[256];
	ssize_t n;

	while (finished < least && (n = read(from, bytes, sizeof(bytes))) > 0)
		finished += (uint64_t)n;
	usleep(delay);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		finished += (uint64_t)n;
	close(from);
	return finished;
}

/* Runs recorder(path, pipe) in a process that is killed at some moment; returns bytes it wrote. */
static uint64_t run_and_kill(void (*recorder)(const char *path, int to), const char *path,
			     uint64_t least, useconds_t delay)
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		close(ends[0]);
		recorder(path, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	return kill_after(pid, ends[0], least, delay);
}

static void kill_again_and_again(void (*recorder)(const char *path, int to))
{
	unsigned int round;

	for (round = 0; round < 25; round++) {
		const char *path = new_path();
		useconds_t delay = 5000 + (useconds_t)(hash_u64(round) % 40000);
		uint64_t finished = run_and_kill(recorder, path, 0, delay);

		if (finished) {
			struct film *film = open_film(path);

			check_seconds(film, finished);
			check_promises(film);
			film_free(film);
		}
		remove_folder();
	}
}

static void test_kill_while_recording(void **state)
{
	(void)state;
	kill_again_and_again(write_until_killed);
}

static void test_kill_with_commits_aside(void **state)
{
	(void)state;
	kill_again_and_again(write_aside_until_killed);
}

/* Of a film that was copied without its side files. */
static void test_few_commits_are_aside(void **state)
{
	const char *path = new_path();
	uint64_t finished = run_and_kill(write_aside_until_killed, path, 20, 0);
	struct film *film;
	char side[256];

	(void)state;
	assert_in_range(finished, 20, UINT64_MAX);
	snprintf(side, sizeof(side), "%s-wal", path);
	assert_int_equal(unlink(side), 0);
	snprintf(side, sizeof(side), "%s-shm", path);
	assert_int_equal(unlink(side), 0);
	film = open_film(path);
	/* the last ten, and one that was under way */
	assert_in_range(sum_of(film, 1).count, (finished - 11) * 100, (finished + 1) * 100);
	check_promises(film);
	film_free(film);
	remove_folder();
}

#define CALLS 1000 /* of one commit */

static void put_calls(struct film_writer *w, uint64_t commits)
{
	uint64_t i;

	for (i = commits * CALLS; i < (commits + 1) * CALLS; i++) {
		struct film_call call = {.end = test_info.start + i * 100,
					 .duration = 50 + i % 7,
					 .thread = 1,
					 .frame = native(w, 0x1000 + i % 10),
					 .depth = (uint16_t)(i % 3)};

		film_call(w, 1, &call);
	}
}

static void write_calls_until_killed(const char *path, int to)
{
	struct film_writer *w = create(path);
	uint64_t commits;

	for (commits = 0;; commits++) {
		put_calls(w, commits);
		commit(w, test_info.start + (commits + 1) * CALLS * 100);
		if (write(to, "x", 1) != 1)
			_exit(1);
	}
}

static int check_calls(void *context, const struct film_calls *calls)
{
	uint64_t *next = context;
	size_t i;

	for (i = 0; i < calls->count; i++, ++*next) {
		assert_int_equal(calls->end[i], test_info.start + *next * 100);
		assert_int_equal(calls->duration[i], 50 + *next % 7);
		assert_int_equal(calls->frame[i], 1 + *next % 10);
		assert_int_equal(calls->depth[i], *next % 3);
	}
	return 0;
}

static void test_kill_while_recording_calls(void **state)
{
	unsigned int round;

	(void)state;
	for (round = 0; round < 15; round++) {
		const char *path = new_path();
		useconds_t delay = 5000 + (useconds_t)(hash_u64(round) % 40000);
		uint64_t finished = run_and_kill(write_calls_until_killed, path, 0, delay),
			 next = 0;

		if (finished) {
			struct film *film = open_film(path);

			assert_int_equal(film_each_calls(film, 1, 0, UINT64_MAX, false, check_calls,
							 &next, NULL),
					 0);
			assert_true(next >= finished * CALLS);
			assert_int_equal(next % CALLS, 0);
			assert_int_equal(film_call_count(film, 1), next);
			check_promises(film);
			film_free(film);
		}
		remove_folder();
	}
}

static void record_again_and_again(const char *path, int to)
{
	(void)to;
	for (;;)
		write_seconds(path, 1);
}

/* How long it takes to record a film of a second, us: that depends on the machine and the build. */
static uint64_t time_of_a_film(const char *path)
{
	uint64_t begin = clock_ns();

	write_seconds(path, 1);
	return (clock_ns() - begin) / 1000;
}

/* Also in the middle of creating, closing and replacing: nothing is in the way of the next film. */
static void test_kill_at_any_moment(void **state)
{
	const char *path = new_path();
	uint64_t range = 3 * time_of_a_film(path);
	unsigned int round, opened = 0;

	(void)state;
	unlink(path);
	for (round = 0; round < 60; round++) {
		struct film *film = NULL;
		struct fail why = {0};

		run_and_kill(record_again_and_again, path, 0,
			     (useconds_t)(hash_u64(round) % range));
		if (!film_open(path, &film, &why)) {
			check_promises(film);
			opened++;
		} else if (why.err != -ENOENT && why.err != -EBADMSG) {
			fail_print(&why);
			assert_int_equal(why.err, 0);
		}
		film_free(film);
		write_seconds(path, 2);
		film = open_film(path);
		check_seconds(film, 2);
		film_free(film);
	}
	assert_true(opened > 0);
	remove_folder();
}

#define FRAMES 300

static void name_all(const char *path, int to)
{
	unsigned int version, frame;

	(void)to;
	for (version = 0;; version++) {
		struct film_writer *w;
		char text[32];
		struct film_name name = {.function = text};

		if (film_open_for_naming(path, &w, NULL))
			_exit(1);
		snprintf(text, sizeof(text), "version %u", version);
		for (frame = 1; frame <= FRAMES; frame++)
			film_name_frame(w, frame, &name, 1);
		if (film_close(w, 0, NULL))
			_exit(1);
	}
}

/* The names of one commit are there all or none, and the next one can go on. */
static void test_kill_while_naming(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create(path);
	unsigned int round, frame;

	(void)state;
	for (frame = 1; frame <= FRAMES; frame++)
		assert_int_equal(native(w, frame), frame);
	close_film(w, 6 * SECOND);
	for (round = 0; round < 20; round++) {
		struct film *film;

		run_and_kill(name_all, path, 0, 2000 + (useconds_t)(hash_u64(round) % 20000));
		film = open_film(path);
		check_promises(film);
		for (frame = 2; frame <= FRAMES; frame++)
			assert_int_equal(film->frames[frame].function, film->frames[1].function);
		assert_int_equal(film->info.end, 6 * SECOND);
		film_free(film);
	}
	remove_folder();
}

/* Fills the disk. Returns 0 if all went as it should. */
static int record_until_full(const char *path, int expected, bool aside)
{
	struct film_writer *w = create(path);
	uint64_t second = 0, written, samples, total;
	struct fail why = {0};
	struct film *film;
	char side[256];
	int err;

	if (aside)
		film_keep_aside(w);
	do {
		put_second(w, second);
		err = film_commit(w, test_info.start + (second + 1) * SECOND, true, &why);
		if (!err)
			second++;
	} while (!err && second < 10000);
	if (err != expected || !strstr(why.what, path) || second < 5) {
		fail_print(&why);
		return 1;
	}
	/* it stays like this, and closing says so too */
	put_second(w, second);
	if (film_commit(w, UINT64_MAX, true, NULL) != err ||
	    film_close_counted(w, UINT64_MAX, &written, &why) != err)
		return 2;
	film = open_film(path);
	film_event_total(film, 1, &samples, &total);
	if (!samples || written != samples)
		return 5;
	check_seconds(film, second);
	check_promises(film);
	if (film->info.end != test_info.start + second * SECOND)
		return 3;
	film_free(film);
	snprintf(side, sizeof(side), "%s-wal", path);
	return access(side, F_OK) ? 0 : 4;
}

static int with_small_files(const char *path, bool aside)
{
	struct rlimit limit = {100000, 100000};

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	return record_until_full(path, -EFBIG, aside);
}

static int on_small_disk(const char *path, bool aside)
{
	char *folder = strdup(path);

	*strrchr(folder, '/') = '\0';
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", folder, "tmpfs", 0, "size=200k"))
		return 77;
	free(folder);
	return record_until_full(path, -ENOSPC, aside);
}

/* On a disk with less and less room: a film that cannot begin leaves nothing there. */
static int begin_without_room(const char *path, bool aside)
{
	unsigned int refused = 0;

	(void)aside;
	signal(SIGXFSZ, SIG_IGN);
	for (rlim_t room = 0; room < 160000; room += 2048) {
		const struct rlimit limit = {room, RLIM_INFINITY};
		struct film_writer *w;
		bool is_made;

		setrlimit(RLIMIT_FSIZE, &limit);
		is_made = !film_create(path, &test_info, &w, NULL);
		refused += !is_made;
		if (is_made)
			film_close_failed(w, test_info.start, true);
		if (database_bytes(path) || !access(path, F_OK))
			return 3;
	}
	return refused > 5 ? 0 : 4;
}

static void run_apart(int (*check)(const char *path, bool aside), bool aside)
{
	const char *path = new_path();
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(check(path, aside));
	waitpid(pid, &status, 0);
	remove_folder();
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_file_size_limit(void **state)
{
	(void)state;
	run_apart(with_small_files, false);
	run_apart(with_small_files, true);
}

static void test_no_room_to_begin(void **state)
{
	(void)state;
	run_apart(begin_without_room, false);
}

static void test_disk_full(void **state)
{
	(void)state;
	run_apart(on_small_disk, false);
	run_apart(on_small_disk, true);
}

/* Reads the film each time the recorder says that another commit is done. */
static int follow(const char *path, int from, int to)
{
	struct film *film = NULL, *kept = NULL;
	uint64_t second = 0;
	char byte;

	while (read(from, &byte, 1) == 1 && byte == 'c') {
		film = open_film(path);
		check_seconds(film, ++second);
		if (second == 3)
			kept = film;
		else
			film_free(film);
		if (write(to, "r", 1) != 1)
			return 1;
	}
	/* the recorder closed the film while it was open here: it is still as it was */
	if (byte != 'e' || kept->info.end != test_info.start + 3 * SECOND)
		return 1;
	check_seconds(kept, 3);
	film_free(kept);
	return 0;
}

static void test_read_while_recording(void **state)
{
	const char *path = new_path();
	int commands[2], answers[2], status;
	struct film_writer *w;
	uint64_t second;
	char byte, side[256];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(commands) | pipe(answers), 0);
	pid = fork();
	if (!pid) {
		close(commands[1]);
		_exit(follow(path, commands[0], answers[1]));
	}
	close(answers[1]);
	w = create(path);
	for (second = 0; second < 10; second++) {
		put_second(w, second);
		commit(w, test_info.start + (second + 1) * SECOND);
		assert_int_equal(write(commands[1], "c", 1), 1);
		assert_int_equal(read(answers[0], &byte, 1), 1);
	}
	close_film(w, test_info.start + 10 * SECOND);
	snprintf(side, sizeof(side), "%s-wal", path);
	assert_int_not_equal(access(side, F_OK), 0);
	assert_int_equal(write(commands[1], "e", 1), 1);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	close(commands[0]);
	close(commands[1]);
	close(answers[0]);
	remove_folder();
}

/*
 * What is written to a film that has no name any more has no reader: the next commit says so.
 */
static void test_removed(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create(path);
	struct fail why = {0};
	uint64_t written = 1;

	(void)state;
	put_second(w, 0);
	commit(w, test_info.start + SECOND);
	assert_int_equal(unlink(path), 0);
	put_second(w, 1);
	assert_int_equal(film_commit(w, test_info.start + 2 * SECOND, true, &why), -ESTALE);
	assert_non_null(strstr(why.what, "removed while it was being written"));
	assert_int_equal(film_close_counted(w, test_info.start + 2 * SECOND, &written, NULL),
			 -ESTALE);
	assert_int_equal(written, 0);
	remove_folder();
}

/* Whether a film whose recording fails is still there afterwards. */
static bool stays(bool with_data, bool was_there, bool replaced, bool in_any_case)
{
	const char *path = new_path();
	struct film_writer *w;
	bool there;

	if (was_there)
		assert_int_equal(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
	w = create(path);
	if (with_data)
		put_second(w, 0);
	commit(w, test_info.start + SECOND);
	if (replaced) {
		assert_int_equal(unlink(path), 0);
		assert_int_equal(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
	}
	film_close_failed(w, test_info.start + SECOND, in_any_case);
	there = !access(path, F_OK);
	remove_folder();
	return there;
}

static void test_failed(void **state)
{
	(void)state;
	assert_false(stays(false, false, false, false));
	assert_true(stays(true, false, false, false));
	assert_false(stays(true, false, false, true));
	/* an empty file is replaced, and has nothing to be kept */
	assert_false(stays(false, true, false, true));
	assert_true(stays(false, false, true, true));
}

/* A disk that stands still does not hold up the caller. */
static void test_slow_disk(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create(path);
	struct timespec before, after;
	struct film *film;
	uint64_t second;
	sqlite3 *db;

	(void)state;
	commit(w, test_info.start);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	clock_gettime(CLOCK_MONOTONIC, &before);
	for (second = 0; second < 20; second++) {
		put_second(w, second);
		assert_int_equal(
			film_commit(w, test_info.start + (second + 1) * SECOND, false, NULL), 0);
	}
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_true((after.tv_sec - before.tv_sec) * 1000 +
			    (after.tv_nsec - before.tv_nsec) / 1000000 <
		    1000);
	sqlite3_close(db);
	close_film(w, test_info.start + 20 * SECOND);
	film = open_film(path);
	check_seconds(film, 20);
	film_free(film);
	remove_folder();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kill_while_recording),
		cmocka_unit_test(test_kill_with_commits_aside),
		cmocka_unit_test(test_few_commits_are_aside),
		cmocka_unit_test(test_kill_while_recording_calls),
		cmocka_unit_test(test_kill_at_any_moment),
		cmocka_unit_test(test_kill_while_naming),
		cmocka_unit_test(test_file_size_limit),
		cmocka_unit_test(test_no_room_to_begin),
		cmocka_unit_test(test_disk_full),
		cmocka_unit_test(test_read_while_recording),
		cmocka_unit_test(test_removed),
		cmocka_unit_test(test_failed),
		cmocka_unit_test(test_slow_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
