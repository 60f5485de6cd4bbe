// SPDX-License-Identifier: Apache-2.0
/*
 * A server that hands its requests to another thread, and publishes in thread-local storage what
 * that thread works for, as OpenTelemetry's libraries do (OTEP 4947). "context PORT": asks PORT for
 * /down meanwhile, without saying what for. Where CONTEXT_LIBRARY is defined it is the library that
 * has the variable.
 */
#include <stdint.h>
#include <string.h>

struct context {
	uint8_t trace[16], span[8], valid, flags;
	uint16_t size;
} __attribute__((packed));

#ifdef CONTEXT_LIBRARY
#define EXPORTED __attribute__((visibility("default")))

EXPORTED __thread struct context *otel_thread_ctx_v1;

EXPORTED void context_set(struct context *context)
{
	otel_thread_ctx_v1 = context;
}
#else
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef CONTEXT_OWN
__attribute__((visibility("default"))) __thread struct context *otel_thread_ctx_v1;

static void context_set(struct context *context)
{
	otel_thread_ctx_v1 = context;
}
#else
void context_set(struct context *context);
#endif

static int jobs[2], down_port;

static int connect_to(int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
		exit(1);
	return fd;
}

/* Works for one request after the other, each with a trace of its own: its number in each byte. */
static void *work(void *unused)
{
	static const char ask[] = "GET /down HTTP/1.1\r\nHost: x\r\n\r\n";
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
	int down = connect_to(down_port);
	char text[4096];

	for (uint8_t number = 1;; number++) {
		struct context context = {.valid = 1};
		int client;

		if (read(jobs[0], &client, sizeof(client)) != sizeof(client))
			return unused;
		memset(context.trace, number, sizeof(context.trace));
		memset(context.span, number, sizeof(context.span));
		context_set(&context);
		if (write(down, ask, sizeof(ask) - 1) < 0 || read(down, text, sizeof(text)) <= 0 ||
		    write(client, answer, sizeof(answer) - 1) < 0)
			exit(1);
		context_set(NULL);
	}
}

static void *serve(void *of)
{
	int client = (int)(intptr_t)of;
	char text[4096];

	while (read(client, text, sizeof(text)) > 0)
		if (write(jobs[1], &client, sizeof(client)) < 0)
			exit(1);
	close(client);
	return NULL;
}

int main(int argc, char **argv)
{
	struct sockaddr_in own = {.sin_family = AF_INET};
	socklen_t size = sizeof(own);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	pthread_t thread;

	own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (argc < 2 || pipe(jobs) || bind(listener, (struct sockaddr *)&own, sizeof(own)) ||
	    listen(listener, 16) || getsockname(listener, (struct sockaddr *)&own, &size))
		return 1;
	down_port = atoi(argv[1]);
	pthread_create(&thread, NULL, work, NULL);
	printf("%d\n", ntohs(own.sin_port));
	fflush(stdout);
	for (;;) {
		int client = accept(listener, NULL, NULL);

		if (client < 0)
			return 1;
		pthread_create(&thread, NULL, serve, (void *)(intptr_t)client);
		pthread_detach(thread);
	}
}
#endif
