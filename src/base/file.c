// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/far_file.h"

/* Of a far file little is read at a time. */
static ssize_t read_far(int fd, uint64_t offset, uint8_t *to, size_t count)
{
	size_t done = 0;

	while (done < count) {
		ssize_t n =
			far_file_ask(fd, FAR_READ, offset + done, to + done, count - done, NULL);

		if (n < 0 && !done)
			return n;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

ssize_t file_read_some(int fd, uint64_t offset, void *to, size_t count)
{
	ssize_t n;

	if (offset > INT64_MAX - count)
		return -EINVAL;
	do
		n = pread(fd, to, count, (off_t)offset);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		n = -errno;
	return n == -ESPIPE ? read_far(fd, offset, to, count) : n;
}

int file_stat(int fd, struct stat *st)
{
	ssize_t n;

	if (fstat(fd, st))
		return -errno;
	if (!S_ISSOCK(st->st_mode))
		return 0;
	n = far_file_ask(fd, FAR_STAT, 0, st, sizeof(*st), NULL);
	if (n >= 0 && n != sizeof(*st))
		return -EBADMSG;
	return n < 0 ? (int)n : 0;
}

bool file_is_far(int fd)
{
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) && S_ISSOCK(st.st_mode);
}

int file_check(int fd)
{
	return file_is_far(fd) ? (int)far_file_ask(fd, FAR_CHECK, 0, NULL, 0, NULL) : 0;
}

int file_place(int fd)
{
	int place, err;

	if (!file_is_far(fd)) {
		place = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		return place < 0 ? -errno : place;
	}
	err = file_check(fd);
	if (!err)
		err = (int)far_file_ask(fd, FAR_PLACE, 0, NULL, 0, &place);
	return err ? err : place;
}

bool file_read_at(int fd, uint64_t offset, void *to, size_t count)
{
	uint8_t *at = to;

	while (count) {
		ssize_t n = file_read_some(fd, offset, at, count);

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
