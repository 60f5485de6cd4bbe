/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_SERVED_H
#define QUERY_SERVED_H

#include "base/vec.h"
#include "film/reader.h"
#include "query/requests.h"

/*
 * The requests that threads worked on, over time. A thread works on a request that it received,
 * from the first bytes to the end of the answer. If another thread answered, that thread worked on
 * it instead: from the end of its previous answer, or from the request's first bytes if those came
 * later. In a film with lanes of goroutines, the goroutine that sent the answer worked on it, and
 * so did each thread while it ran that goroutine.
 */

/* Values of endpoint that are not frames. */
enum {
	SERVED_NONE = UINT32_MAX,	 /* no request */
	SERVED_SEVERAL = UINT32_MAX - 1, /* requests of several endpoints at once */
};

struct served_change {
	uint64_t time;
	uint32_t thread, endpoint; /* from that time on */
	/* set by served_load_each(): index in each + 1; 0: none, or several at once */
	uint32_t request;
};

struct served_request {
	const char *endpoint; /* owned by the film */
	char name[REQUEST_NAME_MAX];
};

struct served {
	/* sorted by thread, then time; before its first change a thread has SERVED_NONE */
	vec(struct served_change) changes;
	uint64_t requests; /* number of requests with the id, or of all */
	uint64_t others;   /* requests with other ids at the same time on the same threads */
	/*
	 * of requests: those of a program with lanes of goroutines whose goroutine is not known, so
	 * that they have everything that its thread did
	 */
	uint64_t no_lane;
	bool has_goroutines; /* the film has lanes of goroutines */
	vec(struct served_request) each;
};

/*
 * Reads the requests that a film's programs served; with an id, only the requests with that id,
 * served or made. Returns 0 or a negative errno with *why filled; -EINVAL: the film has no
 * requests; -ENOENT: no request has the id. Call served_free() in both cases.
 */
int served_load(struct served *served, struct film *film, const char *id, struct fail *why);
/* The same for all requests, with the request of each change. */
int served_load_each(struct served *served, struct film *film, struct fail *why);
void served_free(struct served *served);

/*
 * The only request that a thread worked on at a time; null: none, or several at once. Needs
 * served_load_each().
 */
const struct served_request *served_request_at(const struct served *served, uint32_t thread,
					       uint64_t time);

/* The part of a thread's time [from, to), or of the instant from, up to the next change. */
struct served_part {
	uint64_t to;
	uint32_t endpoint;
};
struct served_part served_part(const struct served *served, uint32_t thread, uint64_t from,
			       uint64_t to);

#endif
