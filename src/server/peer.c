// SPDX-License-Identifier: Apache-2.0
#include "server/peer.h"

#include <arpa/inet.h>
#include <string.h>

static struct peer peer_of_v4(const struct in_addr *address)
{
	struct peer peer = {.at = IN6ADDR_ANY_INIT};

	memset(&peer.at.s6_addr[10], 0xff, 2);
	memcpy(&peer.at.s6_addr[12], address, 4);
	return peer;
}

struct peer peer_of(const struct sockaddr *of)
{
	struct peer peer = {.at = IN6ADDR_ANY_INIT};
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	if (of && of->sa_family == AF_INET6) {
		memcpy(&v6, of, sizeof(v6));
		peer.at = v6.sin6_addr;
	} else if (of && of->sa_family == AF_INET) {
		memcpy(&v4, of, sizeof(v4));
		peer = peer_of_v4(&v4.sin_addr);
	}
	return peer;
}

static bool parse(const char *text, struct peer *peer)
{
	struct in_addr v4;

	if (inet_pton(AF_INET, text, &v4) != 1)
		return inet_pton(AF_INET6, text, &peer->at) == 1;
	*peer = peer_of_v4(&v4);
	return true;
}

bool peers_parse(const char *list, struct peer *peers, size_t max, size_t *count)
{
	char address[INET6_ADDRSTRLEN];

	for (*count = 0;; list++) {
		size_t length = strcspn(list, ",");

		if (*count == max || length >= sizeof(address))
			return false;
		memcpy(address, list, length);
		address[length] = 0;
		if (!parse(address, &peers[(*count)++]))
			return false;
		list += length;
		if (!*list)
			return true;
	}
}

struct peer peer_network(struct peer peer)
{
	if (IN6_IS_ADDR_LOOPBACK(&peer.at) ||
	    (IN6_IS_ADDR_V4MAPPED(&peer.at) && peer.at.s6_addr[12] == 127))
		return (struct peer){.at = IN6ADDR_LOOPBACK_INIT};
	if (!IN6_IS_ADDR_V4MAPPED(&peer.at))
		memset(&peer.at.s6_addr[8], 0, 8);
	return peer;
}

char *peer_text(struct peer peer, char to[INET6_ADDRSTRLEN])
{
	bool is_v4 = IN6_IS_ADDR_V4MAPPED(&peer.at);

	if (!inet_ntop(is_v4 ? AF_INET : AF_INET6, &peer.at.s6_addr[is_v4 ? 12 : 0], to,
		       INET6_ADDRSTRLEN))
		to[0] = 0;
	return to;
}

bool peer_same(struct peer a, struct peer b)
{
	return IN6_ARE_ADDR_EQUAL(&a.at, &b.at);
}
