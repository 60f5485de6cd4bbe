/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_SERVED_H
#define QUERY_SERVED_H

#include "base/vec.h"
#include "film/reader.h"
#include "query/requests.h"

/*
 * Which requests threads worked on, over time. A thread works on a request that it received from
 * its first bytes to the end of its answer. Of a request that another thread answered, that one
 * worked on it: from when it had answered its request before, or from the request's first bytes. Of
 * a film with lanes of goroutines the one that sent the answer worked on it, and a thread did while
 * it ran that one.
 */

/* Beside the endpoints, which are frames. */
enum {
	SERVED_NONE = UINT32_MAX,	 /* no request */
	SERVED_SEVERAL = UINT32_MAX - 1, /* requests of several endpoints at once */
};

struct served_change {
	uint64_t time;
	uint32_t thread, endpoint; /* from then on */
	uint32_t request; /* served_load_each(): in each, + 1; 0: none, or several at once */
};

struct served_request {
	const char *endpoint; /* the film's */
	char name[REQUEST_NAME_MAX];
};

struct served {
	/* by thread and time; what is before the first one of a thread is SERVED_NONE */
	vec(struct served_change) changes;
	uint64_t requests; /* with the id, or all */
	uint64_t others;   /* at the same time on the same threads, with another id */
	/*
	 * of the requests: of a program whose goroutines the film has, but not which of them
	 * worked on it, so that what its thread did stands for it
	 */
	uint64_t no_goroutine;
	bool has_goroutines; /* the film has lanes of them */
	vec(struct served_request) each;
};

/*
 * Reads the requests that a film's programs served; with an id, only those that have it, also
 * those that were made. 0 or a negative errno with *why filled: -EINVAL where the film has no
 * requests, -ENOENT where none has the id. served_free() is needed in either case.
 */
int served_load(struct served *served, struct film *film, const char *id, struct fail *why);
/* The same of all requests, one by one: the changes also say which one it is. */
int served_load_each(struct served *served, struct film *film, struct fail *why);
void served_free(struct served *served);

/*
 * The one request that a thread worked on at a time; null: none, or several at once. After
 * served_load_each().
 */
const struct served_request *served_request_at(const struct served *served, uint32_t thread,
					       uint64_t time);

/* Of a thread's time [from, to), or of an instant from, the part up to the next change. */
struct served_part {
	uint64_t to;
	uint32_t endpoint;
};
struct served_part served_part(const struct served *served, uint32_t thread, uint64_t from,
			       uint64_t to);

#endif
