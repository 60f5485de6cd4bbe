/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_SCHED_WAIT_PARTS_H
#define SOURCES_SCHED_WAIT_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "film/film.h"

#define WAIT_PART_NS 1000000000ull

/* A part of a long wait. */
struct wait_part {
	uint64_t end, duration;
	uint32_t flags; /* to be added to its row's */
};

/*
 * The next part of the time that is left of a wait that ended at a moment: a long one has a row for
 * each second, so that a span of time has its part. False: nothing is left.
 */
static inline bool wait_part_next(uint64_t end, uint64_t *left, struct wait_part *part)
{
	part->duration = *left > WAIT_PART_NS ? WAIT_PART_NS : *left;
	*left -= part->duration;
	part->end = end - *left;
	part->flags = *left ? FILM_WAIT_OPEN : 0;
	return part->duration != 0;
}

#endif
