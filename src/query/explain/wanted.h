/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_WANTED_H
#define QUERY_EXPLAIN_WANTED_H

#include "query/explain/requests.h"

/*
 * Which requests are explained: those of an id, or else the slowest that were served. One that was
 * served for another one of them, at the other end of a connection that the film has both ends of,
 * is left out: the explanation of that one leads to it. One by which a worker asks for work comes
 * last: it takes as long as there is none.
 */

/* A request that matches. */
struct explain_candidate {
	uint64_t number, end, duration;
	bool is_for_work; /* it is answered once there is some, as BRPOP of Redis is */
	bool is_made;	  /* its thread has made it, and serves it not */
};

struct explain_candidates {
	vec(struct explain_candidate) all;
	uint32_t *roles; /* by frame (query/roles.h): which endpoints ask for work */
};

/* Returns 0 or -ENOMEM; call explain_candidates_free() in both cases. */
int explain_candidates_init(struct explain_candidates *candidates, const struct film *film);

/*
 * Keeps a request if it matches. threads: those whose requests count. includes_made: requests that
 * were made count, too, if none was served. False: no memory.
 */
bool explain_candidates_add(struct explain_candidates *candidates,
			    const struct explain_wanted *wanted, const uint8_t *threads,
			    bool includes_made, const struct request *request);

/*
 * Fills requests->wanted, the slowest first; requests has all else. 0 or a negative errno with *why
 * filled.
 */
int explain_candidates_choose(const struct explain_candidates *candidates,
			      const struct explain_wanted *wanted, struct film *film,
			      struct explain_requests *requests, struct fail *why);
void explain_candidates_free(struct explain_candidates *candidates);

#endif
