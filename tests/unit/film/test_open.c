// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/buf.h"
#include "base/map.h"
#include "make.h"

#include "film/catalogue.h"
#include "film/create.h"

static void write_file(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

static struct buf read_file(const char *path)
{
	struct buf b = {0};
	uint8_t bytes[4096];
	int fd = open(path, O_RDONLY);
	ssize_t n;

	assert_true(fd >= 0);
	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		buf_put(&b, bytes, (size_t)n);
	close(fd);
	assert_false(b.failed);
	return b;
}

static void assert_refused(const char *path, int err, const char *words)
{
	struct film *film = NULL;
	struct fail why = {0};

	assert_int_equal(film_open(path, &film, &why), err);
	assert_int_equal(why.err, err);
	assert_null(film);
	if (!strstr(why.what, words))
		fail_print(&why);
	assert_non_null(strstr(why.what, words));
	assert_non_null(strstr(why.what, path));
}

static void test_not_films(void **state)
{
	const char *path = new_path();
	char text[] = "Once upon a time there was a file of more than a hundred bytes, which was "
		      "not a film, not even a database, only a short tale.";

	(void)state;
	assert_refused(path, -ENOENT, "no such file");
	assert_refused("/tmp", -EISDIR, "is a directory");
	assert_refused("/dev/null", -EBADMSG, "not a regular file");
	write_file(path, "", 0);
	assert_refused(path, -EBADMSG, "is empty");
	write_file(path, "xy", 2);
	assert_refused(path, -EBADMSG, "is not a film");
	write_file(path, text, sizeof(text));
	assert_refused(path, -EBADMSG, "is not a film");
	unlink(path);
	change_film(path, "CREATE TABLE t(x)");
	assert_refused(path, -EBADMSG, "another program");
	remove_folder();
}

static void test_other_schemas(void **state)
{
	static const struct {
		const char *change, *words;
		int err;
	} cases[] = {
		{"PRAGMA user_version = 4", "version 4", -EPROTONOSUPPORT},
		{"PRAGMA user_version = 0", "version 0", -EPROTONOSUPPORT},
		{"PRAGMA application_id = 1", "another program", -EBADMSG},
		{"PRAGMA user_version = 1", "no film has a table \"process\"", -EBADMSG},
		{"PRAGMA user_version = 2", "no film has a table \"process\"", -EBADMSG},
		{"CREATE TABLE more(x)", "no film has a table \"more\"", -EBADMSG},
		{"CREATE VIEW v AS SELECT 1", "no film has a view \"v\"", -EBADMSG},
		{"CREATE TRIGGER t AFTER INSERT ON loss BEGIN DELETE FROM loss; END", "trigger",
		 -EBADMSG},
		{"CREATE INDEX i ON block(n)", "no film has a index", -EBADMSG},
		{"DROP TABLE loss", "missing", -EBADMSG},
		{"DROP TABLE loss; CREATE VIEW loss AS SELECT 1", "view \"loss\"", -EBADMSG},
		{"ALTER TABLE loss ADD COLUMN x", "table \"loss\"", -EBADMSG},
		{"UPDATE event SET name = x'41'", "table event", -EBADMSG},
		{"UPDATE event SET name = 'a' || char(0) || 'b'", "table event", -EBADMSG},
		{"UPDATE event SET name = NULL", "table event", -EBADMSG},
		{"UPDATE event SET name = printf('%.70000c', 'x')", "table event", -EBADMSG},
		{"UPDATE event SET frequency = 4294967296", "table event", -EBADMSG},
		{"UPDATE event SET frequency = 1.5", "table event", -EBADMSG},
		{"UPDATE event SET id = 3", "table event", -EBADMSG},
		{"UPDATE meta SET value = 'x' WHERE name = 'start'", "table meta", -EBADMSG},
		{"UPDATE thread SET process = 2", "table thread", -EBADMSG},
		{"UPDATE image SET build_id = zeroblob(65)", "table image", -EBADMSG},
		{"UPDATE stack SET n = 3 WHERE id = 1", "table stack", -EBADMSG},
		{"UPDATE stack SET data = zeroblob(3)", "table stack", -EBADMSG},
		{"UPDATE stack SET id = 2 WHERE id = 1", "table stack", -EBADMSG},
		{"UPDATE frame SET n = 65537", "table frame", -EBADMSG},
		{"UPDATE start SET n = 99 WHERE id = 1", "table start", -EBADMSG},
		{"UPDATE start SET data = zeroblob(3)", "table start", -EBADMSG},
		{"UPDATE start SET data = (SELECT data FROM stack)", "table start", -EBADMSG},
		{"UPDATE start SET data = 1", "table start", -EBADMSG},
		{"DELETE FROM start WHERE id = 1", "table start", -EBADMSG},
		{"DROP TABLE start", "missing", -EBADMSG},
		{"UPDATE block SET event = 2", "table block", -EBADMSG},
		{"UPDATE block SET n = 0", "table block", -EBADMSG},
		{"UPDATE block SET t0 = t1 + 1", "table block", -EBADMSG},
	};
	const char *path = new_path();
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unlink(path);
		write_seconds(path, 2);
		change_film(path, cases[i].change);
		assert_refused(path, cases[i].err, cases[i].words);
	}
	remove_folder();
}

/* Gives a film one more block of starts. */
static void add_starts(const char *path, const struct film_start *starts, size_t count)
{
	struct columns columns = {0};
	sqlite3_stmt *insert;
	sqlite3 *db;

	assert_int_equal(starts_pack(&columns, starts, count), 0);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "INSERT INTO start(n, data) VALUES(?, ?)", -1,
					    &insert, NULL),
			 SQLITE_OK);
	sqlite3_bind_int64(insert, 1, (sqlite3_int64)count);
	sqlite3_bind_blob(insert, 2, columns.packed.at, (int)columns.packed.count, SQLITE_STATIC);
	assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
	sqlite3_finalize(insert);
	sqlite3_close(db);
	columns_free(&columns);
}

/* Frame 1 of the film has the address 0x1000, frame 2 the address 0x2000; there are 109 in all. */
static void test_wrong_starts(void **state)
{
	static const struct film_start good[] = {{0xfff, 1}, {0, 2}, {0, 108}},
				       wrong[][2] = {
					       {{0x1000, 1}, {0, 2}}, /* starts at 0 */
					       {{0, 1}, {0x2001, 2}}, /* before 0 */
					       {{0, 1}, {UINT64_MAX, 2}},
					       {{0, 1}, {0, 1}}, /* the same frame again */
					       {{0, 2}, {0, 1}}, /* out of order */
					       {{0, 0}, {0, 1}}, /* no frame */
					       {{0, 1}, {0, 109}},
					       {{0, 1}, {0, UINT32_MAX}},
				       };
	const char *path = new_path();
	struct film *film;
	size_t i;

	(void)state;
	write_seconds(path, 1);
	add_starts(path, good, 3);
	film = open_film(path);
	assert_int_equal(film->frame_count, 109);
	assert_int_equal(film->frames[1].start, 1);
	assert_int_equal(film->frames[2].start, 0x2000);
	film_free(film);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		unlink(path);
		write_seconds(path, 1);
		add_starts(path, wrong[i], 2);
		assert_refused(path, -EBADMSG, "table start");
	}
	remove_folder();
}

/* What is wrong with a block shows when it is read: its row alone says nothing. */
static void test_wrong_blocks(void **state)
{
	static const char *const changes[] = {
		"UPDATE block SET n = n - 1",
		"UPDATE block SET n = n + 1",
		"UPDATE block SET total = total + 1",
		"UPDATE block SET t0 = t0 - 1",
		"UPDATE block SET t1 = t1 + 1",
		"UPDATE block SET data = (SELECT data FROM stack)",
		"UPDATE block SET data = ''",
		"UPDATE block SET data = NULL",
		"DELETE FROM thread",
	};
	const char *path = new_path();
	struct fail why;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct sum sum = {0};
		struct film *film;

		unlink(path);
		write_seconds(path, 2);
		change_film(path, changes[i]);
		film = open_film(path);
		assert_int_equal(film_each_samples(film, 1, 0, UINT64_MAX, add_up, &sum, &why),
				 -EBADMSG);
		assert_non_null(strstr(why.what, "damaged"));
		assert_int_equal(sum.count, 0);
		film_free(film);
	}
	/* a kind of a later version is not samples, and no reason to refuse the rest */
	unlink(path);
	write_seconds(path, 2);
	change_film(path, "UPDATE block SET kind = 77, n = -5, data = 'x' WHERE id = 1");
	{
		struct film *film = open_film(path);

		assert_int_equal(sum_of(film, 1).count, 100);
		film_free(film);
	}
	remove_folder();
}

static void test_truncated(void **state)
{
	const char *path = new_path();
	struct buf whole;
	size_t size;

	(void)state;
	write_seconds(path, 5);
	whole = read_file(path);
	for (size = 1; size < whole.count; size += 61) {
		struct film *film = NULL;
		struct fail why = {0};

		write_file(path, whole.at, size);
		assert_int_equal(film_open(path, &film, &why), -EBADMSG);
		assert_true(why.what[0]);
	}
	buf_free(&whole);
	remove_folder();
}

static void test_flipped_bytes(void **state)
{
	const char *path = new_path();
	struct buf whole;
	unsigned int round, opened = 0;

	(void)state;
	write_seconds(path, 5);
	whole = read_file(path);
	for (round = 0; round < 600; round++) {
		uint8_t *at = &whole.at[hash_u64(round) % whole.count], before = *at;
		struct film *film = NULL;
		struct fail why = {0};

		*at ^= (uint8_t)(round % 3 ? 1u << round % 8 : 0xff);
		write_file(path, whole.at, whole.count);
		if (!film_open(path, &film, &why)) {
			check_promises(film);
			opened++;
		} else {
			assert_true(why.what[0]);
		}
		film_free(film);
		*at = before;
	}
	assert_true(opened > 0 && opened < round);
	buf_free(&whole);
	remove_folder();
}

enum {
	NOBODY = 65534,
};

/* Runs check() in a process that has no rights but those of everyone. */
static int as_nobody(int (*check)(const char *path), const char *path)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		if (!geteuid() && setresuid(NOBODY, NOBODY, NOBODY))
			_exit(99);
		_exit(check(path));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static char *folder_of(const char *path)
{
	char *folder = strdup(path);

	*strrchr(folder, '/') = '\0';
	return folder;
}

static int reads_two_seconds(const char *path)
{
	struct film *film;
	struct fail why = {0};
	struct sum sum = {0};

	if (film_open(path, &film, &why)) {
		fail_print(&why);
		return 1;
	}
	if (film_each_samples(film, 1, 0, UINT64_MAX, add_up, &sum, &why))
		return 2;
	film_free(film);
	return sum.count == 200 ? 0 : 3;
}

static int is_refused_with_words(const char *path)
{
	struct film *film = NULL;
	struct fail why = {0};

	return film_open(path, &film, &why) && why.what[0] ? 0 : 1;
}

static void write_and_be_killed(const char *path)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		struct film_writer *w = create(path);

		put_second(w, 0);
		commit(w, test_info.start + SECOND);
		put_second(w, 1);
		commit(w, test_info.start + 2 * SECOND);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

static unsigned int files_in(const char *folder)
{
	char command[128];
	unsigned int count = 0;
	FILE *ls;

	snprintf(command, sizeof(command), "ls -A %s | wc -l", folder);
	ls = popen(command, "r");
	assert_int_equal(fscanf(ls, "%u", &count), 1);
	pclose(ls);
	return count;
}

static void test_read_only(void **state)
{
	const char *path = new_path();
	char *folder = folder_of(path);

	(void)state;
	write_seconds(path, 2);
	assert_int_equal(files_in(folder), 1);
	assert_int_equal(chmod(folder, 0755), 0);
	assert_int_equal(chmod(path, 0000), 0);
	assert_int_equal(as_nobody(is_refused_with_words, path), 0);
	assert_int_equal(chmod(path, 0444), 0);
	assert_int_equal(as_nobody(reads_two_seconds, path), 0);
	assert_int_equal(chmod(folder, 0555), 0);
	assert_int_equal(as_nobody(reads_two_seconds, path), 0);
	assert_int_equal(files_in(folder), 1);
	assert_int_equal(chmod(folder, 0755), 0);
	free(folder);
	remove_folder();
}

static void test_killed_film(void **state)
{
	const char *path = new_path();
	char *folder = folder_of(path), side[256];
	struct film *film;

	(void)state;
	write_and_be_killed(path);
	assert_int_equal(files_in(folder), 3);
	film = open_film(path);
	check_seconds(film, 2);
	film_free(film);
	/* all may be read, nothing written */
	assert_int_equal(chmod(path, 0444), 0);
	snprintf(side, sizeof(side), "%s-wal", path);
	assert_int_equal(chmod(side, 0444), 0);
	snprintf(side, sizeof(side), "%s-shm", path);
	assert_int_equal(chmod(side, 0444), 0);
	assert_int_equal(chmod(folder, 0555), 0);
	assert_int_equal(as_nobody(reads_two_seconds, path), 0);
	/* without -shm SQLite would have to make one: that needs words */
	unlink(side);
	assert_int_equal(as_nobody(is_refused_with_words, path), 0);
	/* the film alone, as someone copies it: commits are in the film itself */
	snprintf(side, sizeof(side), "%s-wal", path);
	unlink(side);
	assert_int_equal(as_nobody(reads_two_seconds, path), 0);
	assert_int_equal(files_in(folder), 1);
	chmod(folder, 0755);
	film = open_film(path);
	check_seconds(film, 2);
	film_free(film);
	assert_int_equal(files_in(folder), 1);
	free(folder);
	remove_folder();
}

/* Someone was killed in a transaction with a rollback journal: closing a film has such a moment. */
static void test_half_a_transaction(void **state)
{
	const char *path = new_path();
	char *folder = folder_of(path);
	struct film *film;
	pid_t pid;

	(void)state;
	write_seconds(path, 5);
	pid = fork();
	if (!pid) {
		sqlite3 *db;

		sqlite3_open(path, &db);
		sqlite3_exec(
			db, "PRAGMA cache_size = 1; BEGIN; UPDATE block SET data = zeroblob(50000)",
			NULL, NULL, NULL);
		kill(getpid(), SIGKILL);
	}
	waitpid(pid, NULL, 0);
	assert_int_equal(files_in(folder), 2);
	assert_int_equal(chmod(path, 0444), 0);
	assert_int_equal(chmod(folder, 0555), 0);
	assert_int_equal(as_nobody(is_refused_with_words, path), 0);
	assert_int_equal(chmod(folder, 0755), 0);
	film = open_film(path);
	check_seconds(film, 5);
	film_free(film);
	assert_int_equal(files_in(folder), 1);
	free(folder);
	remove_folder();
}

static void name_first_frame(const char *path)
{
	struct film_name name = {"named", "a.c", 1};
	struct film_writer *w = NULL;
	struct fail why = {0};

	if (film_open_for_naming(path, &w, &why))
		fail_print(&why);
	assert_non_null(w);
	film_name_frame(w, 1, &name, 1);
	close_film(w, 0);
}

/* Names come into a film that is open elsewhere, was killed, or was rewritten by another tool. */
static void test_naming_of_any_film(void **state)
{
	const char *path = new_path();
	char *folder = folder_of(path);
	struct film *film, *old;

	(void)state;
	write_seconds(path, 3);
	old = open_film(path);
	check_seconds(old, 3);
	name_first_frame(path);
	assert_int_equal(files_in(folder), 1);
	check_seconds(old, 3);
	film_free(old);
	change_film(path, "PRAGMA page_size = 8192; VACUUM");
	name_first_frame(path);
	film = open_film(path);
	check_seconds(film, 3);
	assert_string_equal(film->functions[film->frames[1].function].name, "named");
	film_free(film);
	write_and_be_killed(path);
	name_first_frame(path);
	assert_int_equal(files_in(folder), 2); /* and the one before, FILM.old */
	film = open_film(path);
	check_seconds(film, 2);
	assert_string_equal(film->functions[film->frames[1].function].name, "named");
	film_free(film);
	free(folder);
	remove_folder();
}

static void assert_not_created(const char *path, int err, const char *words)
{
	struct film_writer *w = NULL;
	struct fail why = {0};

	assert_int_equal(film_create(path, &test_info, &w, &why), err);
	assert_null(w);
	if (!strstr(why.what, words))
		fail_print(&why);
	assert_non_null(strstr(why.what, words));
}

static int cannot_create(const char *path)
{
	struct film_writer *w;
	struct fail why = {0};

	return film_create(path, &test_info, &w, &why) == -EACCES && why.to_do[0] ? 0 : 1;
}

/* Makes it, removes what is there. Returns a descriptor. */
static int empty_file_of_nobody(const char *path)
{
	int fd;

	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	assert_true(fd >= 0);
	assert_int_equal(fchown(fd, NOBODY, NOBODY), 0);
	assert_int_equal(fchmod(fd, 0666), 0);
	return fd;
}

static void test_create(void **state)
{
	const char *path = new_path();
	char *folder = folder_of(path), other[256];
	struct film_writer *w;
	struct film *film, *old;
	struct stat st;

	(void)state;
	assert_not_created("/tmp", -EISDIR, "is a directory");
	assert_not_created("/dev/null", -EEXIST, "not a regular file");
	assert_not_created("/nowhere/at/all.film", -ENOENT, "directory does not exist");
	assert_not_created("/dev/null/a.film", -ENOTDIR, "not a directory");
	write_file(path, "my precious text", 16);
	assert_not_created(path, -EEXIST, "not a film");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 16);
	unlink(path);
	change_film(path, "CREATE TABLE mine(x)");
	assert_not_created(path, -EEXIST, "not a film");
	unlink(path);
	assert_int_equal(chmod(folder, 0555), 0);
	assert_int_equal(as_nobody(cannot_create, path), 0);
	assert_int_equal(chmod(folder, 0700), 0);
	assert_int_equal(files_in(folder), 0);

	/* instead of an empty file; over a film that is being read; over one that was killed */
	write_file(path, "", 0);
	write_seconds(path, 1);
	old = open_film(path);
	write_seconds(path, 2);
	check_seconds(old, 1);
	film_free(old);
	write_and_be_killed(path);
	write_seconds(path, 3);
	film = open_film(path);
	check_seconds(film, 3);
	film_free(film);

	/* the one before has all that it had, and is behind another name */
	snprintf(other, sizeof(other), "%s.old", path);
	film = open_film(other);
	check_seconds(film, 2);
	film_free(film);
	/* each of the two, and side files of the one that was killed */
	assert_int_equal(files_in(folder), 4);

	/* what is behind that name may be something else, which stays, as does the film */
	unlink(other);
	write_file(other, "my precious text", 16);
	assert_not_created(path, -EEXIST, "not a film");
	assert_int_equal(stat(other, &st), 0);
	assert_int_equal(st.st_size, 16);
	film = open_film(path);
	check_seconds(film, 3);
	film_free(film);
	unlink(other);

	/* not over one that is being written */
	w = create(path);
	assert_not_created(path, -EBUSY, "another stackcam is writing it");
	assert_int_equal(film_open_for_naming(path, &w, NULL), -EBUSY);
	close_film(w, 6 * SECOND);

	/* an empty file of another user does not become a film that the user can read */
	if (!geteuid()) {
		const int before = empty_file_of_nobody(path);

		write_seconds(path, 3);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_uid, 0);
		assert_int_equal(st.st_mode & 07777, 0600);
		assert_int_equal(fstat(before, &st), 0);
		assert_int_equal(st.st_size, 0);
		close(before);

		snprintf(other, sizeof(other), "%s/theirs", folder);
		assert_int_equal(symlink(path, other), 0);
		assert_int_equal(lchown(other, NOBODY, NOBODY), 0);
		assert_not_created(other, -EPERM, "link of another user");
		unlink(other);
		film = open_film(path);
		check_seconds(film, 3);
		film_free(film);
	}

	/* a link to a film is written where it points */
	snprintf(other, sizeof(other), "%s/link", folder);
	assert_int_equal(symlink(path, other), 0);
	write_seconds(other, 4);
	film = open_film(path);
	check_seconds(film, 4);
	film_free(film);
	assert_int_equal(lstat(other, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	free(folder);
	remove_folder();
}

/* As impatient as a page that asks each second, or a script that awaits a film. */
static void look_again_and_again(const char *path)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		sqlite3 *db = NULL;

		if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK)
			sqlite3_exec(db, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL);
		sqlite3_close(db);
	}
}

static void test_create_before_readers(void **state)
{
	const char *path = new_path();
	pid_t readers[2];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		readers[i] = fork();
		assert_true(readers[i] >= 0);
		if (!readers[i])
			look_again_and_again(path);
	}
	for (size_t i = 0; i < 30; i++) {
		write_seconds(path, 1);
		unlink(path);
	}
	for (size_t i = 0; i < 2; i++) {
		kill(readers[i], SIGKILL);
		assert_int_equal(waitpid(readers[i], NULL, 0), readers[i]);
	}
	remove_folder();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_not_films),
		cmocka_unit_test(test_other_schemas),
		cmocka_unit_test(test_wrong_starts),
		cmocka_unit_test(test_wrong_blocks),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_flipped_bytes),
		cmocka_unit_test(test_read_only),
		cmocka_unit_test(test_killed_film),
		cmocka_unit_test(test_half_a_transaction),
		cmocka_unit_test(test_naming_of_any_film),
		cmocka_unit_test(test_create),
		cmocka_unit_test(test_create_before_readers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
