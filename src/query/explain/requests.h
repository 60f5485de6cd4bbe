/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_REQUESTS_H
#define QUERY_EXPLAIN_REQUESTS_H

#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "query/requests.h"

/* What a walk must know of each request that was served. */
struct explain_served {
	uint64_t start, end, number;
	uint64_t first;
	uint64_t earliest;   /* start: of this and those of its answerer that ended later */
	uint64_t lane;	     /* as of a struct film_request */
	uint64_t connection; /* hash with the stream, alike at both ends; 0: none */
	uint64_t ends;	     /* explain_ends_of() of its socket; 0: none, or of several streams */
	uint32_t thread, answerer, endpoint; /* as of a struct film_request */
	uint8_t protocol;
};

/* A request that a program made. */
struct explain_made {
	uint64_t parent; /* number of the one that it served meanwhile; 0: not known */
	uint64_t key;	 /* of its id within its process; 0: it has none */
	uint64_t number, start, end;
	uint64_t connection;  /* as of a struct explain_served */
	uint64_t object;      /* explain_object_key() of its socket; 0: it has no addresses */
	const char *endpoint; /* the film's */
	uint64_t lane;	      /* as of a struct film_request */
	uint32_t thread;
	bool is_unix; /* over a Unix socket */
	char peer[REQUEST_PEER_MAX];
};

/* By which a socket is found that a wait has as its object: "tcp OWN -> PEER". */
static inline uint64_t explain_object_key(const char *name)
{
	return hash_bytes(name, strlen(name)) | 1;
}

/* Which requests are to be explained. All zero: all of them. */
struct explain_wanted {
	const char *id;	      /* of one; null: any */
	const char *endpoint; /* a glob; null: any */
	size_t slowest;	      /* at most this many, those that took longest */
};

struct explain_requests {
	vec(struct explain_served) served; /* by answerer, in order of their end */
	vec(struct explain_made) made;	   /* by parent, in order of their start */
	vec(uint32_t) by_connection;	   /* places in served, by connection and middle */
	vec(uint32_t) by_thread;	   /* places in made, by thread, in order of their start */
	vec(struct request) wanted;	   /* the slowest first */
};

/*
 * Reads the requests of a film that ended in [from, to), and keeps those that are wanted, of the
 * threads that the filter keeps. 0 or a negative errno with *why filled; explain_requests_free() is
 * needed in either case.
 */
int explain_requests_load(struct explain_requests *requests, struct film *film,
			  const struct filter *filter, const struct explain_wanted *wanted,
			  uint64_t from, uint64_t to, struct fail *why);
void explain_requests_free(struct explain_requests *requests);

/* The place in made of the first one that was made for a request, or that comes behind those. */
size_t explain_first_made(const struct explain_requests *requests, uint64_t parent);

/* Whether any was made for a request. */
bool explain_has_made(const struct explain_requests *requests, uint64_t parent);

/* Null: there is none of this number. */
const struct explain_made *explain_made_numbered(const struct explain_requests *requests,
						 uint64_t number);

/*
 * The request that was made for another one, and had been sent and not answered all over [from,
 * to); null: there is none.
 */
const struct explain_made *explain_made_in(const struct explain_requests *requests, uint64_t parent,
					   uint64_t from, uint64_t to);

/*
 * The one request that was made for another one, and was under way in a part of [from, to); null:
 * there is none, or there are several.
 */
const struct explain_made *explain_made_beside(const struct explain_requests *requests,
					       uint64_t parent, uint64_t from, uint64_t to);

/* The same of those alone that were made for a goroutine: its number, or the lowest 32 bits. */
const struct explain_made *explain_made_by(const struct explain_requests *requests, uint64_t parent,
					   uint32_t lane, uint64_t from, uint64_t to);

/*
 * The same request at the other end of its connection, where a process of the film served it: of
 * the same stream, and its middle within the time in which this one was under way. Null: there is
 * none, or several, as of requests that wait for their answers in order. The middle, because a
 * receiver may be seen before the call that sent is over, so that the ends differ by a little.
 */
const struct explain_served *explain_served_of(const struct explain_requests *requests,
					       const struct explain_made *made);

/* What a thread that answers its requests itself served at a moment; null: not known. */
const struct explain_served *explain_served_at(const struct explain_requests *requests,
					       uint32_t thread, uint64_t time);

/*
 * What came by the same connection before, and was served in a part of [from, to): the first one,
 * or the next one behind another. Null: there is none, as of HTTP/2, where a stream is of one.
 */
const struct explain_served *explain_same_connection(const struct explain_requests *requests,
						     const struct explain_served *served,
						     uint64_t from, uint64_t to);

/* As a request, with what is known here. */
static inline struct request explain_served_request(const struct explain_served *served)
{
	return (struct request){.row = {
					.end = served->end,
					.duration = served->end - served->start,
					.number = served->number,
					.thread = served->thread,
					.answerer = served->answerer,
					.first = served->first,
					.goroutine = served->lane,
					.protocol = served->protocol,
					.role = FILM_REQUEST_SERVED,
				}};
}

/* The thread that answered a request, or else that received it. */
static inline uint32_t request_answerer(const struct request *request)
{
	return request->row.answerer ? request->row.answerer : request->row.thread;
}

/*
 * Until when the thread that answered a request, and had been handed it by another one, still
 * worked for others: *others of them. The request's start: it did not.
 */
uint64_t explain_queued_until(const struct explain_requests *requests,
			      const struct request *request, uint64_t *others);

/*
 * The next request that the thread which received this one and answered it, one at a time, had
 * still to answer when that was sent, at a time: after null the first one, after *before the one
 * that follows. Null: none. What is under way at the same time on that thread, as in an event loop,
 * does not count: that one takes in requests before it has answered others.
 */
const struct explain_served *explain_served_before(const struct explain_requests *requests,
						   const struct explain_served *served,
						   uint64_t sent,
						   const struct explain_served *before);

/*
 * Whether a thread, which receives requests and answers them, as an event loop does, served another
 * one than that in a part of [from, to).
 */
bool explain_serves_others(const struct explain_requests *requests, uint32_t thread,
			   uint64_t number, uint64_t from, uint64_t to);

/*
 * The other requests that the thread which received a request and answered it, as an event loop
 * does, had at the same time: some of what it did may have been for them.
 */
struct explain_at_once {
	uint64_t count;
	uint64_t longest;  /* ns, for which the one that was there longest was */
	uint32_t endpoint; /* of that one */
};
struct explain_at_once explain_at_once(const struct explain_requests *requests,
				       const struct request *request);

/*
 * The same of a request that was made: of the thread that served it at the other end of its
 * connection, from when it was sent on. None: the film does not have that, or not as the one.
 */
struct explain_at_once explain_at_once_there(const struct explain_requests *requests,
					     const struct request *request);

#endif
