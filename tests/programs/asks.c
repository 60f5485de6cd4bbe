// SPDX-License-Identifier: Apache-2.0
/* A server and its client, which asks so often: GET /item/N, over a unix socket. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void put(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		exit(1);
}

/* Reads up to an empty line; 0: there is nothing more. */
static int get(int fd)
{
	char head[512];
	size_t size = 0;

	while (size < 4 || memcmp(head + size - 4, "\r\n\r\n", 4) != 0) {
		ssize_t n = read(fd, head + size, sizeof(head) - size);

		if (n <= 0)
			return 0;
		size += (size_t)n;
	}
	return 1;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1, ends[2], status;
	char head[64];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	if (!fork()) {
		close(ends[0]);
		while (get(ends[1]))
			put(ends[1], "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
		return 0;
	}
	close(ends[1]);
	for (int i = 0; i < count; i++) {
		snprintf(head, sizeof(head), "GET /item/%d HTTP/1.1\r\n\r\n", i);
		put(ends[0], head);
		if (!get(ends[0]))
			return 1;
	}
	close(ends[0]);
	wait(&status);
	return status;
}
