// SPDX-License-Identifier: Apache-2.0
#include "symbol/split_files.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "symbol/open_file.h"

#define COPY_MAX ((uint64_t)64 << 20)

/* In memory; a descriptor or -errno. */
static int copy_of(int fd, uint64_t size)
{
	int copy = size > COPY_MAX ? -EFBIG : memfd_create("stackcam", MFD_CLOEXEC), err;
	uint8_t piece[16384];
	uint64_t done = 0;
	ssize_t n;

	if (copy < 0)
		return copy == -EFBIG ? copy : -errno;
	do {
		n = file_read_some(fd, done, piece, sizeof(piece));
		err = n > 0 ? file_write_all(copy, piece, (size_t)n) : (int)n;
		done += n > 0 ? (uint64_t)n : 0;
	} while (n > 0 && !err && done < COPY_MAX);
	if (!err)
		return copy;
	close(copy);
	return err;
}

static bool is_dwo(const char *path)
{
	static const char suffix[] = ".dwo";
	size_t length = strlen(path), end = sizeof(suffix) - 1;

	return length > end && !strcmp(path + length - end, suffix);
}

/*
 * A file that the sandbox can read: a far one is copied, since the recorder may not even hold its
 * descriptor.
 */
static int open_for_child(const struct split_files *files, const char *path)
{
	struct stat st;
	int fd = open_regular(files->far, files->root, path, true, &st), copy;

	if (!file_is_far(fd))
		return fd;
	copy = copy_of(fd, (uint64_t)st.st_size);
	close(fd);
	return copy;
}

/* The file of that name in the directory of the one that names it. */
static int open_beside(const struct split_files *files, const char *name)
{
	const char *slash = strrchr(files->path, '/');
	char whole[PATH_MAX];
	int length;

	if (!slash)
		return -ENOENT;
	length = snprintf(whole, sizeof(whole), "%.*s/%s", (int)(slash - files->path), files->path,
			  name);
	if (length < 0 || (size_t)length >= sizeof(whole))
		return -ENAMETOOLONG;
	return open_for_child(files, whole);
}

int split_files_open(void *context, const char *path)
{
	const struct split_files *files = context;
	const char *slash = strrchr(path, '/');
	int fd;

	if (!is_dwo(path))
		return -EACCES;
	if (path[0] != '/')
		return open_beside(files, path);
	/* both were moved, maybe */
	fd = open_for_child(files, path);
	return fd == -ENOENT || fd == -ENOTDIR ? open_beside(files, slash + 1) : fd;
}
