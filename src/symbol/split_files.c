// SPDX-License-Identifier: Apache-2.0
#include "symbol/split_files.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "symbol/open_file.h"

static bool is_dwo(const char *path)
{
	static const char suffix[] = ".dwo";
	size_t length = strlen(path), end = sizeof(suffix) - 1;

	return length > end && !strcmp(path + length - end, suffix);
}

/* The file of that name in the directory of the one that names it. */
static int open_beside(const struct split_files *files, const char *name)
{
	const char *slash = strrchr(files->path, '/');
	char whole[PATH_MAX];
	struct stat st;
	int length;

	if (!slash)
		return -ENOENT;
	length = snprintf(whole, sizeof(whole), "%.*s/%s", (int)(slash - files->path), files->path,
			  name);
	if (length < 0 || (size_t)length >= sizeof(whole))
		return -ENAMETOOLONG;
	return open_regular(files->root, whole, true, &st);
}

int split_files_open(void *context, const char *path)
{
	const struct split_files *files = context;
	const char *slash = strrchr(path, '/');
	struct stat st;
	int fd;

	if (!is_dwo(path))
		return -EACCES;
	if (path[0] != '/')
		return open_beside(files, path);
	/* both were moved, maybe */
	fd = open_regular(files->root, path, true, &st);
	return fd == -ENOENT || fd == -ENOTDIR ? open_beside(files, slash + 1) : fd;
}
