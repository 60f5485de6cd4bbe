/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uring_server WAY HOW CONNECTIONS ROUNDS: an HTTP server on io_uring, which serves clients of its
 * own, each with a connection over which it asks so often. WAY is as of uring; HOW: recv, message
 * (recvmsg and sendmsg, in pieces), read, select (buffers that the kernel selects). Prints how many
 * requests it has served.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "ring.h"

#define CONNECTIONS_MAX 128
#define SIZE		2048
#define GROUP		7

/* What an entry is for: the kind, above the number of its connection. */
enum {
	ACCEPTED = 1 << 16,
	RECEIVED = 2 << 16,
	SENT = 3 << 16,
	PROVIDED = 4 << 16,
};

static struct connection {
	int fd;
	char head[SIZE], answer[SIZE];
	size_t had, begun; /* bytes of the head; of the answer, that are sent */
	size_t size;
	struct iovec pieces[2];
	struct msghdr message;
} connections[CONNECTIONS_MAX];

static char selected[CONNECTIONS_MAX][SIZE];
static int listener, by_message, by_read, by_select;
static long served;

static struct io_uring_sqe *move(struct connection *c, int kind, int sends, char *data, size_t size)
{
	struct io_uring_sqe *entry;
	size_t half = size / 2;

	if (by_message) {
		c->pieces[0] = (struct iovec){data, half};
		c->pieces[1] = (struct iovec){data + half, size - half};
		c->message = (struct msghdr){.msg_iov = c->pieces, .msg_iovlen = 2};
		entry = new_entry(sends ? IORING_OP_SENDMSG : IORING_OP_RECVMSG, c->fd);
		entry->addr = (uint64_t)&c->message;
		entry->len = 1;
	} else {
		if (by_read)
			entry = new_entry(sends ? IORING_OP_WRITE : IORING_OP_READ, c->fd);
		else
			entry = new_entry(sends ? IORING_OP_SEND : IORING_OP_RECV, c->fd);
		entry->addr = (uint64_t)data;
		entry->len = (uint32_t)size;
	}
	entry->user_data = (uint64_t)(kind | (int)(c - connections));
	entry->flags = (uint8_t)ring.entry_flags;
	return entry;
}

static void receive(struct connection *c)
{
	struct io_uring_sqe *entry = move(c, RECEIVED, 0, c->head + c->had, SIZE - c->had);

	if (by_select) {
		entry->addr = 0;
		entry->flags |= IOSQE_BUFFER_SELECT;
		entry->buf_group = GROUP;
	}
	submit();
}

static void provide(int first, int count)
{
	struct io_uring_sqe *entry = new_entry(IORING_OP_PROVIDE_BUFFERS, count);

	entry->addr = (uint64_t)selected[first];
	entry->len = SIZE;
	entry->off = (uint64_t)first;
	entry->buf_group = GROUP;
	entry->user_data = PROVIDED;
	submit();
}

static void accept_next(void)
{
	struct io_uring_sqe *entry = new_entry(IORING_OP_ACCEPT, listener);

	entry->user_data = ACCEPTED;
	submit();
}

static void answer(struct connection *c)
{
	char path[64];

	if (sscanf(c->head, "GET %63s", path) != 1)
		exit(1);
	c->begun = 0;
	c->size = (size_t)snprintf(c->answer, SIZE,
				   "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(path),
				   path);
	served++;
	c->had = 0;
	move(c, SENT, 1, c->answer, c->size);
	submit();
}

static void received(struct connection *c, const struct io_uring_cqe *done)
{
	if (by_select && done->res > 0) {
		int buffer = (int)(done->flags >> IORING_CQE_BUFFER_SHIFT);

		memcpy(c->head + c->had, selected[buffer], (size_t)done->res);
		provide(buffer, 1);
	}
	c->had += (size_t)done->res;
	c->head[c->had] = 0;
	if (c->had >= 4 && !memcmp(c->head + c->had - 4, "\r\n\r\n", 4))
		answer(c);
	else
		receive(c);
}

/* Whether the connection goes on. */
static int take(const struct io_uring_cqe *done)
{
	struct connection *c = &connections[done->user_data & 0xffff];

	if (done->res <= 0) {
		if (done->res < 0 && done->res != -ECONNRESET) {
			fprintf(stderr, "%#llx: %s\n", (unsigned long long)done->user_data,
				strerror(-done->res));
			exit(1);
		}
		close(c->fd);
		return 0;
	}
	if ((done->user_data & ~0xffffull) == RECEIVED) {
		received(c, done);
		return 1;
	}
	c->begun += (size_t)done->res;
	if (c->begun < c->size) {
		move(c, SENT, 1, c->answer + c->begun, c->size - c->begun);
		submit();
	} else {
		receive(c);
	}
	return 1;
}

static void serve(int count)
{
	int open = 0, ended = 0;

	if (by_select)
		provide(0, CONNECTIONS_MAX);
	accept_next();
	while (ended < count) {
		struct io_uring_cqe done = wait_for_completion();

		if (done.user_data == PROVIDED)
			continue;
		if (done.user_data == ACCEPTED) {
			if (done.res < 0)
				exit(1);
			connections[open].fd = done.res;
			receive(&connections[open]);
			if (++open < count)
				accept_next();
			continue;
		}
		ended += !take(&done);
	}
}

/* -- the clients ------------------------------------------------------------------------------- */

static void ask(int fd, int number)
{
	char data[SIZE];
	int size = snprintf(data, sizeof(data),
			    "GET /item/%d HTTP/1.1\r\nX-Request-Id: id-%d\r\n\r\n", number, number);
	char *end;

	if (write(fd, data, (size_t)size) != size)
		exit(1);
	for (size = 0;;) {
		ssize_t got = read(fd, data + size, sizeof(data) - 1 - (size_t)size);

		if (got <= 0)
			exit(1);
		size += (int)got;
		data[size] = 0;
		end = strstr(data, "\r\n\r\n");
		if (end && atoi(strstr(data, "Length: ") + 8) == (int)strlen(end + 4))
			return;
	}
}

static void client(const struct sockaddr_in *address, int rounds, int number)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)))
		exit(1);
	for (int i = 0; i < rounds; i++)
		ask(fd, number * rounds + i);
	exit(0);
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int count = argc == 5 ? atoi(argv[3]) : 0, failed = 0, status;
	socklen_t size = sizeof(address);

	if (count < 1 || count > CONNECTIONS_MAX) {
		fprintf(stderr, "usage: %s WAY recv|message|read|select CONNECTIONS ROUNDS\n",
			argv[0]);
		return 2;
	}
	set_way(argv[1]);
	by_message = !strcmp(argv[2], "message");
	by_read = !strcmp(argv[2], "read");
	by_select = !strcmp(argv[2], "select");
	listener = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, count) ||
	    getsockname(listener, (struct sockaddr *)&address, &size))
		fail("listen");
	for (int i = 0; i < count; i++)
		if (!fork())
			client(&address, atoi(argv[4]), i);
	open_ring();
	serve(count);
	while (wait(&status) > 0)
		failed += status != 0;
	printf("served %ld\n", served);
	return failed != 0;
}
