/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uring WAY FOLDER: waits for entries of an io_uring, of each kind several times, by WAY: plain,
 * registered (the ring's descriptor is), defer (IORING_SETUP_DEFER_TASKRUN), sqpoll
 * (IORING_SETUP_SQPOLL), async (IOSQE_ASYNC: workers do it). Prints what those are, and then has
 * waits that end without any, as their time is over. One entry is in flight from first to last, and
 * is never completed. stuck: it waits for two that never are, and is to be killed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "ring.h"

#define TURNS 6
#define PAUSE 30 /* ms */

static int slow[2], silent[2], client, served, listener, event, file;
static struct sockaddr_in address = {.sin_family = AF_INET};
static char path[4096], bytes[64];

static KEPT void wait_for_time(void)
{
	struct __kernel_timespec time = {.tv_nsec = PAUSE * 1000000};
	struct io_uring_getevents_arg argument = {.ts = (uint64_t)&time};

	enter(0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &argument, sizeof(argument));
	NO_TAIL_CALL();
}

static void run(struct io_uring_sqe *entry, int least)
{
	int result;

	entry->flags |= (uint8_t)ring.entry_flags;
	submit();
	result = wait_for_completion().res;
	if (result < least) {
		fprintf(stderr, "operation %llu: %s\n", (unsigned long long)entry->user_data,
			strerror(-result));
		exit(1);
	}
}

/* -- what is waited for ------------------------------------------------------------------------ */

static void read_pipe(void)
{
	struct io_uring_sqe *entry = new_entry(IORING_OP_READ, slow[0]);

	entry->addr = (uint64_t)bytes;
	entry->len = 1;
	run(entry, 1);
}

static void receive(void)
{
	struct io_uring_sqe *entry = new_entry(IORING_OP_RECV, served);

	entry->addr = (uint64_t)bytes;
	entry->len = 1;
	run(entry, 1);
}

static void accept_one(void)
{
	run(new_entry(IORING_OP_ACCEPT, listener), 0);
}

static void poll_event(void)
{
	struct io_uring_sqe *entry = new_entry(IORING_OP_POLL_ADD, event);

	entry->poll32_events = POLLIN;
	run(entry, 0);
	if (read(event, bytes, 8) != 8)
		fail("read");
}

static void have_time(void)
{
	static const struct __kernel_timespec time = {.tv_nsec = PAUSE * 1000000};
	struct io_uring_sqe *entry = new_entry(IORING_OP_TIMEOUT, -1);

	entry->addr = (uint64_t)&time;
	entry->len = 1;
	run(entry, -ETIME);
}

static void sync_file(void)
{
	if (pwrite(file, path, sizeof(path), 0) != sizeof(path))
		fail("pwrite");
	run(new_entry(IORING_OP_FSYNC, file), 0);
}

static void open_file(void)
{
	struct io_uring_sqe *entry = new_entry(IORING_OP_OPENAT, AT_FDCWD);

	entry->addr = (uint64_t)path;
	run(entry, 0);
}

/* Rounds that are over. */
static int rounds;

static void *play(void *unused)
{
	const uint64_t one = 1;

	for (int i = 0; i < TURNS; i++) {
		int caller = socket(AF_INET, SOCK_STREAM, 0);

		usleep(PAUSE * 1000);
		if (write(slow[1], "x", 1) != 1)
			fail("write");
		usleep(PAUSE * 1000);
		if (write(client, "x", 1) != 1)
			fail("write");
		usleep(PAUSE * 1000);
		if (connect(caller, (struct sockaddr *)&address, sizeof(address)))
			fail("connect");
		usleep(PAUSE * 1000);
		if (write(event, &one, sizeof(one)) != sizeof(one))
			fail("write");
		while (__atomic_load_n(&rounds, __ATOMIC_ACQUIRE) <= i)
			usleep(1000);
	}
	return unused;
}

static void make(const char *folder)
{
	socklen_t size = sizeof(address);
	struct sockaddr_in own;
	struct stat of;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	client = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 16) ||
	    getsockname(listener, (struct sockaddr *)&address, &size) ||
	    connect(client, (struct sockaddr *)&address, size) ||
	    getsockname(client, (struct sockaddr *)&own, &size))
		fail("connect");
	served = accept(listener, NULL, NULL);
	event = eventfd(0, 0);
	snprintf(path, sizeof(path), "%s/synced", folder);
	file = open(path, O_RDWR | O_CREAT, 0600);
	if (pipe(slow) || pipe(silent) || fstat(slow[0], &of) || served < 0 || event < 0 ||
	    file < 0)
		fail("open");
	printf("read of pipe %llu\n", (unsigned long long)of.st_ino);
	printf("recv from tcp 127.0.0.1:%u -> 127.0.0.1:%u\n", ntohs(address.sin_port),
	       ntohs(own.sin_port));
	printf("accept on tcp 127.0.0.1:%u (listens)\n", ntohs(address.sin_port));
	printf("poll of eventfd fd %d\n", event);
	printf("timeout\nfsync of %s\nopenat of %s\n", path, path);
	if (fstat(silent[0], &of))
		fail("fstat");
	printf("silent: pipe %llu\n", (unsigned long long)of.st_ino);
	fflush(stdout);
}

static void never(void)
{
	struct io_uring_sqe *entry = new_entry(IORING_OP_READ, silent[0]);

	entry->addr = (uint64_t)(bytes + 32);
	entry->len = 1;
	submit();
}

int main(int argc, char **argv)
{
	pthread_t player;

	if (argc != 3) {
		fprintf(stderr, "usage: %s plain|registered|defer|sqpoll|async|stuck FOLDER\n",
			argv[0]);
		return 2;
	}
	set_way(argv[1]);
	make(argv[2]);
	open_ring();
	never();
	if (!strcmp(argv[1], "stuck")) {
		struct io_uring_sqe *entry = new_entry(IORING_OP_RECV, served);

		entry->addr = (uint64_t)bytes;
		entry->len = 1;
		submit();
		program_ready();
		return wait_for_completion().res;
	}
	if (pthread_create(&player, NULL, play, NULL))
		return 1;
	for (int i = 0; i < TURNS; i++) {
		read_pipe();
		receive();
		accept_one();
		poll_event();
		have_time();
		sync_file();
		open_file();
		__atomic_store_n(&rounds, i + 1, __ATOMIC_RELEASE);
	}
	pthread_join(player, NULL);
	for (int i = 0; i < TURNS; i++)
		wait_for_time();
	/* ends what never is */
	exit(0);
}
