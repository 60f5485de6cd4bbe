/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_SERVED_LANES_H
#define QUERY_SERVED_LANES_H

#include "base/map.h"
#include "base/vec.h"
#include "query/requests.h"

/*
 * Finds the goroutine that served a request, and the threads on which it ran meanwhile, in a film
 * with lanes of goroutines: the one that sent the first byte of the answer, or, for HTTP/2, the one
 * that handled the stream. Goroutines that it started are not known to belong to the request.
 */

/* An interval in which a thread ran a goroutine. Both are ids of film_thread. */
struct served_run {
	uint64_t from, to;
	uint32_t lane, on;
};

struct served_lanes {
	vec(struct served_run) by_thread; /* sorted by on, then from */
	vec(struct served_run) by_lane;	  /* sorted by goroutine, then from */
	struct map by_number;		  /* hash of process and number -> goroutine */
	const struct film *film;
	uint8_t *processes; /* by process: 1 if its goroutines are known; null: none */
};

/*
 * Reads the lanes; the result is empty if the film has none. Returns 0 or a negative errno with
 * *why filled; call served_lanes_free() in both cases.
 */
int served_lanes_load(struct served_lanes *lanes, struct film *film, struct fail *why);
void served_lanes_free(struct served_lanes *lanes);

/* The id (of film_thread) of the goroutine that served a request; 0: not known. */
uint32_t served_lane_of(const struct served_lanes *lanes, const struct request *request);

/* Whether the thread of a request runs goroutines with lanes in the film. */
bool served_has_lanes(const struct served_lanes *lanes, const struct film *film,
		      const struct request *request);

/* The runs of a goroutine that overlap [from, to): a pointer to the first, and *count. */
const struct served_run *served_lane_runs(const struct served_lanes *lanes, uint32_t lane,
					  uint64_t from, uint64_t to, size_t *count);

#endif
