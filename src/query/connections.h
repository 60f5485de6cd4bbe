/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_CONNECTIONS_H
#define QUERY_CONNECTIONS_H

#include "base/vec.h"
#include "query/requests.h"

/*
 * Finds the program that served the requests that another program made. Both ends of a connection
 * have the same two addresses (of a Unix socket: the same two socket numbers), so a request made
 * and a request served on it can be matched. One address alone is ambiguous: several servers may be
 * behind it, and each machine has its own 127.0.0.1. If the network rewrites addresses, the two
 * ends do not match, and the server is not known.
 *
 * Connections are stored by a hash. If there are too many, those with the lowest hashes are kept at
 * both ends alike: a sample of a client's connections that represents all of them.
 */
enum {
	CONNECTIONS_MAX = 1 << 18,  /* connections of servers */
	CONNECTION_SAMPLE_MAX = 16, /* connections of a client to one address */
	CONNECTION_UNKNOWN = -1,    /* the server is not known */
	CONNECTION_SEVERAL = -2,    /* the connections lead to several servers */
};

/*
 * Computes the hash of a request's connection, which is the same at both ends. False: the addresses
 * are not known. machine: any number that is the same for all requests of a machine.
 */
bool connection_hash(const struct request *request, uint64_t machine, uint64_t *hash);

/* All zero is empty. */
struct connections {
	vec(struct served_connection {
		uint64_t hash;
		uint32_t server;
	}) served;
	uint64_t least_left; /* this and larger hashes were left out; 0: none */
	bool is_sorted;
};

/* A client's connections to one address. All zero is empty. */
struct connection_sample {
	uint64_t hash[CONNECTION_SAMPLE_MAX]; /* the lowest hashes, ascending */
	size_t count;
};

/*
 * Adds a request that a server has served. server: a number that the caller chooses. machine: as
 * above. False: no memory.
 */
bool connections_add(struct connections *connections, const struct request *request,
		     uint64_t machine, uint32_t server);

/* Adds a request that the client has made. */
void connection_sample_add(struct connection_sample *sample, const struct request *request,
			   uint64_t machine);

/* The number of the only server, CONNECTION_UNKNOWN or CONNECTION_SEVERAL. */
int64_t connections_server(struct connections *connections, const struct connection_sample *sample);

void connections_free(struct connections *connections);

#endif
