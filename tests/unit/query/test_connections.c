// SPDX-License-Identifier: Apache-2.0
/* Both ends of a connection name each other, also where only some of the connections are kept. */
#include "../prelude.h"

#include <string.h>

#include "query/connections.h"

#define CLIENT	0x0a000001u
#define SERVER	0x0a000002u
#define ITSELF	0x7f000001u
#define MACHINE 77

static void set_address(uint64_t address[2], uint32_t ipv4)
{
	uint8_t bytes[16] = {[10] = 0xff,	    [11] = 0xff,	  (uint8_t)(ipv4 >> 24),
			     (uint8_t)(ipv4 >> 16), (uint8_t)(ipv4 >> 8), (uint8_t)ipv4};

	memcpy(address, bytes, sizeof(bytes));
}

static struct request made(uint32_t from, uint32_t to, uint16_t port, uint16_t to_port)
{
	struct request request = {
		.row = {.role = FILM_REQUEST_MADE, .own_port = port, .peer_port = to_port}};

	set_address(request.row.own, from);
	set_address(request.row.peer, to);
	return request;
}

static struct request served(uint32_t from, uint32_t to, uint16_t port, uint16_t to_port)
{
	struct request request = made(to, from, to_port, port);

	request.row.role = FILM_REQUEST_SERVED;
	return request;
}

static int64_t server_of(struct connections *connections, const struct request *request,
			 uint64_t machine)
{
	struct connection_sample sample = {0};

	connection_sample_add(&sample, request, machine);
	return connections_server(connections, &sample);
}

static void add(struct connections *connections, struct request request, uint64_t machine,
		uint32_t server)
{
	assert_true(connections_add(connections, &request, machine, server));
}

static void test_both_ends(void **state)
{
	struct connections connections = {0};
	struct request own = made(CLIENT, SERVER, 40000, 80),
		       other = made(CLIENT, SERVER, 40001, 80);
	struct request swapped = made(SERVER, CLIENT, 80, 40000);

	(void)state;
	assert_int_equal(server_of(&connections, &own, MACHINE), CONNECTION_UNKNOWN);
	add(&connections, served(CLIENT, SERVER, 40000, 80), 1, 5);
	add(&connections, served(CLIENT, SERVER, 40000, 80), 1, 5);
	assert_int_equal(server_of(&connections, &own, 2), 5);
	assert_int_equal(server_of(&connections, &other, 2), CONNECTION_UNKNOWN);
	assert_int_equal(server_of(&connections, &swapped, 2), CONNECTION_UNKNOWN);
	/* one port after the other */
	add(&connections, served(CLIENT, SERVER, 40000, 80), 1, 6);
	assert_int_equal(server_of(&connections, &own, 2), CONNECTION_SEVERAL);
	connections_free(&connections);
}

static void test_each_machine_has_its_own_loopback(void **state)
{
	struct connections connections = {0};
	struct request own = made(ITSELF, ITSELF, 40000, 80);

	(void)state;
	add(&connections, served(ITSELF, ITSELF, 40000, 80), 1, 5);
	assert_int_equal(server_of(&connections, &own, 1), 5);
	assert_int_equal(server_of(&connections, &own, 2), CONNECTION_UNKNOWN);
	connections_free(&connections);
}

static void test_sockets_without_addresses(void **state)
{
	struct connections connections = {0};
	struct request request = {.row = {.role = FILM_REQUEST_SERVED, .flags = FILM_REQUEST_UNIX}};

	(void)state;
	add(&connections, request, 1, 5);
	request.row.role = FILM_REQUEST_MADE;
	assert_int_equal(server_of(&connections, &request, 1), CONNECTION_UNKNOWN);
	connections_free(&connections);
}

static struct request by_unix(uint8_t role, uint64_t own, uint64_t peer, uint64_t name)
{
	bool serves = role == FILM_REQUEST_SERVED;

	return (struct request){.row = {.role = role,
					.flags = FILM_REQUEST_UNIX,
					.own = {own, serves ? name : 0},
					.peer = {peer, serves ? 0 : name}}};
}

static void test_unix_sockets(void **state)
{
	struct connections connections = {0};
	struct request own = by_unix(FILM_REQUEST_MADE, 21, 22, 9);
	struct request swapped = by_unix(FILM_REQUEST_MADE, 22, 21, 9);
	struct request other = by_unix(FILM_REQUEST_MADE, 23, 24, 9);
	struct request half = by_unix(FILM_REQUEST_MADE, 25, 0, 9);
	uint64_t place[2], other_place[2];

	(void)state;
	add(&connections, by_unix(FILM_REQUEST_SERVED, 22, 21, 9), 1, 5);
	add(&connections, by_unix(FILM_REQUEST_SERVED, 0, 25, 9), 1, 6);
	/* numbers are those of one machine, by any name */
	assert_int_equal(server_of(&connections, &own, 2), 5);
	assert_int_equal(server_of(&connections, &swapped, 1), CONNECTION_UNKNOWN);
	assert_int_equal(server_of(&connections, &other, 1), CONNECTION_UNKNOWN);
	assert_int_equal(server_of(&connections, &half, 1), CONNECTION_UNKNOWN);
	request_peer_place(&own, place);
	request_peer_place(&other, other_place);
	assert_memory_equal(place, other_place, sizeof(place));
	connections_free(&connections);
}

/* More than there is room for: a client with many connections is still known, and none is wrong. */
static void test_many(void **state)
{
	enum {
		CLIENTS = 20,
		EACH = 50000
	};
	struct connections connections = {0};
	struct connection_sample samples[CLIENTS] = {0};

	(void)state;
	for (uint32_t i = 0; i < EACH; i++) {
		for (uint32_t client = 0; client < CLIENTS; client++) {
			uint32_t from = CLIENT + 256 * client, to = SERVER + 256 * client;
			struct request own = made(from, to, (uint16_t)(10000 + i), 80);

			connection_sample_add(&samples[client], &own, 1);
			add(&connections, served(from, to, (uint16_t)(10000 + i), 80), 2, client);
		}
	}
	assert_true(connections.served.count <= CONNECTIONS_MAX && connections.least_left);
	for (uint32_t client = 0; client < CLIENTS; client++) {
		assert_int_equal(samples[client].count, CONNECTION_SAMPLE_MAX);
		assert_int_equal(connections_server(&connections, &samples[client]), client);
	}
	connections_free(&connections);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ends),
		cmocka_unit_test(test_each_machine_has_its_own_loopback),
		cmocka_unit_test(test_sockets_without_addresses),
		cmocka_unit_test(test_unix_sockets),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
