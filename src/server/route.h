/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_ROUTE_H
#define SERVER_ROUTE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/fail.h"
#include "server/access.h"
#include "server/url.h"
#include "store/store.h"

struct server_state;
struct audit_asked;

/*
 * What a route is given of a request. When it is called, the request was allowed (token, Host,
 * Origin) and its body is there, whole, within the route's limit, without its Content-Encoding
 * (gzip, zstd). It runs in a thread of the server's workers: it may take its time, and must be safe
 * beside itself.
 */
struct http_request {
	const char *method; /* "GET" (also for HEAD), "POST" */
	const struct url *url;
	struct server_state *state; /* of the server; for routes of the API */
	struct store *store;
	/*
	 * A folder on the store's file system for files on their way to store_add_film(); null:
	 * nothing is taken.
	 */
	const char *spool;
	const uint8_t *body; /* ROUTE_IN_MEMORY; no zero byte stands behind it */
	size_t body_size;
	const char
		*body_path; /* ROUTE_IN_FILE: in spool; removed afterwards if it is still there */
	const struct access_grant *grant; /* what it has shown of who sent it */
	struct audit_asked *asked;	  /* the question, for the audit; may be null */
	const atomic_bool *gone;	  /* set once the client waits no more; may be null */
	const void *connection;		  /* for request_header() */
};

/* The value of a header (names in any case), or null. Hostile, at most some kB. */
const char *request_header(const struct http_request *request, const char *name);

/* The decoded value of the first query parameter of that name, or null. Hostile, no zero bytes. */
const char *request_parameter(const struct http_request *request, const char *name);

/*
 * A name for a new file in the spool, which the caller makes with open(… O_EXCL) or has made for
 * him: "" where there is none. What is left of a server that was killed is removed when the next
 * one starts.
 */
void request_spool_name(const struct http_request *request, char *to, size_t size);

/* What a route answers. */
struct answer {
	unsigned int
		status;	  /* 200 at first; also used with a failure, if it is at least 400 then */
	const char *type; /* "application/json" at first; static */
	const char *disposition; /* name of a file to be saved, static; null: shown */
	FILE *out; /* the body, compressed behind it if the client wants that; it never fails */
	const char *
		packed; /* not once more, as it is so already: its Content-Encoding, or "" where the
				    type says it; to be set before anything is written; static */
	bool no_store;	/* it is of this moment alone: no ETag */
};

enum route_body {
	ROUTE_NO_BODY,
	ROUTE_IN_MEMORY,
	ROUTE_IN_FILE,
};

enum {
	ROUTE_MEMORY_MAX =
		8 << 20, /* bytes of a body in memory, before and after its decompression */
	ROUTE_FILE_MAX = 256 << 20, /* of a body in a file */
};

/*
 * Answers: 0, or a negative errno with *why filled, which becomes {"error": "…"} with a fitting
 * status: -EINVAL, -EBADMSG 400, -EPERM 403, -ENOENT 404, -E2BIG 413, -EOPNOTSUPP 415, -EBUSY,
 * -ENOMEM, -ECANCELED 503, -ENOSPC 507, others 500.
 */
typedef int route_function(const struct http_request *request, struct answer *answer,
			   struct fail *why);

/*
 * The threads that work on it. A slow question holds up questions, and nothing else: what machines
 * ask and send every few seconds, and what takes no time, do not wait behind it.
 */
enum route_lane {
	/* reads films: may take seconds, is in no hurry, and is given up when its client is gone */
	LANE_QUESTION,
	LANE_PUSH, /* takes films in */
	LANES,
	/*
	 * Answered at once from memory, in the thread of the connections: never waits for a disk,
	 * or for a lock that others hold for longer than moments.
	 */
	LANE_LIGHT = LANES,
};

/*
 * How an answer is limited to the services that a token is of. A token of some services may use a
 * route only where this is said: each row says it, and tests/unit/server/test_routes.c checks that.
 */
enum route_shows {
	SHOWS_UNDECLARED, /* refused */
	SHOWS_NOTHING,	  /* nothing of what was filmed: the page, numbers of the server, thanks */
	SHOWS_SERVICES,	  /* filtered: its question comes from ask_request(), or has its services */
	SHOWS_ALL,	  /* cannot be filtered: refused */
};

struct route {
	const char *method; /* "GET" or "POST" */
	const char *path;   /* the whole one; compared with the raw path of the request */
	enum route_body body;
	uint64_t body_max; /* bytes; 0: the limit above */
	bool is_open;	   /* needs no token: the page itself, which holds no data */
	bool is_record;	   /* it needs the right to record, and not to upload */
	enum route_shows shows;
	enum route_lane lane;
	route_function *answer;
};

/* All routes, one table: routes.c. */
extern const struct route routes[];
extern const size_t route_count;

#endif
