// SPDX-License-Identifier: Apache-2.0
/* Which connection makes room for another one. */
#include "../prelude.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/watch.h"

#define LONG 3600000000000ull

enum {
	OF_ONE = 3,
	OF_ALL = 6,
	SEATS = 8,
};

struct client {
	int own, theirs; /* sockets */
	struct watched *watched;
};

static struct client connect_from(struct watch *watch, const char *address)
{
	struct sockaddr_in from = {.sin_family = AF_INET};
	struct client client;
	int sockets[2];

	assert_int_equal(inet_pton(AF_INET, address, &from.sin_addr), 1);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	client.own = sockets[0];
	client.theirs = sockets[1];
	client.watched = watch_add(watch, client.theirs, peer_of((const struct sockaddr *)&from));
	assert_non_null(client.watched);
	return client;
}

static bool was_ended(const struct client *client)
{
	struct pollfd fd = {.fd = client->own, .events = POLLRDHUP};

	return poll(&fd, 1, 0) > 0;
}

static struct watch *begin(void)
{
	const struct watch_options options = {LONG, LONG, LONG, SEATS, OF_ALL, OF_ONE};
	struct watch *watch;

	assert_int_equal(watch_start(&options, &watch, NULL), 0);
	return watch;
}

static void end(struct watch *watch, struct client *clients, size_t count)
{
	watch_stop(watch);
	for (size_t i = 0; i < count; i++) {
		watch_remove(watch, clients[i].watched);
		close(clients[i].own);
		close(clients[i].theirs);
	}
	watch_free(watch);
}

static void test_an_address_makes_room_for_itself(void **state)
{
	struct watch *watch = begin();
	struct client c[OF_ONE + 3];

	(void)state;
	c[0] = connect_from(watch, "192.0.2.1");
	for (int i = 1; i <= OF_ONE; i++)
		c[i] = connect_from(watch, "192.0.2.7");
	for (int i = 0; i <= OF_ONE; i++)
		assert_false(was_ended(&c[i]));
	/* one that works on a request, and one that is known, are not strangers that wait */
	watch_set(watch, c[1].watched, WATCH_ANSWERING);
	watch_know(watch, c[2].watched);
	c[OF_ONE + 1] = connect_from(watch, "192.0.2.7");
	assert_false(was_ended(&c[3]));
	c[OF_ONE + 2] = connect_from(watch, "192.0.2.7");
	assert_true(was_ended(&c[3]));
	assert_false(was_ended(&c[0]) || was_ended(&c[1]) || was_ended(&c[2]) ||
		     was_ended(&c[OF_ONE + 1]));
	end(watch, c, OF_ONE + 3);
}

static void test_the_oldest_stranger_makes_room(void **state)
{
	struct watch *watch = begin();
	struct client c[3 * OF_ALL];
	char address[32] = "192.0.2.x";

	(void)state;
	for (int i = 0; i < 3 * OF_ALL; i++) {
		address[8] = (char)('0' + i % 9);
		c[i] = connect_from(watch, i % 2 ? address : "127.0.0.1");
		if (i == 1)
			watch_know(watch, c[1].watched);
	}
	/* those that were known stay, however many come */
	for (int i = 0; i < 3 * OF_ALL; i++)
		assert_int_equal(was_ended(&c[i]), i < 2 * OF_ALL && i != 1);
	end(watch, c, 3 * OF_ALL);
}

/* More agents than seats, each with a connection that it keeps. */
static void test_the_longest_unused_makes_room(void **state)
{
	struct watch *watch = begin();
	struct client c[SEATS + 3];

	(void)state;
	for (int i = 0; i < SEATS; i++) {
		c[i] = connect_from(watch, "192.0.2.1");
		watch_know(watch, c[i].watched);
		watch_set(watch, c[i].watched, i ? WATCH_IDLE : WATCH_RECEIVING);
	}
	watch_set(watch, c[1].watched, WATCH_RECEIVING);
	watch_set(watch, c[1].watched, WATCH_IDLE);
	for (int i = 0; i < SEATS; i++)
		assert_false(was_ended(&c[i]));
	for (int i = SEATS; i < SEATS + 3; i++) {
		c[i] = connect_from(watch, "192.0.2.1");
		watch_know(watch, c[i].watched);
		watch_set(watch, c[i].watched, WATCH_IDLE);
	}
	/* not the one at work, nor the one that was used lately */
	for (int i = 0; i < SEATS + 3; i++)
		assert_int_equal(was_ended(&c[i]), i >= 2 && i < 5);
	end(watch, c, SEATS + 3);
}

static void test_a_client_that_has_gone(void **state)
{
	struct watch *watch = begin();
	struct client c[2] = {connect_from(watch, "192.0.2.1"), connect_from(watch, "192.0.2.2")};

	(void)state;
	watch_set(watch, c[0].watched, WATCH_ANSWERING);
	watch_set(watch, c[1].watched, WATCH_ANSWERING);
	shutdown(c[0].own, SHUT_WR);
	while (!atomic_load(watch_gone(c[0].watched)))
		usleep(1000);
	assert_false(atomic_load(watch_gone(c[1].watched)));
	end(watch, c, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_address_makes_room_for_itself),
		cmocka_unit_test(test_the_oldest_stranger_makes_room),
		cmocka_unit_test(test_the_longest_unused_makes_room),
		cmocka_unit_test(test_a_client_that_has_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
