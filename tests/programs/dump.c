/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that wait, each for something known in a function of its own, and one that never does.
 * After the seconds, COUNT more threads may be asked for: all of them wait alike.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "program.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, crowd_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int pipe_ends[2], sockets[2], network;

static KEPT void wait_for_lock(void)
{
	pthread_mutex_lock(&lock);
	NO_TAIL_CALL();
}

static KEPT void wait_for_pipe(void)
{
	char byte;

	if (read(pipe_ends[0], &byte, 1) != 1)
		perror("read");
	NO_TAIL_CALL();
}

static KEPT void wait_for_socket(void)
{
	char byte;

	if (read(sockets[0], &byte, 1) != 1)
		perror("read");
	NO_TAIL_CALL();
}

static KEPT void wait_for_network(void)
{
	char byte;

	if (read(network, &byte, 1) != 1)
		perror("read");
	NO_TAIL_CALL();
}

static KEPT void wait_for_event(void)
{
	struct epoll_event event;

	epoll_wait(epoll_create1(0), &event, 1, -1);
	NO_TAIL_CALL();
}

/* Its callers are further away than what is copied of a stack (CAPTURE_COPY_MAX). */
static KEPT void wait_for_time(void)
{
	volatile char large[2 * 65536];

	large[0] = 0;
	sleep(1000);
	NO_TAIL_CALL();
}

static KEPT void wait_in_crowd(void)
{
	pthread_mutex_lock(&crowd_lock);
	for (;;)
		pthread_cond_wait(&never, &crowd_lock);
}

static KEPT void never_wait(void)
{
	for (;;)
		spin(MILLISECOND);
}

/* Wakes and waits more often than its stack can be read. */
static KEPT void hardly_wait(void)
{
	const struct timespec moment = {0, 20000};

	for (;;)
		nanosleep(&moment, NULL);
}

struct part {
	const char *name;
	void (*run)(void);
};

static void *run(void *context)
{
	const struct part *part = context;

	prctl(PR_SET_NAME, part->name);
	part->run();
	return NULL;
}

static void start(const struct part *part)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 4 * 65536);
	if (pthread_create(&thread, &attributes, run, (void *)part)) {
		perror("pthread_create");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{"locker", wait_for_lock},   {"locker", wait_for_lock},
		{"locker", wait_for_lock},   {"reader", wait_for_pipe},
		{"talker", wait_for_socket}, {"listener", wait_for_network},
		{"poller", wait_for_event},  {"sleeper", wait_for_time},
		{"busy", never_wait},	     {"restless", hardly_wait},
	};
	static const struct part crowd = {"crowd", wait_in_crowd};
	int count = argc > 2 ? atoi(argv[2]) : 0;

	program_begin(argc, argv);
	network = socket(AF_INET, SOCK_DGRAM, 0);
	if (pipe(pipe_ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) || network < 0)
		return 1;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		start(&parts[i]);
	for (int i = 0; i < count; i++)
		start(&crowd);
	puts("ready");
	fflush(stdout);
	sleep((unsigned int)program_seconds);
	return 0;
}
