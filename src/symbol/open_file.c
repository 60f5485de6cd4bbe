// SPDX-License-Identifier: Apache-2.0
#include "symbol/open_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The file without opening it: nothing happens to it, and it can be looked at. */
static int find(const char *root, const char *path, bool links)
{
	int flags = O_PATH | O_CLOEXEC | (links ? 0 : O_NOFOLLOW), directory, fd, attempt;
	struct open_how how = {
		.flags = (uint64_t)flags,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	if (!root[0]) {
		fd = open(path, flags);
		return fd < 0 ? -errno : fd;
	}
	directory = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return -errno;
	/* EAGAIN: something was renamed or mounted meanwhile (openat2(2)) */
	for (attempt = 0, fd = -EAGAIN; fd == -EAGAIN && attempt < 8; attempt++) {
		fd = (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
		if (fd < 0)
			fd = -errno;
	}
	close(directory);
	return fd;
}

int open_regular(const char *root, const char *path, bool links, struct stat *st)
{
	int place = find(root, path, links), fd;
	char name[32];

	if (place < 0)
		return place;
	if (fstat(place, st)) {
		fd = -errno;
	} else if (S_ISLNK(st->st_mode)) {
		fd = -ELOOP;
	} else if (!S_ISREG(st->st_mode)) {
		fd = -EINVAL;
	} else {
		/* O_NONBLOCK: a lease on the file must not make us wait for its holder */
		snprintf(name, sizeof(name), "/proc/self/fd/%d", place);
		fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd < 0)
			fd = -errno;
	}
	close(place);
	return fd;
}
