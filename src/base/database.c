// SPDX-License-Identifier: Apache-2.0
#include "base/database.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Its own last: as long as that is there, a database is found by those who look for it. */
static const char *const endings[] = {"-wal", "-journal", "-shm", ""};

enum {
	ENDINGS = sizeof(endings) / sizeof(endings[0]),
	SIDE_ENDINGS = ENDINGS - 1,
};

static int remove_files(const char *path, unsigned int count)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < count; i++) {
		char *file;

		if (asprintf(&file, "%s%s", path, endings[i]) < 0)
			return -ENOMEM;
		if (unlink(file) && errno != ENOENT)
			err = -errno;
		free(file);
	}
	return err;
}

int database_remove_side_files(const char *path)
{
	return remove_files(path, SIDE_ENDINGS);
}

int database_remove(const char *path)
{
	return remove_files(path, ENDINGS);
}

static int move_one(const char *from, const char *to, const char *ending)
{
	char *old, *new = NULL;
	int err = 0;

	if (asprintf(&old, "%s%s", from, ending) < 0)
		return -ENOMEM;
	if (asprintf(&new, "%s%s", to, ending) < 0)
		err = -ENOMEM;
	else if (rename(old, new) && errno != ENOENT)
		err = -errno;
	free(old);
	free(new);
	return err;
}

int database_move(const char *from, const char *to)
{
	int err = database_remove_side_files(to);

	for (unsigned int i = 0; !err && i < ENDINGS; i++) {
		err = move_one(from, to, endings[i]);
		/* what was moved until then goes back, and is only lost if that fails, too */
		for (unsigned int k = i; err && k--;)
			(void)!move_one(to, from, endings[k]);
	}
	return err;
}

uint64_t database_bytes(const char *path)
{
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < ENDINGS; i++) {
		struct stat st;
		char *file;

		if (asprintf(&file, "%s%s", path, endings[i]) < 0)
			continue;
		if (!stat(file, &st))
			bytes += (uint64_t)st.st_size;
		free(file);
	}
	return bytes;
}
