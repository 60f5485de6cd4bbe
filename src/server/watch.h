/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_WATCH_H
#define SERVER_WATCH_H

#include <stdint.h>

/*
 * The connections, and since when each is doing what. libmicrohttpd itself ends those that say nothing at all;
 * one that sends, or takes, a byte now and then is ended here. May be used from any thread.
 */
struct watch;
struct watched;

enum watch_state {
	WATCH_IDLE,	 /* between requests, or sending a header */
	WATCH_RECEIVING, /* the body */
	WATCH_ANSWERING, /* it waits for us: no limit */
	WATCH_SENDING,	 /* our answer */
};

struct watch *watch_new(uint64_t idle_max, uint64_t request_max); /* ns; null: no memory */
void watch_free(struct watch *watch);				  /* null is allowed */

/* Null: no memory. It is to be given back before the socket is closed. */
struct watched *watch_add(struct watch *watch, int socket);
void watch_remove(struct watch *watch, struct watched *watched); /* null is allowed */

void watch_set(struct watch *watch, struct watched *watched, enum watch_state state);

/* Ends those that take too long, by a shutdown of their socket. */
void watch_check(struct watch *watch, uint64_t now);

#endif
