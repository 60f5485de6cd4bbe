/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_SERVED_GOROUTINES_H
#define QUERY_SERVED_GOROUTINES_H

#include "base/map.h"
#include "base/vec.h"
#include "query/requests.h"

/*
 * Which goroutine served a request, and on which threads it ran meanwhile, of a film with lanes of
 * goroutines. It is the one that sent the first byte of the answer, and of HTTP/2 the one that
 * handled its stream; those that it started in turn are not known to be of the request.
 */

/* A time in which a thread worked for a goroutine; both are ids of the table of threads. */
struct goroutine_run {
	uint64_t from, to;
	uint32_t goroutine, on;
};

struct served_goroutines {
	vec(struct goroutine_run) by_thread;	/* by on, then from */
	vec(struct goroutine_run) by_goroutine; /* by goroutine, then from */
	struct map by_number; /* a hash of the process and the number: goroutine */
	const struct film *film;
	uint8_t *processes; /* a byte for each: 1 where its goroutines are known; null: none are */
};

/*
 * Reads the lanes; a film without any leaves it empty. 0 or a negative errno with *why filled;
 * served_goroutines_free() is needed in either case.
 */
int served_goroutines_load(struct served_goroutines *goroutines, struct film *film,
			   struct fail *why);
void served_goroutines_free(struct served_goroutines *goroutines);

/* The goroutine that served a request: an id of the table of threads; 0: not known. */
uint32_t served_goroutine_of(const struct served_goroutines *goroutines,
			     const struct request *request);

/* Whether the thread of a request runs goroutines that the film has. */
bool served_has_goroutines(const struct served_goroutines *goroutines, const struct film *film,
			   const struct request *request);

/* The runs of a goroutine that have a part in [from, to): the first of them, and *count. */
const struct goroutine_run *served_goroutine_runs(const struct served_goroutines *goroutines,
						  uint32_t goroutine, uint64_t from, uint64_t to,
						  size_t *count);

#endif
