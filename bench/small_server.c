// SPDX-License-Identifier: Apache-2.0
/*
 * The least that a server can do, for bench/serve-under-load: answers each request on loopback with
 * the same 600 bytes, one after the other. What it takes longer on a busy machine, the scheduler
 * takes. Prints its port.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char head[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";

int main(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof(address);
	int listening = socket(AF_INET, SOCK_STREAM, 0);
	char request[4096], answer[600];

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (listening < 0 || bind(listening, (struct sockaddr *)&address, size) ||
	    listen(listening, 64) || getsockname(listening, (struct sockaddr *)&address, &size)) {
		perror("small_server");
		return 1;
	}
	memset(answer, '{', sizeof(answer));
	memcpy(answer, head, sizeof(head) - 1);
	printf("%u\n", ntohs(address.sin_port));
	fflush(stdout);
	for (;;) {
		int connection = accept(listening, NULL, NULL);

		if (connection < 0)
			continue;
		if (read(connection, request, sizeof(request)) > 0 &&
		    write(connection, answer, sizeof(answer)) < 0)
			perror("small_server");
		close(connection);
	}
}
