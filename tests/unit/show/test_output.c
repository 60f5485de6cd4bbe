// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "show/output.h"

/* Each test works in an empty folder of its own. */
static int enter_folder(void **state)
{
	char path[] = "/tmp/stackcam-test-XXXXXX";

	if (!mkdtemp(path) || chdir(path))
		return -1;
	*state = strdup(path);
	return *state ? 0 : -1;
}

static int leave_folder(void **state)
{
	char command[128];
	int status;

	snprintf(command, sizeof(command), "rm -rf '%s'", (char *)*state);
	status = chdir("/") | system(command);
	free(*state);
	return status;
}

static int entries(void)
{
	DIR *folder = opendir(".");
	int count = -2; /* . and .. */

	assert_non_null(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static void put_file(const char *path, const char *content)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(content, file);
	fclose(file);
}

static void holds(const char *path, const char *content)
{
	char text[128] = "";
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = 0;
	fclose(file);
	assert_string_equal(text, content);
}

static void test_appears_when_whole(void **state)
{
	struct output o;
	struct stat st;

	(void)state;
	umask(022);
	assert_int_equal(output_open(&o, "x", NULL), 0);
	assert_false(o.is_terminal);
	fputs("half", o.file);
	fflush(o.file);
	assert_int_not_equal(access("x", F_OK), 0);
	assert_int_equal(output_close(&o, true, NULL), 0);
	holds("x", "half");
	assert_int_equal(entries(), 1);
	assert_int_equal(stat("x", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
}

/* An answer is as secret as what it was made from. */
static void test_is_like_its_film(void **state)
{
	static const mode_t modes[][3] = {
		/* of the film, of what was there, of the answer */
		{0600, 0, 0600},    {0640, 0, 0640},	{0666, 0, 0644},
		{0600, 0664, 0600}, {0644, 0600, 0600},
	};
	struct output o;
	struct stat st;

	(void)state;
	umask(022);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		put_file("like", "film");
		assert_int_equal(chmod("like", modes[i][0]), 0);
		unlink("y");
		if (modes[i][1]) {
			put_file("y", "old");
			assert_int_equal(chmod("y", modes[i][1]), 0);
		}
		assert_int_equal(output_open(&o, "y", NULL), 0);
		output_like(&o, "like");
		assert_int_equal(output_close(&o, true, NULL), 0);
		assert_int_equal(stat("y", &st), 0);
		assert_int_equal(st.st_mode & 0777, modes[i][2]);
	}
	unlink("y");
	unlink("like");
}

static void test_replaces(void **state)
{
	struct output o;
	struct stat st;

	(void)state;
	put_file("x", "old");
	chmod("x", 0600);
	assert_int_equal(symlink("x", "link"), 0);
	assert_int_equal(output_open(&o, "link", NULL), 0);
	fputs("new", o.file);
	holds("x", "old");
	assert_int_equal(output_close(&o, true, NULL), 0);
	holds("x", "new");
	assert_int_equal(lstat("link", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(stat("x", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(entries(), 2);
}

static void test_unwanted(void **state)
{
	struct output o;

	(void)state;
	put_file("x", "old");
	assert_int_equal(output_open(&o, "x", NULL), 0);
	fputs("new", o.file);
	assert_int_equal(output_close(&o, false, NULL), 0);
	holds("x", "old");
	assert_int_equal(entries(), 1);
}

static void test_no_place(void **state)
{
	struct fail why = {0};
	struct output o;

	(void)state;
	assert_int_equal(output_open(&o, "no/such/place", &why), -ENOENT);
	assert_non_null(strstr(why.what, "no/such/place"));
	assert_int_equal(output_open(&o, ".", &why), -EISDIR);
	assert_int_equal(entries(), 0);
}

static void test_film_is_not_replaced(void **state)
{
	struct fail why = {0};
	struct output o;
	FILE *file = fopen("x.film", "w");

	(void)state;
	fwrite("SQLite format 3\0 and more", 1, 25, file);
	fclose(file);
	assert_int_equal(output_open(&o, "x.film", &why), -EEXIST);
	assert_non_null(strstr(why.what, "film"));
	holds("x.film", "SQLite format 3");
	assert_int_equal(entries(), 1);
}

static void test_full_disk(void **state)
{
	struct fail why = {0};
	struct output o;

	(void)state;
	assert_int_equal(output_open(&o, "/dev/full", NULL), 0);
	for (int i = 0; i < 100000; i++)
		fputs("some text", o.file);
	assert_int_equal(output_close(&o, true, &why), -ENOSPC);
	assert_non_null(strstr(why.what, "No space left"));
	/* what fits in the buffer fails at the end */
	assert_int_equal(output_open(&o, "/dev/full", NULL), 0);
	fputs("x", o.file);
	assert_int_equal(output_close(&o, true, &why), -ENOSPC);
}

static void test_nobody_reads(void **state)
{
	struct fail why = {0};
	struct output o;
	char path[32];
	int ends[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(ends), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[1]);
	assert_int_equal(output_open(&o, path, NULL), 0);
	close(ends[0]);
	close(ends[1]);
	fputs("x", o.file);
	assert_int_equal(output_close(&o, true, &why), -EPIPE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_appears_when_whole, enter_folder,
						leave_folder),
		cmocka_unit_test_setup_teardown(test_is_like_its_film, enter_folder, leave_folder),
		cmocka_unit_test_setup_teardown(test_replaces, enter_folder, leave_folder),
		cmocka_unit_test_setup_teardown(test_unwanted, enter_folder, leave_folder),
		cmocka_unit_test_setup_teardown(test_no_place, enter_folder, leave_folder),
		cmocka_unit_test_setup_teardown(test_film_is_not_replaced, enter_folder,
						leave_folder),
		cmocka_unit_test_setup_teardown(test_full_disk, enter_folder, leave_folder),
		cmocka_unit_test_setup_teardown(test_nobody_reads, enter_folder, leave_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
