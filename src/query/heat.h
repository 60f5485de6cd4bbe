/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_HEAT_H
#define QUERY_HEAT_H

#include "base/fail.h"
#include "film/reader.h"
#include "query/question.h"

/*
 * A heat map with a column for each second of wall time and a row for each 20 ms of the second. It
 * shows what happens every second, or in a part of a second. A wait counts in all cells that it
 * overlaps, a sample in one.
 */
enum {
	HEAT_ROWS = 50,
	HEAT_SECONDS_MAX = 3600,
};

#define HEAT_STEP (1000000000ull / HEAT_ROWS) /* ns per cell */

struct heat {
	uint64_t first;	  /* second since 1970 of the first column */
	uint32_t seconds; /* number of columns; 0: empty */
	uint64_t *cells;  /* cells[second * HEAT_ROWS + row], in the event's unit */
	uint64_t most;	  /* value of the largest cell */
	uint64_t samples, total;
	uint64_t film_samples; /* set by heat_of_film(): samples of the event before filtering */
	const struct film_event *event;
};

/*
 * Creates an empty map of [from, to), ns since 1970. Returns 0, -EINVAL (too many seconds) or
 * -ENOMEM with *why filled.
 */
int heat_begin(struct heat *heat, uint64_t from, uint64_t to, struct fail *why);

/*
 * Adds the samples of an event in [from, to), by the film's clock. Returns 0 or a negative errno
 * with *why filled.
 */
int heat_add(struct heat *heat, struct film *film, uint32_t event, const struct filter *filter,
	     uint64_t from, uint64_t to, struct fail *why);

/* Creates the map for a question about one film; -EINVAL for an event of calls. */
int heat_of_film(struct film *film, const struct question *q, struct heat *heat, struct fail *why);

void heat_free(struct heat *heat);

#endif
