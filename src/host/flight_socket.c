// SPDX-License-Identifier: Apache-2.0
#include "host/flight_socket.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/own_socket.h"

enum {
	PATIENCE_MS = 5000, /* for a client's reason */
};

struct flight_socket {
	struct flight *flight;
	pthread_t thread;
	struct own_socket own;
	int end;
};

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
	struct pollfd fds[] = {{.fd = socket->own.fd, .events = POLLIN},
			       {.fd = socket->end, .events = POLLIN}};

	pthread_setname_np(pthread_self(), "keep");
	for (;;) {
		int fd;

		if ((poll(fds, 2, -1) < 0 && errno != EINTR) || fds[1].revents)
			break;
		fd = fds[0].revents ? accept4(socket->own.fd, NULL, NULL, SOCK_CLOEXEC) : -1;
		if (fd < 0)
			continue;
		answer(socket, fd);
		close(fd);
	}
	/* here: the thread that ends this one may be confined to another folder by now */
	own_socket_close(&socket->own);
	return NULL;
}

int flight_socket_start(struct flight *flight, struct flight_socket **result, struct fail *why)
{
	struct flight_socket *made = calloc(1, sizeof(*made));
	int err;

	*result = NULL;
	if (!made)
		return fail_errno(why, -ENOMEM, NULL, "cannot wait for 'stackcam keep'");
	made->flight = flight;
	made->end = eventfd(0, EFD_CLOEXEC);
	err = made->end < 0 ? fail_errno(why, -errno, NULL, "cannot wait for 'stackcam keep'")
			    : own_socket_listen(&made->own, why);
	if (!err) {
		err = -pthread_create(&made->thread, NULL, serve, made);
		if (!err) {
			*result = made;
			return 0;
		}
		own_socket_close(&made->own);
		fail_errno(why, err, NULL, "cannot wait for 'stackcam keep'");
	}
	if (made->end >= 0)
		close(made->end);
	free(made);
	return err;
}

void flight_socket_free(struct flight_socket *socket)
{
	if (!socket)
		return;
	eventfd_write(socket->end, 1);
	pthread_join(socket->thread, NULL);
	close(socket->end);
	free(socket);
}

/* Parses the answer. */
static int parse_answer(const char *words, pid_t pid, char *path, size_t size, struct fail *why)
{
	if (!strncmp(words, "film ", 5) && (size_t)snprintf(path, size, "%s", words + 5) < size)
		return 0;
	return fail(why, -EIO, NULL, "process %d keeps nothing: %s", (int)pid,
		    strncmp(words, "error ", 6) != 0 ? "its answer makes no sense" : words + 6);
}

int flight_socket_ask(pid_t pid, const char *reason, char *path, size_t size, struct fail *why)
{
	char words[FLIGHT_SOCKET_ANSWER_MAX] = "";
	int fd = own_socket_connect(pid, why), err = 0;

	if (fd < 0)
		return fd;
	/* one that refuses answers, and does not wait for this */
	(void)!send(fd, reason, strlen(reason), MSG_NOSIGNAL);
	(void)!shutdown(fd, SHUT_WR);
	if (!read_all(fd, words, sizeof(words), -1))
		err = fail(why, -EIO, NULL, "process %d gave no answer", (int)pid);
	close(fd);
	return err ? err : parse_answer(words, pid, path, size, why);
}
