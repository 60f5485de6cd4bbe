// SPDX-License-Identifier: Apache-2.0
#include "process/image_open.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/file.h"

/*
 * btrfs and overlayfs show one device number in maps and another one in stat(2), and so may what
 * lies below them.
 */
static bool device_is_vague(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return false;
	return fs.f_type == BTRFS_SUPER_MAGIC || fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

/*
 * Whether what was opened is the mapped file; else closes it. by_link: the kernel itself led there,
 * and an overlay may show an inode of the layer below. What a far file lies on is not asked.
 */
static int check_file(int fd, const struct image_question *q, bool by_link, const struct stat *st)
{
	if (fd < 0 || (st->st_ino == q->inode && st->st_dev == q->device))
		return fd;
	if (st->st_ino == q->inode && file_is_far(fd))
		return fd;
	if ((st->st_ino == q->inode || by_link) && device_is_vague(fd))
		return fd;
	close(fd);
	return -ESTALE;
}

static int open_by_link(struct far_files *far, const struct image_question *q, struct stat *st)
{
	char path[80];
	int place;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)q->pid,
		 q->start, q->end);
	place = open(path, O_PATH | O_CLOEXEC);
	if (place < 0)
		return -errno;
	return check_file(far_files_open(far, place, q->pid, q->device, q->path, st), q, true, st);
}

/* root: "", or of a container, out of which the links within the path must not lead. */
static int open_by_path(struct far_files *far, const char *root, const struct image_question *q,
			struct stat *st)
{
	return check_file(far_files_open_path(far, root, q->path, true, st), q, false, st);
}

int image_open(struct far_files *far, const struct image_question *q, struct stat *st)
{
	int fd = open_by_link(far, q, st);
	char root[32];

	if (fd >= 0 || fd == -EMFILE || fd == -ENFILE || fd == -ENXIO || fd == -ETIMEDOUT ||
	    q->path[0] != '/')
		return fd;
	snprintf(root, sizeof(root), "/proc/%d/root", (int)q->pid);
	fd = open_by_path(far, root, q, st);
	if (fd >= 0 || fd == -ENXIO || fd == -ETIMEDOUT)
		return fd;
	return open_by_path(far, "", q, st);
}

/* What a link of /proc says, which asks no file system. */
static bool reads_as(const char *link, char *to, size_t size)
{
	ssize_t length = readlink(link, to, size - 1);

	to[length > 0 ? length : 0] = 0;
	return length > 0;
}

void image_root(pid_t pid, char *root, size_t size)
{
	char path[32], own[64], its[64];
	bool is_same;

	/* what can't be seen (no right to, or gone) counts as the same: there is nothing better */
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	is_same = !reads_as(path, its, sizeof(its)) ||
		  !reads_as("/proc/self/ns/mnt", own, sizeof(own)) || !strcmp(its, own);
	snprintf(root, size, "/proc/%d/root", (int)pid);
	if (is_same && (!reads_as(root, its, sizeof(its)) || !strcmp(its, "/")))
		root[0] = 0;
}
