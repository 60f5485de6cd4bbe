/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_REQUESTS_SLOW_H
#define SOURCES_REQUESTS_SLOW_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How long requests of each endpoint usually take: a histogram of each, to a quarter of a power of
 * two, in which older requests count less and less. All zero is empty.
 */
enum {
	SLOW_REQUESTS_ENDPOINTS = 4096, /* that are known at most; others have nothing usual */
	SLOW_REQUESTS_LEAST = 1000,	/* requests from which on something is usual */
	SLOW_REQUESTS_MOST = 65536,	/* at which all counts of an endpoint are halved */
};

struct slow_requests {
	struct slow_endpoint *endpoints; /* a table by hash, without deletions */
	uint32_t count;
};

/*
 * A request of an endpoint of programs of that name took ns. Returns the p99 of those before it,
 * ns, at most a quarter too much; 0: not known yet, or there is no room or no memory for this
 * endpoint.
 */
uint64_t slow_requests_add(struct slow_requests *requests, const char *program,
			   const char *endpoint, uint64_t ns);

/* The same p99, of one that is not over; 0: not known, also where there is no room for it. */
uint64_t slow_requests_usual(struct slow_requests *requests, const char *program,
			     const char *endpoint);

void slow_requests_free(struct slow_requests *requests);

#endif
