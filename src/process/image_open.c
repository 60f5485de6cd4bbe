// SPDX-License-Identifier: Apache-2.0
#include "process/image_open.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

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
 * Whether what the place stands for is the mapped file. by_link: the kernel itself led there, and
 * an overlay may show an inode of the layer below.
 */
static int check_place(int fd, const struct image_question *q, bool by_link)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_ino == q->inode && st.st_dev == q->device)
		return S_ISREG(st.st_mode) ? 0 : -ENXIO;
	if ((st.st_ino == q->inode || by_link) && device_is_vague(fd))
		return S_ISREG(st.st_mode) ? 0 : -ENXIO;
	return -ESTALE;
}

/*
 * Turns a place (an O_PATH descriptor, which is closed) into a descriptor for reading. Opening in
 * two steps makes sure that what is opened is what was checked, since the open of a device or a
 * FIFO could do or await something.
 */
static int open_place(int place, const struct image_question *q, bool by_link)
{
	char again[32];
	int fd;

	if (place < 0)
		return -errno;
	fd = check_place(place, q, by_link);
	if (!fd) {
		snprintf(again, sizeof(again), "/proc/self/fd/%d", place);
		fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd < 0)
			fd = -errno;
	}
	close(place);
	return fd;
}

static int open_by_link(const struct image_question *q)
{
	char path[80];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)q->pid,
		 q->start, q->end);
	return open_place(open(path, O_PATH | O_CLOEXEC), q, true);
}

/* The links within a container's path must not lead out of the container. */
static int open_in_root(const struct image_question *q, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	char root_path[32];
	int root, fd;

	snprintf(root_path, sizeof(root_path), "/proc/%d/root", (int)q->pid);
	root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	fd = open_place((int)syscall(SYS_openat2, root, path, &how, sizeof(how)), q, false);
	close(root);
	return fd;
}

int image_open(const struct image_question *q)
{
	int fd = open_by_link(q);

	if (fd >= 0 || fd == -EMFILE || fd == -ENFILE || fd == -ENXIO || q->path[0] != '/')
		return fd;
	fd = open_in_root(q, q->path);
	if (fd >= 0 || fd == -ENXIO)
		return fd;
	return open_place(open(q->path, O_PATH | O_CLOEXEC), q, false);
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	/* what can't be seen (no right to, or gone) counts as the same: there is nothing better */
	if (stat(a, &x) || stat(b, &y))
		return true;
	return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

void image_root(pid_t pid, char *root, size_t size)
{
	char namespace[32];

	snprintf(namespace, sizeof(namespace), "/proc/%d/ns/mnt", (int)pid);
	snprintf(root, size, "/proc/%d/root", (int)pid);
	if (same_file(namespace, "/proc/self/ns/mnt") && same_file(root, "/"))
		root[0] = 0;
}
