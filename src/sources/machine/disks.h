/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_MACHINE_DISKS_H
#define SOURCES_MACHINE_DISKS_H

#include "base/map.h"
#include "base/vec.h"
#include "film/gauges.h"

/* Requests to disks between two readings, added up by disk, thread, and direction. */
struct machine_disks {
	vec(struct film_gauge) rows; /* those of the time at hand; end and duration are not set */
	struct map known;	     /* of disk, thread and direction: the place */
	uint64_t refused;	     /* requests that there was no room for */
};

/* A request. disk, thread: rows of the film. */
void machine_disks_add(struct machine_disks *disks, uint32_t disk, uint32_t thread, bool is_write,
		       uint64_t bytes, uint64_t took);

/* Writes what was added since the last time, which lies between two times, and forgets it. */
void machine_disks_write(struct machine_disks *disks, uint64_t from, uint64_t to,
			 void (*write)(void *context, const struct film_gauge *row), void *context);
void machine_disks_free(struct machine_disks *disks);

#endif
