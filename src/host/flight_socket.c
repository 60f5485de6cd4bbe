// SPDX-License-Identifier: Apache-2.0
#include "host/flight_socket.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define NAME "stackcam-flight-%d"

enum {
	PATIENCE_MS = 5000, /* for a client's reason */
	WAITING_MAX = 4,
};

struct flight_socket {
	struct flight *flight;
	pthread_t thread;
	int fd, end;
};

/* The abstract name of a process's socket. Returns the size of the address. */
static socklen_t address_of(pid_t pid, struct sockaddr_un *address)
{
	int length;

	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	length = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1, NAME, (int)pid);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

/* Root, or the user that this process belongs to. */
static bool may_ask(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) &&
	       (!peer.uid || peer.uid == geteuid());
}

/*
 * Reads up to the other side's end. Returns false where it sends nothing in time, or more than
 * there is room for.
 */
static bool read_all(int fd, char *text, size_t size, int patience)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};
	size_t used = 0;
	ssize_t got;

	for (;;) {
		if (poll(&one, 1, patience) <= 0)
			return false;
		got = read(fd, text + used, size - 1 - used);
		/* an end, too: the other side has refused without reading all that it was sent */
		if (got < 0 && errno == ECONNRESET && used)
			return true;
		if (got < 0 || used + (size_t)got >= size - 1)
			return false;
		used += (size_t)got;
		text[used] = 0;
		if (!got)
			return true;
	}
}

static bool is_text(const char *reason)
{
	for (; *reason; reason++)
		if ((unsigned char)*reason < ' ' || *reason == 0x7f)
			return false;
	return true;
}

static void answer(struct flight_socket *socket, int fd)
{
	char reason[FLIGHT_SOCKET_REASON_MAX + 2] = "", words[FLIGHT_SOCKET_ANSWER_MAX];
	struct flight_kept kept;
	struct fail why = {0};
	int err;

	if (!may_ask(fd))
		err = fail(&why, -EPERM, NULL, "only root and its user may ask it");
	else if (!read_all(fd, reason, sizeof(reason), PATIENCE_MS) || !is_text(reason))
		err = fail(&why, -EINVAL, NULL, "a reason has at most %d bytes of text",
			   FLIGHT_SOCKET_REASON_MAX);
	else
		err = flight_keep(socket->flight, reason, &kept, &why);
	snprintf(words, sizeof(words), "%s %s", err ? "error" : "film", err ? why.what : kept.path);
	(void)!send(fd, words, strlen(words), MSG_NOSIGNAL);
}

static void *serve(void *context)
{
	struct flight_socket *socket = context;
	struct pollfd fds[] = {{.fd = socket->fd, .events = POLLIN},
			       {.fd = socket->end, .events = POLLIN}};

	pthread_setname_np(pthread_self(), "keep");
	for (;;) {
		int fd;

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return NULL;
		if (fds[1].revents)
			return NULL;
		fd = fds[0].revents ? accept4(socket->fd, NULL, NULL, SOCK_CLOEXEC) : -1;
		if (fd < 0)
			continue;
		answer(socket, fd);
		close(fd);
	}
}

int flight_socket_start(struct flight *flight, struct flight_socket **result, struct fail *why)
{
	struct flight_socket *made = calloc(1, sizeof(*made));
	struct sockaddr_un address;
	socklen_t size = address_of(getpid(), &address);
	int err = 0;

	*result = NULL;
	if (!made)
		return fail_errno(why, -ENOMEM, NULL, "cannot wait for 'stackcam keep'");
	made->flight = flight;
	made->end = eventfd(0, EFD_CLOEXEC);
	made->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (made->end < 0 || made->fd < 0 || bind(made->fd, (struct sockaddr *)&address, size) ||
	    listen(made->fd, WAITING_MAX))
		err = -errno;
	if (!err)
		err = -pthread_create(&made->thread, NULL, serve, made);
	if (err) {
		if (made->fd >= 0)
			close(made->fd);
		if (made->end >= 0)
			close(made->end);
		free(made);
		return fail_errno(why, err, NULL, "cannot wait for 'stackcam keep'");
	}
	*result = made;
	return 0;
}

void flight_socket_free(struct flight_socket *socket)
{
	if (!socket)
		return;
	eventfd_write(socket->end, 1);
	pthread_join(socket->thread, NULL);
	close(socket->fd);
	close(socket->end);
	free(socket);
}

/* Takes the answer apart. */
static int take_answer(const char *words, pid_t pid, char *path, size_t size, struct fail *why)
{
	if (!strncmp(words, "film ", 5) && (size_t)snprintf(path, size, "%s", words + 5) < size)
		return 0;
	return fail(why, -EIO, NULL, "process %d keeps nothing: %s", (int)pid,
		    strncmp(words, "error ", 6) != 0 ? "its answer makes no sense" : words + 6);
}

int flight_socket_ask(pid_t pid, const char *reason, char *path, size_t size, struct fail *why)
{
	char words[FLIGHT_SOCKET_ANSWER_MAX] = "";
	struct sockaddr_un address;
	socklen_t length = address_of(pid, &address);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), err = 0;

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, length))
		err = fail(why, -errno,
			   "name one of 'stackcam record --flight' or 'stackcam agent --camera'",
			   "process %d has no flight recorder: %s", (int)pid, strerror(errno));
	if (!err) {
		/* one that refuses answers, and does not wait for this */
		(void)!send(fd, reason, strlen(reason), MSG_NOSIGNAL);
		(void)!shutdown(fd, SHUT_WR);
		if (!read_all(fd, words, sizeof(words), -1))
			err = fail(why, -EIO, NULL, "process %d gave no answer", (int)pid);
	}
	if (fd >= 0)
		close(fd);
	return err ? err : take_answer(words, pid, path, size, why);
}
