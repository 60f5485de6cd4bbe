/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_PEER_H
#define SERVER_PEER_H

#include <netinet/in.h>
#include <stdbool.h>

/* An address without its port. */
struct peer {
	struct in6_addr at; /* of version 4 as ::ffff:a.b.c.d */
};

/* of: an address of a socket, or null. */
struct peer peer_of(const struct sockaddr *of);

/*
 * "192.0.2.1" or "2001:db8::1", or several with commas between; false: another text, or more than
 * max.
 */
bool peers_parse(const char *list, struct peer *peers, size_t max, size_t *count);

/*
 * What counts as one client: all of loopback, as ::1, and all of a network of 64 bits of version 6.
 */
struct peer peer_network(struct peer peer);

/* "192.0.2.1", "2001:db8::1". Returns to. */
char *peer_text(struct peer peer, char to[INET6_ADDRSTRLEN]);

bool peer_same(struct peer a, struct peer b);

#endif
