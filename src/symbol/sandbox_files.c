// SPDX-License-Identifier: Apache-2.0
#include "symbol/sandbox_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096u

int sandbox_files_listen(pid_t child)
{
	int pidfd = (int)syscall(SYS_pidfd_open, child, 0), fd, err;

	if (pidfd < 0)
		return -errno;
	fd = (int)syscall(SYS_pidfd_getfd, pidfd, SANDBOX_LISTENER, 0);
	err = fd < 0 ? -errno : fd;
	close(pidfd);
	return err;
}

/* A text of the child's memory, read page by page, since what follows it may not be there. */
static bool read_text(pid_t child, uint64_t address, char *to, size_t size)
{
	size_t done = 0;

	while (done < size) {
		size_t piece = PAGE - (address + done) % PAGE;
		struct iovec here = {to + done, piece < size - done ? piece : size - done};
		struct iovec there = {(void *)(uintptr_t)(address + done), here.iov_len};

		if (process_vm_readv(child, &here, 1, &there, 1, 0) != (ssize_t)here.iov_len)
			return false;
		if (memchr(to + done, 0, here.iov_len))
			return true;
		done += here.iov_len;
	}
	return false;
}

static int open_wanted(int listener, const struct seccomp_notif *call,
		       const struct sandbox_files *files, unsigned int *count)
{
	char path[PATH_MAX];
	uint64_t id = call->id;

	/* flags: nothing is ever written */
	if ((call->data.args[2] & O_ACCMODE) != O_RDONLY || *count >= SANDBOX_FILES_MAX ||
	    !read_text((pid_t)call->pid, call->data.args[1], path, sizeof(path)))
		return -EACCES;
	/* what was read is the child's, and not that of a process with its number */
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id))
		return -errno;
	++*count;
	return files->open(files->context, path);
}

void sandbox_files_answer(int listener, const struct sandbox_files *files, unsigned int *count)
{
	struct seccomp_notif call = {0};
	struct seccomp_notif_addfd add = {.flags = SECCOMP_ADDFD_FLAG_SEND};
	struct seccomp_notif_resp answer = {0};
	int fd;

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call))
		return;
	fd = open_wanted(listener, &call, files, count);
	if (fd >= 0) {
		add.id = call.id;
		add.srcfd = (uint32_t)fd;
		add.newfd_flags = O_CLOEXEC;
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) >= 0) {
			close(fd);
			return;
		}
		close(fd);
		fd = -EACCES;
	}
	answer.id = call.id;
	answer.error = fd;
	/* one that has ended needs no answer */
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}
