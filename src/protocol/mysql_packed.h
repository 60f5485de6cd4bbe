/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTOCOL_MYSQL_PACKED_H
#define PROTOCOL_MYSQL_PACKED_H

#include "protocol/protocol.h"

/*
 * MySQL's compressed protocol: once client and server have agreed on it, all packets lie in others,
 * whose head has the length, a number, and the length of what was packed; 0: it lies there as it
 * is. The rest is of zlib, or of zstd, which says so itself. Only beginnings are unpacked, to a
 * bound: of what is not there, the length is known.
 */

#define MYSQL_PACKED_HEADER 7
#define MYSQL_PACKED_MAX    4096  /* what is looked at of one */
#define MYSQL_UNPACKED_MAX  16384 /* and what is unpacked of that */

/* One direction of a connection. All zero is a new one. */
struct mysql_packed {
	uint8_t header[MYSQL_PACKED_HEADER];
	uint32_t have, left; /* bytes of the header; of the rest, still to come */
	uint32_t size;
	uint8_t body[MYSQL_PACKED_MAX];
	uint32_t kept;
	bool is_lost; /* where one begins is not known, until the direction turns */
};

/* Whether a piece begins with the head of one that carries a command, and has the whole. */
bool mysql_packed_is_command(const struct piece *piece);
/* Whether it may be the head of one that carries a command, and more may follow. */
bool mysql_packed_begins(const struct piece *piece);

/*
 * Parses a piece. For each packet that ended with it, emit() gets what was packed, and how many
 * bytes the packet had; strange counts those that cannot be unpacked.
 */
void mysql_packed_parse(struct mysql_packed *packed, const struct piece *piece, uint64_t *strange,
			void (*emit)(void *context, const struct piece *piece, uint32_t bytes),
			void *context);

#endif
