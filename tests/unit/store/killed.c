// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include "killed.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "kept_store.h"

long calls_left = -1, steps_left = -1;

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

bool work_and_die(long *left, long after)
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
