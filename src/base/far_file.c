// SPDX-License-Identifier: Apache-2.0
#include "base/far_file.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"

#define FDS_MAX 4

union passed {
	char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
	struct cmsghdr aligned;
};

ssize_t far_send(int socket, const struct iovec *parts, size_t part_count, const int *fds,
		 size_t fd_count)
{
	union passed passed = {0};
	struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = part_count};
	struct cmsghdr *head;
	ssize_t sent;

	if (fd_count > FDS_MAX)
		return -EINVAL;
	if (fd_count) {
		message.msg_control = passed.bytes;
		message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
		head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		memcpy(CMSG_DATA(head), fds, fd_count * sizeof(int));
	}
	do
		sent = sendmsg(socket, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : sent;
}

/* Keeps as many descriptors as there is room for, and closes the others. */
static void keep_passed(struct msghdr *message, int *fds, size_t fd_room, size_t *fd_count)
{
	for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head;
	     head = CMSG_NXTHDR(message, head)) {
		size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(head) + i * sizeof(int), sizeof(fd));
			if (*fd_count < fd_room)
				fds[(*fd_count)++] = fd;
			else
				close(fd);
		}
	}
}

ssize_t far_receive(int socket, const struct iovec *parts, size_t part_count, int *fds,
		    size_t fd_room, size_t *fd_count)
{
	union passed passed;
	struct msghdr message = {.msg_iov = (struct iovec *)parts,
				 .msg_iovlen = part_count,
				 .msg_control = passed.bytes,
				 .msg_controllen = sizeof(passed.bytes)};
	ssize_t got;

	*fd_count = 0;
	do
		got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	keep_passed(&message, fds, fd_room, fd_count);
	return got;
}

/*
 * A helper that does not answer in time, or has ended (0: the socket's end), is asked no more:
 * another one opens the file again.
 */
static int close_helper(int fd, ssize_t err)
{
	shutdown(fd, SHUT_RDWR);
	return err == -EAGAIN ? -ETIMEDOUT : err == -ENOTSOCK ? -ENOTSOCK : -EIO;
}

ssize_t far_file_ask(int fd, enum far_verb verb, uint64_t offset, void *to, size_t count,
		     int *passed)
{
	struct far_request request = {
		.number = clock_ns(),
		.offset = offset,
		.verb = verb,
		.count = (uint32_t)(count < FAR_BYTES_MAX ? count : FAR_BYTES_MAX)};
	const struct iovec asked = {&request, sizeof(request)};
	struct far_answer answer;
	const struct iovec answered[] = {{&answer, sizeof(answer)}, {to, request.count}};
	int other, *fds = passed ? passed : &other;
	size_t fd_count;
	ssize_t got = far_send(fd, &asked, 1, NULL, 0);

	if (got < 0)
		return close_helper(fd, got);
	do {
		got = far_receive(fd, answered, 2, fds, 1, &fd_count);
		if (got < (ssize_t)sizeof(answer))
			return close_helper(fd, got < 0 ? got : 0);
		if (fd_count && (!passed || answer.number != request.number))
			close(*fds);
		/* an answer to a process that did not wait for it */
	} while (answer.number != request.number);
	if (answer.result < 0)
		return answer.result;
	if (passed && !fd_count)
		return -EBADMSG;
	return answer.result == got - (ssize_t)sizeof(answer) ? answer.result : -EBADMSG;
}
