// SPDX-License-Identifier: Apache-2.0
#include "send/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int small_file_write(int folder, const char *name, const char *text, bool is_durable)
{
	char made[64];
	int fd, err = 0;

	snprintf(made, sizeof(made), "%s.made", name);
	fd = openat(folder, made, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	errno = 0;
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text) || (is_durable && fsync(fd)))
		err = errno ? -errno : -EIO;
	close(fd);
	if (!err && (renameat(folder, made, folder, name) || (is_durable && fsync(folder))))
		err = -errno;
	return err;
}

int small_file_read(int folder, const char *name, char *to, size_t size)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t count = fd < 0 ? -1 : read(fd, to, size - 1);
	int err = count < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	to[count < 0 ? 0 : count] = 0;
	return err;
}
