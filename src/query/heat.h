/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_HEAT_H
#define QUERY_HEAT_H

#include "base/fail.h"
#include "film/reader.h"
#include "query/question.h"

/*
 * A heat map: a column for each second of wall time, a row for each 20 ms of that second, so that
 * what happens every second, or for a part of one, is seen. A wait stands in all cells that it
 * lasted through, a sample in its own.
 */
enum {
	HEAT_ROWS = 50,
	HEAT_SECONDS_MAX = 3600,
};

#define HEAT_STEP (1000000000ull / HEAT_ROWS) /* ns of a cell */

struct heat {
	uint64_t first;	  /* the second since 1970 of the first column */
	uint32_t seconds; /* columns; 0: there is nothing */
	uint64_t *cells;  /* cells[second * HEAT_ROWS + row], in the event's unit */
	uint64_t most;	  /* the largest of them */
	uint64_t samples, total;
	uint64_t film_samples; /* of heat_of_film(): of the event, with any filter */
	const struct film_event *event;
};

/*
 * An empty map of [from, to), ns since 1970. Returns 0, -EINVAL (it has too many seconds) or
 * -ENOMEM with *why filled.
 */
int heat_begin(struct heat *heat, uint64_t from, uint64_t to, struct fail *why);

/*
 * Adds samples of an event in [from, to) of the film's time. Returns 0 or a negative errno with
 * *why filled.
 */
int heat_add(struct heat *heat, struct film *film, uint32_t event, const struct filter *filter,
	     uint64_t from, uint64_t to, struct fail *why);

/* The map of what is asked of one film; -EINVAL for an event of calls. */
int heat_of_film(struct film *film, const struct question *q, struct heat *heat, struct fail *why);

void heat_free(struct heat *heat);

#endif
