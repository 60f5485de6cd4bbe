// SPDX-License-Identifier: Apache-2.0
/* What is posted, and by which way: to a server of the test's own. */
#include "../prelude.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "send/http.h"

/* Takes one post without a body, and keeps its head. */
struct server {
	int fd;
	unsigned int port;
	char head[8192];
	pthread_t thread;
};

static void *serve(void *context)
{
	static const char reply[] =
		"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
	struct server *s = context;
	size_t taken = 0;
	ssize_t count;
	int fd = accept(s->fd, NULL, NULL);

	if (fd < 0)
		return NULL;
	do {
		count = read(fd, s->head + taken, sizeof(s->head) - 1 - taken);
		taken += count > 0 ? (size_t)count : 0;
	} while (count > 0 && !strstr(s->head, "\r\n\r\n"));
	count = write(fd, reply, sizeof(reply) - 1);
	close(fd);
	return NULL;
}

static void start(struct server *s)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);

	*s = (struct server){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
	assert_int_equal(bind(s->fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(s->fd, 4), 0);
	assert_int_equal(getsockname(s->fd, (struct sockaddr *)&address, &size), 0);
	s->port = ntohs(address.sin_port);
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

/* A client that was not asked for anything must not wait. */
static void stop(struct server *s)
{
	shutdown(s->fd, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->fd);
}

struct fixture {
	char token[64]; /* path of its file */
	struct http *http;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	if (!f)
		return -1;
	strcpy(f->token, "/tmp/stackcam-token-XXXXXX");
	return close(mkstemp(f->token));
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	unsetenv("http_proxy");
	http_free(f->http);
	unlink(f->token);
	free(f);
	return 0;
}

static void put_token(struct fixture *f, const char *text)
{
	const struct http_options options = {.token_file = f->token};
	FILE *file = fopen(f->token, "we");
	struct fail why;

	fputs(text, file);
	fclose(file);
	if (!f->http)
		assert_int_equal(http_new(&options, &f->http, &why), 0);
}

static int post(struct http *http, unsigned int port, struct fail *why)
{
	struct http_reply reply;
	char url[64];
	const struct http_post post = {.url = url, .body = "", .size = 0};

	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", port);
	return http_post(http, &post, &reply, why);
}

/* A token that may go to this machine only does not go by a proxy; what has none does. */
static void test_proxy(void **state)
{
	struct fixture *f = *state;
	struct server server, proxy;
	const struct http_options without = {0};
	struct http *plain;
	struct fail why;
	char url[64];

	start(&server);
	start(&proxy);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", proxy.port);
	setenv("http_proxy", url, 1);
	put_token(f, "a-token-of-sixteen\n");
	assert_int_equal(post(f->http, server.port, &why), 0);
	assert_int_equal(http_new(&without, &plain, &why), 0);
	assert_int_equal(post(plain, server.port, &why), 0);
	http_free(plain);
	stop(&server);
	stop(&proxy);
	assert_non_null(strstr(server.head, "Authorization: Bearer a-token-of-sixteen\r\n"));
	assert_non_null(strstr(proxy.head, "POST http://127.0.0.1"));
	assert_null(strstr(proxy.head, "Authorization"));
}

/* What is not a token is not sent, and not shown. */
static void test_tokens(void **state)
{
	struct fixture *f = *state;
	struct fail why;
	char *long_one = malloc(5000);

	assert_non_null(long_one);
	memset(long_one, 'x', 4999);
	long_one[4999] = 0;
	put_token(f, long_one);
	assert_int_equal(post(f->http, 1, &why), -EINVAL);
	assert_null(strstr(why.what, "xxx"));
	long_one[4096] = 0;
	put_token(f, long_one);
	/* no server is there, but it would have been sent */
	assert_int_equal(post(f->http, 1, &why), -EIO);
	free(long_one);
	put_token(f, "\nsecond line\n");
	assert_int_equal(post(f->http, 1, &why), -EINVAL);
	put_token(f, "secret\tsecret\n");
	assert_int_equal(post(f->http, 1, &why), -EINVAL);
	assert_null(strstr(why.what, "secret"));
	assert_int_equal(unlink(f->token), 0);
	assert_int_equal(post(f->http, 1, &why), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_proxy, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_tokens, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
