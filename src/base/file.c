// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <errno.h>
#include <unistd.h>

bool file_read_at(int fd, uint64_t offset, void *to, size_t count)
{
	uint8_t *at = to;

	if (offset > INT64_MAX - count)
		return false;
	while (count) {
		ssize_t n = pread(fd, at, count, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		offset += (uint64_t)n;
		count -= (size_t)n;
	}
	return true;
}

int file_write_all(int fd, const void *bytes, size_t count)
{
	const uint8_t *at = bytes;

	while (count) {
		ssize_t n = write(fd, at, count);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		count -= (size_t)n;
	}
	return 0;
}
