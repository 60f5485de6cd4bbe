/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_LEVEL_H
#define QUERY_LEVEL_H

#include "base/fail.h"
#include "film/reader.h"
#include "query/filter.h"

/*
 * Levels, such as bytes in use, are not summed over time: of a range counts the last state in it. A
 * state of a process is what was reported at one moment, a sample for each stack.
 */

/*
 * For each process of the film, the time of the last of its samples in [from, to), 0: there is
 * none. Those of the same number and name are one, as services that push without a number are
 * another process each time. To be freed; null with *why filled: the film cannot be read, or memory
 * ran out.
 */
uint64_t *level_last(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		     struct fail *why);

/* For each process the first of its number and name. To be freed; null: no memory. */
uint32_t *level_processes(const struct film *film);

/* When what processes hold together was most, of the moments whose states the film has. */
struct level_peak {
	uint64_t value, time; /* 0: there is none */
};

/* Of what is kept, in [from, to). Returns 0 or a negative errno with *why filled. */
int level_peak(struct film *film, uint32_t event, uint64_t from, uint64_t to,
	       const struct filter_kept *kept, struct level_peak *peak, struct fail *why);

#endif
