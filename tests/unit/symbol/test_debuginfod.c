// SPDX-License-Identifier: Apache-2.0
/*
 * Debug files from a server: elfutils' own, on this machine's loopback. Skipped where the program
 * debuginfod is not installed.
 */
#include "bench.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char source[] = "__attribute__((noinline)) static int hidden(int x) { __asm__ "
			     "volatile(\"\"); return x * 3; }\n"
			     "int main(int c, char **v) { (void)v; return hidden(c); }\n";

static const uint8_t build_id[] = {0x51, 0xac, 0xca, 0x30, 1,  2,  3,  4,  5,  6,
				   7,	 8,    9,    10,   11, 12, 13, 14, 15, 16};

static int free_port(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(a);
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(s >= 0);
	assert_int_equal(bind(s, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(getsockname(s, (struct sockaddr *)&a, &length), 0);
	close(s);
	return ntohs(a.sin_port);
}

static bool answers(int port)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((uint16_t)port),
	};
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool connected = s >= 0 && !connect(s, (struct sockaddr *)&a, sizeof(a));

	close(s);
	return connected;
}

static pid_t start_server(struct bench *b, int port)
{
	const char *served = bench_path(b, "served"), *database = bench_path(b, "database");
	const char *log = bench_path(b, "server.log");
	char number[16];
	pid_t pid;

	snprintf(number, sizeof(number), "%d", port);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		int fd = open(log, O_WRONLY | O_CREAT, 0600);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(fd, 1);
		dup2(fd, 2);
		unsetenv("DEBUGINFOD_URLS");
		execlp("debuginfod", "debuginfod", "-p", number, "-d", database, "-F", served,
		       NULL);
		_exit(127);
	}
	for (int i = 0; i < 200 && !answers(port); i++)
		usleep(50000);
	assert_true(answers(port));
	return pid;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void build(struct bench *b)
{
	bench_write(b, "a.c", source);
	bench_run(b, "mkdir served cache && "
		     "cc -O1 -g -Wl,--build-id=0x51acca300102030405060708090a0b0c0d0e0f10 "
		     "-o whole a.c");
	bench_run(b, "objcopy --only-keep-debug whole served/a.debug && strip -o a whole");
	setenv("DEBUGINFOD_CACHE_PATH", bench_path(b, "cache"), 1);
	setenv("DEBUGINFOD_TIMEOUT", "5", 1);
}

static void from_a_server(void **state)
{
	static const struct symbol_options ask = {.debuginfod = true, .lines = true};
	static const struct symbol_options do_not_ask = {.lines = true};
	struct symbol_image image = {.fd = -1,
				     .path = "/gone",
				     .root = "",
				     .build_id = build_id,
				     .build_id_size = sizeof(build_id)};
	struct bench *b = *state;
	char url[64];
	uint64_t hidden;
	pid_t server;
	int port;

	if (!bench_try(b, "command -v debuginfod"))
		skip();
	build(b);
	hidden = bench_address(b, "whole", "hidden");
	port = free_port();
	server = start_server(b, port);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", port);

	unsetenv("DEBUGINFOD_URLS");
	assert_string_equal(bench_ask(b, "a", &ask, hidden), "");
	assert_non_null(strstr(b->missing, "DEBUGINFOD_URLS is not set"));

	setenv("DEBUGINFOD_URLS", url, 1);
	assert_string_equal(bench_ask(b, "a", &do_not_ask, hidden), "");
	/* the server reads its directory in the background */
	for (int i = 0; i < 100; i++) {
		bench_run(b, "rm -rf cache && mkdir cache");
		if (!strcmp(bench_ask(b, "a", &ask, hidden), "hidden a.c:1"))
			break;
		usleep(100000);
	}
	assert_string_equal(bench_ask(b, "a", &ask, hidden), "hidden a.c:1");
	/* the program need not be here at all */
	assert_string_equal(bench_ask_image(b, &image, &ask, hidden), "hidden a.c:1");

	/* a build id that the server does not have */
	image.build_id = (const uint8_t[]){1, 2, 3, 4};
	image.build_id_size = 4;
	assert_string_equal(bench_ask_image(b, &image, &ask, hidden), "");
	assert_non_null(strstr(b->missing, "no server of DEBUGINFOD_URLS has it"));

	kill(server, SIGTERM);
	waitpid(server, NULL, 0);
	/* what was fetched is still in the cache; what is not costs no more than an answer */
	assert_string_equal(bench_ask(b, "a", &ask, hidden), "hidden a.c:1");
	image.build_id = (const uint8_t[]){1, 2, 3, 5};
	assert_string_equal(bench_ask_image(b, &image, &ask, hidden), "");
	assert_non_null(strstr(b->missing, "asking debuginfod"));
}

static void ignore(void *context, size_t index, const struct symbol_name *names, size_t count)
{
	(void)context;
	(void)index;
	(void)names;
	(void)count;
}

/* A server that takes connections and says nothing. */
static void silent_server(void **state)
{
	static const struct symbol_options ask = {.debuginfod = true};
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct bench *b = *state;
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t length = sizeof(a);
	struct symbols *symbols;
	double begin;
	char url[64];

	bench_run(b, "mkdir cache");
	assert_int_equal(bind(s, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(s, 10), 0);
	assert_int_equal(getsockname(s, (struct sockaddr *)&a, &length), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", ntohs(a.sin_port));
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_CACHE_PATH", bench_path(b, "cache"), 1);
	setenv("DEBUGINFOD_TIMEOUT", "1", 1);
	begin = seconds();
	assert_int_equal(symbols_new(&ask, &symbols), 0);
	/* after two failures no server is asked */
	for (uint8_t i = 0; i < 20; i++) {
		const uint8_t id[] = {0xaa, i, 3, 4};
		struct symbol_image image = {
			.fd = -1, .root = "", .build_id = id, .build_id_size = sizeof(id)};
		uint64_t address = 1;

		symbols_of_image(symbols, &image, &address, 1, ignore, NULL, NULL);
	}
	symbols_free(symbols);
	assert_true(seconds() - begin < 10);
	close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(from_a_server, bench_set_up, bench_tear_down),
		cmocka_unit_test_setup_teardown(silent_server, bench_set_up, bench_tear_down),
	};

	return cmocka_run_group_tests_name("symbol-debuginfod", tests, NULL, NULL);
}
