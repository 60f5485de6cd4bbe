/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_REQUESTS_H
#define QUERY_REQUESTS_H

#include "film/reader.h"
#include "query/filter.h"

/*
 * The requests of a film, one by one: what its programs were asked for, and asked others for. A
 * struct film_request has all that is known of one; its strings are hostile and not terminated.
 */
struct request {
	struct film_request row;
	const char *endpoint; /* "GET /orders/" and a star; the film's; "" where it had no room */
	const char *place;    /* where the server of a Unix socket listens; the film's; "" */
	char path[FILM_REQUEST_PATH + 1], id[FILM_REQUEST_ID + 1];
};

static inline uint64_t request_start(const struct request *request)
{
	return request->row.end - request->row.duration;
}

/* The film's event that has requests; 0: there is none. */
uint32_t requests_event(const struct film *film);

/*
 * Gives take() all requests that end in [from, to), in order of their end; each once, also one that
 * went on as a film ended which this one is made of. A value of take() other
 * than 0 ends the walk and is returned. take() must not walk through the same film. Returns 0 or a
 * negative errno with *why filled; 0 if the film has none.
 */
int requests_each(struct film *film, uint64_t from, uint64_t to,
		  int (*take)(void *context, const struct request *request), void *context,
		  struct fail *why);

/* "served" or "made" */
const char *request_role_name(const struct request *request);

/*
 * What identifies a request for people: the id that it carried, or else its number in hexadecimal.
 * request_has_id() accepts both.
 */
#define REQUEST_NAME_MAX (FILM_REQUEST_ID + 1)
void request_name(const struct request *request, char name[REQUEST_NAME_MAX]);
bool request_has_id(const struct request *request, const char *id);

/*
 * The other end: "10.0.0.7:5432", "[::1]:80", "unix socket /run/x.sock" (hostile as the film is),
 * of one without a name "unix socket". Returns to.
 */
#define REQUEST_PEER_MAX 128
const char *request_peer(const struct request *request, char *to, size_t size);
/* The same of its own end. */
const char *request_own(const struct request *request, char *to, size_t size);

/*
 * What the other end of a request made has in common with others at the same place: its address, or
 * of a Unix socket a hash of the name that it listens on. Both are 0 if it has none.
 */
void request_peer_place(const struct request *request, uint64_t place[2]);

#endif
