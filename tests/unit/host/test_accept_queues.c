// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/accept_queues.h"
#include "host/triggers.h"

#define SECOND_NS 1000000000ull

enum {
	BACKLOG = 2,
	MANY = 66, /* queues; that is more than are watched */
};

struct told {
	int count;
	struct happening last;
};

static void take(void *context, const struct happening *happening)
{
	struct told *told = context;

	told->count++;
	told->last = *happening;
}

static int listens(struct sockaddr_in *address)
{
	socklen_t length = sizeof(*address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	*address = (struct sockaddr_in){.sin_family = AF_INET,
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	assert_int_equal(bind(fd, (struct sockaddr *)address, length), 0);
	assert_int_equal(listen(fd, BACKLOG), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)address, &length), 0);
	return fd;
}

static int connects(const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)to, sizeof(*to)), 0);
	return fd;
}

/* Looks at each of some seconds; returns how often it reported a queue. */
static int look(struct accept_queues *queues, struct told *told, uint64_t from, uint64_t to)
{
	const struct happening_listener listener = {take, told};
	struct fail why = {0};
	int before = told->count;

	for (uint64_t second = from; second <= to; second++)
		assert_int_equal(accept_queues_look(queues, second * SECOND_NS, &listener, &why),
				 0);
	return told->count - before;
}

static void a_queue_that_stays_full(void **state)
{
	int clients[BACKLOG + 1], server, accepted;
	struct selection programs = {0};
	struct accept_queues *queues;
	struct sockaddr_in address;
	struct told told = {0};
	struct fail why = {0};
	char words[256], place[64];

	(void)state;
	prctl(PR_SET_NAME, "full\nqueue");
	assert_int_equal(selection_add_name(&programs, "full?queue", &why), 0);
	assert_int_equal(selection_check(&programs, &why), 0);
	assert_int_equal(accept_queues_new(&programs, 3 * SECOND_NS, &queues, &why), 0);
	server = listens(&address);
	for (int i = 0; i < BACKLOG; i++)
		clients[i] = connects(&address);
	/* as many as the program asked for: one more is taken */
	assert_int_equal(look(queues, &told, 1, 9), 0);
	clients[BACKLOG] = connects(&address);
	assert_int_equal(look(queues, &told, 10, 12), 0);
	/* told once */
	assert_int_equal(look(queues, &told, 13, 20), 1);
	assert_int_equal(told.last.time, 13 * SECOND_NS);
	assert_int_equal(told.last.pid, getpid());
	assert_int_equal(told.last.waited, 3 * SECOND_NS);
	assert_int_equal(told.last.queued, BACKLOG + 1);
	assert_int_equal(told.last.backlog, BACKLOG);
	snprintf(place, sizeof(place), "127.0.0.1:%d", ntohs(address.sin_port));
	assert_string_equal(told.last.address_text, place);
	assert_non_null(trigger_of(&told.last, words, sizeof(words)));
	assert_null(strchr(words, '\n'));
	assert_non_null(strstr(words, "has been full for 3.000 s: 3 connections, and its backlog "
				      "is 2"));
	/* it has room, and is full again: that is another time */
	accepted = accept(server, NULL, NULL);
	assert_int_equal(look(queues, &told, 21, 21), 0);
	close(accepted);
	close(clients[0]);
	clients[0] = connects(&address);
	assert_int_equal(look(queues, &told, 22, 24), 0);
	assert_int_equal(look(queues, &told, 25, 30), 1);
	for (int i = 0; i <= BACKLOG; i++)
		close(clients[i]);
	close(server);
	accept_queues_free(queues);
	selection_free(&programs);
}

static void of_others(void **state)
{
	struct selection programs = {0};
	struct accept_queues *queues;
	struct sockaddr_in address;
	struct told told = {0};
	struct fail why = {0};
	int client, server;

	(void)state;
	assert_int_equal(selection_add_name(&programs, "no such program", &why), 0);
	assert_int_equal(selection_check(&programs, &why), 0);
	assert_int_equal(accept_queues_new(&programs, SECOND_NS, &queues, &why), 0);
	server = listens(&address);
	assert_int_equal(listen(server, 0), 0);
	client = connects(&address);
	assert_int_equal(look(queues, &told, 1, 4), 0);
	close(client);
	close(server);
	accept_queues_free(queues);
	selection_free(&programs);
}

/* Of more full queues than are watched, the number is reported, once. */
static void of_more_than_are_watched(void **state)
{
	int clients[MANY], servers[MANY];
	struct selection programs = {0};
	struct accept_queues *queues;
	struct sockaddr_in address;
	struct told told = {0};
	struct fail why = {0};
	FILE *kept = stderr;
	char *words = NULL;
	size_t length = 0;

	(void)state;
	assert_int_equal(accept_queues_new(&programs, 100 * SECOND_NS, &queues, &why), 0);
	for (int i = 0; i < MANY; i++) {
		servers[i] = listens(&address);
		assert_int_equal(listen(servers[i], 0), 0);
		clients[i] = connects(&address);
	}
	stderr = open_memstream(&words, &length);
	assert_non_null(stderr);
	assert_int_equal(look(queues, &told, 1, 4), 0);
	fclose(stderr);
	stderr = kept;
	assert_non_null(strstr(words, "accept queues are full: watches only 64 of them"));
	assert_ptr_equal(strchr(words, '\n'), words + length - 1);
	for (int i = 0; i < MANY; i++) {
		close(clients[i]);
		close(servers[i]);
	}
	free(words);
	accept_queues_free(queues);
	selection_free(&programs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_queue_that_stays_full),
		cmocka_unit_test(of_others),
		cmocka_unit_test(of_more_than_are_watched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
