// SPDX-License-Identifier: Apache-2.0
#include "query/connections.h"

#include <string.h>

#include "base/map.h"
#include "base/search.h"

struct ends {
	uint64_t server[2], client[2], machine;
	uint16_t server_port, client_port;
	uint32_t is_unix;
};

static bool is_loopback(const uint64_t address[2])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff}, own[16] = {[15] = 1};
	const uint8_t *bytes = (const uint8_t *)address;

	return (!memcmp(bytes, mapped, sizeof(mapped)) && bytes[12] == 127) ||
	       !memcmp(bytes, own, sizeof(own));
}

bool connection_hash(const struct request *request, uint64_t machine, uint64_t *hash)
{
	const struct film_request *row = &request->row;
	bool serves = row->role == FILM_REQUEST_SERVED, is_unix = row->flags & FILM_REQUEST_UNIX;
	/* numbers of a machine's sockets are its own; their names say nothing more */
	size_t bytes = is_unix ? sizeof(row->own[0]) : sizeof(row->own);
	struct ends ends = {
		.server_port = serves ? row->own_port : row->peer_port,
		.client_port = serves ? row->peer_port : row->own_port,
		.machine = !is_unix && is_loopback(row->peer) ? machine : 0,
		.is_unix = is_unix,
	};

	if (is_unix ? !row->own[0] || !row->peer[0] : !row->own_port || !row->peer_port)
		return false;
	memcpy(ends.server, serves ? row->own : row->peer, bytes);
	memcpy(ends.client, serves ? row->peer : row->own, bytes);
	*hash = hash_bytes(&ends, sizeof(ends));
	return true;
}

static int lowest_first(const void *left, const void *right)
{
	const struct served_connection *a = left, *b = right;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return a->server < b->server ? -1 : a->server > b->server;
}

static void sort(struct connections *c)
{
	size_t kept = 0;

	if (c->is_sorted || !c->served.count)
		return;
	qsort(c->served.at, c->served.count, sizeof(*c->served.at), lowest_first);
	for (size_t i = 0; i < c->served.count; i++)
		if (!i || lowest_first(&c->served.at[kept - 1], &c->served.at[i]) != 0)
			c->served.at[kept++] = c->served.at[i];
	c->served.count = kept;
	c->is_sorted = true;
}

static size_t place_of(const struct connections *c, uint64_t hash)
{
	return search_first(c->served.count, i, c->served.at[i].hash < hash);
}

/* Half of them go, but never a part of those of one connection. */
static void make_room(struct connections *c)
{
	sort(c);
	if (c->served.count <= CONNECTIONS_MAX / 2)
		return;
	c->least_left = c->served.at[CONNECTIONS_MAX / 2].hash;
	c->served.count = place_of(c, c->least_left);
}

bool connections_add(struct connections *c, const struct request *request, uint64_t machine,
		     uint32_t server)
{
	struct served_connection one = {.server = server};

	if (!connection_hash(request, machine, &one.hash) ||
	    (c->least_left && one.hash >= c->least_left))
		return true;
	/* requests of one connection often follow each other */
	if (c->served.count && !lowest_first(vec_last(&c->served), &one))
		return true;
	if (c->served.count == CONNECTIONS_MAX)
		make_room(c);
	if (c->least_left && one.hash >= c->least_left)
		return true;
	c->is_sorted = false;
	return vec_push(&c->served, one);
}

void connection_sample_add(struct connection_sample *sample, const struct request *request,
			   uint64_t machine)
{
	size_t i = sample->count;
	uint64_t hash;

	if (!connection_hash(request, machine, &hash))
		return;
	while (i && sample->hash[i - 1] > hash)
		i--;
	if (i == CONNECTION_SAMPLE_MAX || (i && sample->hash[i - 1] == hash))
		return;
	if (sample->count < CONNECTION_SAMPLE_MAX)
		sample->count++;
	memmove(&sample->hash[i + 1], &sample->hash[i],
		(sample->count - i - 1) * sizeof(*sample->hash));
	sample->hash[i] = hash;
}

int64_t connections_server(struct connections *c, const struct connection_sample *sample)
{
	int64_t found = CONNECTION_UNKNOWN;

	sort(c);
	for (size_t i = 0; i < sample->count; i++) {
		for (size_t at = place_of(c, sample->hash[i]);
		     at < c->served.count && c->served.at[at].hash == sample->hash[i]; at++) {
			int64_t server = c->served.at[at].server;

			if (found != CONNECTION_UNKNOWN && found != server)
				return CONNECTION_SEVERAL;
			found = server;
		}
	}
	return found;
}

void connections_free(struct connections *c)
{
	vec_free(&c->served);
	*c = (struct connections){0};
}
