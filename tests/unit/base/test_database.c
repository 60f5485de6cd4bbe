// SPDX-License-Identifier: Apache-2.0
/* The files of a database have one name together, or none of them has another one. */
#include "../prelude.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/database.h"

static void make(const char *path, const char *ending)
{
	char name[256];
	FILE *file;

	snprintf(name, sizeof(name), "%s%s", path, ending);
	file = fopen(name, "w");
	assert_non_null(file);
	fputs(ending, file);
	fclose(file);
}

static bool is_there(const char *path, const char *ending)
{
	char name[256];

	snprintf(name, sizeof(name), "%s%s", path, ending);
	return !access(name, F_OK);
}

static void test_move(void **state)
{
	char folder[] = "/tmp/stackcam-database-XXXXXX", from[64], to[64];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(from, sizeof(from), "%s/a", folder);
	snprintf(to, sizeof(to), "%s/b", folder);
	make(from, "");
	make(from, "-wal");
	make(from, "-shm");
	make(to, "-journal");
	assert_int_equal(database_bytes(from), 8);
	assert_int_equal(database_move(from, to), 0);
	assert_false(is_there(from, "") || is_there(from, "-wal") || is_there(from, "-shm"));
	assert_true(is_there(to, "") && is_there(to, "-wal") && is_there(to, "-shm"));
	/* another one's would be taken for its own */
	assert_false(is_there(to, "-journal"));
	assert_int_equal(database_bytes(to), 8);

	/* the last one of them cannot be moved: the others are where they were */
	assert_int_equal(mkdir(from, 0700), 0);
	assert_int_equal(database_move(to, from), -EISDIR);
	assert_true(is_there(to, "") && is_there(to, "-wal") && is_there(to, "-shm"));
	assert_false(is_there(from, "-wal") || is_there(from, "-shm"));
	assert_int_equal(rmdir(from), 0);

	assert_int_equal(database_remove_side_files(to), 0);
	assert_true(is_there(to, "") && !is_there(to, "-wal"));
	assert_int_equal(database_remove(to), 0);
	assert_int_equal(database_remove(to), 0);
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_move),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
