// SPDX-License-Identifier: Apache-2.0
/* The folder of debug files has its limits: the oldest go, and nothing else. */
#include "../prelude.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/debug_server.h"

static int set_up(void **state)
{
	*state = strdup("/tmp/stackcam-debug-XXXXXX");
	return *state && mkdtemp(*state) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", (char *)*state);
	free(*state);
	return system(command);
}

static const char *path_of(const char *folder, const char *name, char to[128])
{
	snprintf(to, 128, "%s/%s", folder, name);
	return to;
}

static void put(const char *folder, const char *build, const char *name, time_t time, off_t bytes)
{
	const struct timespec times[] = {{.tv_sec = time}, {.tv_sec = time}};
	char path[128], below[64];
	int fd;

	mkdir(path_of(folder, build, path), 0700);
	snprintf(below, sizeof(below), "%s/%s", build, name);
	fd = open(path_of(folder, below, path), O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, bytes), 0);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

static bool is_there(const char *folder, const char *name)
{
	char path[128];

	return !access(path_of(folder, name, path), F_OK);
}

static void assert_trimmed(const char *folder, uint64_t bytes_max, uint64_t files_max,
			   uint64_t bytes, uint64_t removed)
{
	uint64_t left = 0, count = 0;

	debug_server_trim(folder, bytes_max, files_max, &left, &count);
	assert_int_equal(left, bytes);
	assert_int_equal(count, removed);
}

static void limits(void **state)
{
	const char *folder = *state;
	char path[128];

	assert_trimmed("/nonexistent/folder", 1, 1, 0, 0);
	assert_trimmed(folder, 0, 0, 0, 0);
	/* settings of the library, and a link, stay */
	put(folder, ".", "max_unused_age_s", 1, 10);
	put(folder, "aa", "debuginfo", 100, 1000);
	put(folder, "aa", "executable", 300, 500);
	put(folder, "bb", "debuginfo", 200, 2000);
	put(folder, "cc", "debuginfo", 50, 0);
	assert_int_equal(symlink("/etc/passwd", path_of(folder, "aa/link", path)), 0);
	assert_trimmed(folder, 3500, 10, 3500, 0);
	/* too many files: first the oldest, and its folder */
	assert_trimmed(folder, 3500, 3, 3500, 1);
	assert_false(is_there(folder, "cc"));
	/* too many bytes */
	assert_trimmed(folder, 2999, 3, 2500, 1);
	assert_false(is_there(folder, "aa/debuginfo"));
	assert_true(is_there(folder, "aa/executable") && is_there(folder, "bb/debuginfo"));
	assert_trimmed(folder, 500, 3, 500, 1);
	assert_false(is_there(folder, "bb"));
	assert_trimmed(folder, 0, 0, 0, 1);
	assert_true(is_there(folder, "max_unused_age_s") && is_there(folder, "aa/link"));
	assert_true(is_there("/etc", "passwd"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(limits, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("host-debug-cache", tests, NULL, NULL);
}
