/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_WATCH_H
#define SERVER_WATCH_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/fail.h"
#include "server/peer.h"

/*
 * The connections: where each is from, and since when it is doing what. A thread of its own looks
 * at them some times a second. May be used from any thread.
 *
 * - libmicrohttpd itself ends those that say nothing for long; one that sends, or takes, a byte now
 *   and then is ended here, and so is one that does not begin.
 * - Seats: a connection that has not yet shown a token (or a certificate) is a stranger. Strangers
 *   have a part of all seats, and those of one address a smaller one. A new one always gets in:
 *   where there are too many, the stranger that has had the longest to send its first request makes
 *   room, of the same address if that has too many. So connections that say nothing cost those who
 *   open them, and clients that send a request at once are served.
 * - Where all seats are taken, and another comes, the connection that was not used for the longest
 *   time is ended: many agents each keep one between films, and connect again for the next.
 * - Of a connection whose answer is being made, it is found out when the client has gone.
 */
struct watch;
struct watched;

enum watch_state {
	WATCH_IDLE,	 /* between requests, or sending a header */
	WATCH_RECEIVING, /* the body */
	WATCH_ANSWERING, /* it waits for us: no limit */
	WATCH_SENDING,	 /* our answer */
};

struct watch_options {
	/*
	 * ns: from the first connection to its first byte, from a header's first byte to its last,
	 * of all else
	 */
	uint64_t first_byte_max, head_max, request_max;
	uint32_t connections, strangers, strangers_of_one; /* seats */
};

int watch_start(const struct watch_options *options, struct watch **watch, struct fail *why);
/* Ends its thread: no connection is ended any more. Null is allowed. */
void watch_stop(struct watch *watch);
void watch_free(struct watch *watch); /* it was stopped, or null */

/* Null: no memory. It is to be given back before the socket is closed. */
struct watched *watch_add(struct watch *watch, int socket, struct peer peer);
void watch_remove(struct watch *watch, struct watched *watched); /* null is allowed */

struct peer watch_peer(const struct watched *watched); /* of null, too */

void watch_set(struct watch *watch, struct watched *watched, enum watch_state state);

/* It has shown who it is, and takes no seat of strangers. */
void watch_know(struct watch *watch, struct watched *watched);

/*
 * Whether the client went away while its answer was made. Lives as long as watched; of null: null.
 */
const atomic_bool *watch_gone(const struct watched *watched);

#endif
