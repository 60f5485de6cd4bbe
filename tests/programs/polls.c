/* SPDX-License-Identifier: Apache-2.0 */
/*
 * polls WAY OTHERS: waits for several descriptors at once, of which one after the other is ready,
 * and of others, which never are, by WAY: poll, or select. Prints what those are, and then has
 * waits that end without any, as their time is over.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "program.h"

#define TURNS  8
#define OTHERS 900
#define PAUSE  30 /* ms */

enum {
	PIPE,
	SOCKET,
	EVENT,
	WAYS
};

static int near[WAYS], far[WAYS], is_select, count;
static struct pollfd all[OTHERS + WAYS];

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static unsigned int port_of(int fd)
{
	struct sockaddr_in address;
	socklen_t size = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &size))
		fail("getsockname");
	return ntohs(address.sin_port);
}

static void make_sockets(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t size = sizeof(address);

	far[SOCKET] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&address, &size) ||
	    connect(far[SOCKET], (struct sockaddr *)&address, size))
		fail("connect");
	near[SOCKET] = accept(listener, NULL, NULL);
	if (near[SOCKET] < 0)
		fail("accept");
}

static void make_others(int others)
{
	int ends[2];

	for (int i = 0; i < others; i++) {
		/* the other end stays open, so that there is never news */
		if (!(i % 2) && socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			fail("socketpair");
		all[count++] = (struct pollfd){.fd = ends[i % 2], .events = POLLIN};
	}
}

static void make(int others)
{
	struct stat of;
	int ends[2];

	if (pipe(ends) || fstat(ends[0], &of))
		fail("pipe");
	near[PIPE] = ends[0];
	far[PIPE] = ends[1];
	make_sockets();
	near[EVENT] = far[EVENT] = eventfd(0, 0);
	printf("pipe %llu\n", (unsigned long long)of.st_ino);
	printf("tcp 127.0.0.1:%u -> 127.0.0.1:%u\n", port_of(near[SOCKET]), port_of(far[SOCKET]));
	printf("eventfd fd %d\n", near[EVENT]);
	fflush(stdout);
	make_others(others);
	for (int i = 0; i < WAYS; i++)
		all[count++] = (struct pollfd){.fd = near[i], .events = POLLIN};
}

static KEPT int wait_by_poll(int ms)
{
	int ready = poll(all, (nfds_t)count, ms);

	NO_TAIL_CALL();
	return ready;
}

static KEPT int wait_by_select(int ms)
{
	struct timeval time = {.tv_usec = ms * 1000};
	fd_set set;
	int ready, last = 0;

	FD_ZERO(&set);
	for (int i = 0; i < count; i++) {
		FD_SET(all[i].fd, &set);
		last = all[i].fd > last ? all[i].fd : last;
	}
	ready = select(last + 1, &set, NULL, NULL, ms < 0 ? NULL : &time);
	for (int i = 0; i < count; i++)
		all[i].revents = ready > 0 && FD_ISSET(all[i].fd, &set) ? POLLIN : 0;
	return ready;
}

/* How many were ready, of all of which is read. */
static int wait_and_read(int ms)
{
	int ready = is_select ? wait_by_select(ms) : wait_by_poll(ms);
	char bytes[8];

	for (int i = 0; i < count && ready > 0; i++)
		if (all[i].revents && read(all[i].fd, bytes, sizeof(bytes)) < 1)
			fail("read");
	return ready;
}

static void *write_to_all(void *unused)
{
	const uint64_t one = 1;

	for (int i = 0; i < TURNS * WAYS; i++) {
		usleep(PAUSE * 1000);
		if (write(far[i % WAYS], &one, sizeof(one)) < 0)
			fail("write");
	}
	return unused;
}

int main(int argc, char **argv)
{
	int others = argc > 2 ? atoi(argv[2]) : 0;
	pthread_t writer;

	if (argc < 2 || others < 0 || others > OTHERS || others % 2) {
		fprintf(stderr, "usage: %s poll|select OTHERS (even, at most %d)\n", argv[0],
			OTHERS);
		return 2;
	}
	is_select = !strcmp(argv[1], "select");
	make(others);
	if (pthread_create(&writer, NULL, write_to_all, NULL))
		return 1;
	for (int done = 0; done < TURNS * WAYS;)
		done += wait_and_read(-1);
	pthread_join(writer, NULL);
	for (int i = 0; i < TURNS; i++)
		wait_and_read(PAUSE);
	return 0;
}
