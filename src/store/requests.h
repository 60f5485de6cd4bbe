/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_REQUESTS_H
#define STORE_REQUESTS_H

#include "base/map.h"
#include "base/vec.h"
#include "query/names.h"
#include "query/request_sums.h"
#include "store/ask.h"

/*
 * The map of requests by the time when they ended and by how long they took: a power of two has two
 * rows, [2^n, 1.5 * 2^n) and [1.5 * 2^n, 2^(n+1)) ns, from 1024 ns on; the first and the last hold
 * what is shorter and longer.
 */
enum {
	REQUEST_ROWS = 54,
	REQUEST_STEPS_MAX = 600,
	REQUEST_LIST_MAX = 1000,
	REQUEST_ENDPOINTS_MAX = 10000,
};

/* The least ns of a row; of the first: 0. */
static inline uint64_t request_row_least(unsigned int row)
{
	uint64_t power = 1024ull << (row / 2);

	return !row ? 0 : row % 2 ? power + power / 2 : power;
}

/* All requests of an endpoint, over all processes. */
struct store_endpoint {
	const char *endpoint;
	uint8_t protocol, role;
	struct request_figures figures;
};

/* name: what identifies it for people, query/requests.h; peer: "10.0.0.7:5432". */
struct store_request {
	struct film_request row;
	const char *endpoint, *path, *name, *peer;
	const char *host, *process, *comm;
	uint32_t pid, tid;
	uint64_t end; /* ns since 1970 */
};

struct store_requests {
	/* what is wanted; set before store_requests() */
	uint8_t role; /* of enum film_request_role; 0: both */
	/* of the list and the map alone: */
	const char *endpoint; /* null: all */
	uint64_t least, most; /* ns that they took; most 0: any */
	size_t limit, steps;  /* of the list, and of the map; 0: none */

	struct store_sum sum;
	vec(struct store_endpoint) endpoints; /* most time first */
	vec(struct store_request) slowest;    /* the slowest first */
	uint64_t count, failed, open;	      /* of all endpoints */
	uint64_t *map; /* map[step * REQUEST_ROWS + row]: how many; null: not wanted */
	uint64_t step; /* ns */
	bool is_cut;   /* there was no room for all endpoints */

	struct map known;
	struct name_pool names;
};

/*
 * The requests of an ask, answered by films. What is wanted is set, all else is 0. To be freed with
 * store_requests_free(), also after a failure. Returns 0 or a negative errno with *why filled.
 */
int store_requests(struct store *store, const struct store_ask *ask, struct store_requests *answer,
		   struct fail *why);
void store_requests_free(struct store_requests *answer);

#endif
