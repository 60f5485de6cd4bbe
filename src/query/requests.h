/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_REQUESTS_H
#define QUERY_REQUESTS_H

#include "film/reader.h"
#include "query/filter.h"

/*
 * The requests that a film's programs served and made, one by one. A struct film_request has all
 * data of one; its strings are hostile and not terminated.
 */
struct request {
	struct film_request row;
	const char *endpoint; /* "GET /orders/" and a star; owned by the film; "": it had no room */
	const char *place;    /* address of a Unix socket's server; owned by the film; or "" */
	char path[FILM_REQUEST_PATH + 1], id[FILM_REQUEST_ID + 1];
};

static inline uint64_t request_start(const struct request *request)
{
	return request->row.end - request->row.duration;
}

/* The id of the film's event of requests; 0: none. */
uint32_t requests_event(const struct film *film);

/*
 * Calls emit() with each request that ends in [from, to), sorted by end; once also for a request
 * that spans several of the films from which this one was merged. If emit() returns a value other
 * than 0, the walk ends and returns that value. emit() must not walk through the same film.
 * Otherwise returns 0, also if the film has none, or a negative errno with *why filled.
 */
int requests_each(struct film *film, uint64_t from, uint64_t to,
		  int (*emit)(void *context, const struct request *request), void *context,
		  struct fail *why);

/* "served" or "made" */
const char *request_role_name(const struct request *request);

/*
 * Formats the id of a request for display: the id that it carried, or else its number in
 * hexadecimal. request_has_id() accepts both.
 */
#define REQUEST_NAME_MAX (FILM_REQUEST_ID + 1)
void request_name(const struct request *request, char name[REQUEST_NAME_MAX]);
bool request_has_id(const struct request *request, const char *id);

/*
 * Formats the address of the other end: "10.0.0.7:5432", "[::1]:80", "unix socket /run/x.sock"
 * (hostile), or "unix socket" without a name. Returns to.
 */
#define REQUEST_PEER_MAX 128
const char *request_peer(const struct request *request, char *to, size_t size);
/* The same for this end. */
const char *request_own(const struct request *request, char *to, size_t size);

/*
 * Identifies the place of a made request's other end, without the port: its address, or for a Unix
 * socket a hash of the name on which it listens. Both words are 0 if there is none.
 */
void request_peer_place(const struct request *request, uint64_t place[2]);

#endif
