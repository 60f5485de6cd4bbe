/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_LEVEL_H
#define QUERY_LEVEL_H

#include "base/fail.h"
#include "film/reader.h"
#include "query/filter.h"

/*
 * Levels, such as bytes in use, are not summed over time: a range has the value of its last
 * snapshot. A snapshot of a process is the set of samples with one time, one sample per stack.
 */

/*
 * For each process of the film, the time of its last sample in [from, to); 0: none. Processes with
 * the same pid and name count as one, because services that push without a pid are a new process
 * each time. The caller frees the array. Null with *why filled: the film cannot be read, or no
 * memory.
 */
uint64_t *level_last(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		     struct fail *why);

/*
 * For each process the first one with its pid and name. The caller frees the array. Null: no
 * memory.
 */
uint32_t *level_processes(const struct film *film);

/* The peak of what all processes held together, among the film's snapshots. */
struct level_peak {
	uint64_t value, time; /* 0: none */
};

/*
 * Finds the peak of what a filter keeps, in [from, to). Returns 0 or a negative errno with *why
 * filled.
 */
int level_peak(struct film *film, uint32_t event, uint64_t from, uint64_t to,
	       const struct filter_kept *kept, struct level_peak *peak, struct fail *why);

#endif
