/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_CONNECTIONS_H
#define QUERY_CONNECTIONS_H

#include "base/vec.h"
#include "query/requests.h"

/*
 * Which program answers the requests that another one made: a connection has the same two addresses
 * at both ends, or, of a Unix socket, the numbers of the same two sockets, so that a request made
 * and one served on it name each other. An address alone says
 * less: behind one there may be several servers, and on each machine there is another 127.0.0.1.
 * Where the network rewrites addresses, the two ends do not meet, and the server is not known.
 *
 * Connections are kept by a hash. Of too many, all that have the lower hashes are kept at both ends
 * alike, so that what is known of some of a client's connections stands for all of them.
 */
enum {
	CONNECTIONS_MAX = 1 << 18,  /* that are kept of the servers' */
	CONNECTION_SAMPLE_MAX = 16, /* that are kept of a client's to one address */
	CONNECTION_UNKNOWN = -1,    /* no server of these is known */
	CONNECTION_SEVERAL = -2,    /* they end at several servers */
};

/*
 * A hash of a request's connection, the same of both ends: *hash. False: they are not known.
 * machine: any number that is the same for all requests of a machine.
 */
bool connection_hash(const struct request *request, uint64_t machine, uint64_t *hash);

/* All zero is empty. */
struct connections {
	vec(struct served_connection {
		uint64_t hash;
		uint32_t server;
	}) served;
	uint64_t least_left; /* hashes from this on were left out; 0: none */
	bool is_sorted;
};

/* A client's connections to one address. All zero is empty. */
struct connection_sample {
	uint64_t hash[CONNECTION_SAMPLE_MAX]; /* the lowest ones, ascending */
	size_t count;
};

/*
 * The server, any number of the caller's, served this request. machine: any number that is the same
 * for all requests of a machine. Returns false without memory.
 */
bool connections_add(struct connections *connections, const struct request *request,
		     uint64_t machine, uint32_t server);

/* The client made this request. */
void connection_sample_add(struct connection_sample *sample, const struct request *request,
			   uint64_t machine);

/* The number of the one server, CONNECTION_UNKNOWN or CONNECTION_SEVERAL. */
int64_t connections_server(struct connections *connections, const struct connection_sample *sample);

void connections_free(struct connections *connections);

#endif
