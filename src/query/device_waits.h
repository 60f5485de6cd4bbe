/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_DEVICE_WAITS_H
#define QUERY_DEVICE_WAITS_H

#include "base/vec.h"
#include "film/reader.h"

/*
 * The waits of threads for devices (event gpu-wait) as intervals: what the thread waits for while
 * it is in one of them is the device's work. A wait has several samples, one of each kind of work
 * that ran in it, which have the same thread and end; the frame of the longest one names it.
 */
struct device_wait {
	uint64_t start, end; /* by the film's clock */
	uint64_t ns;	     /* of the work that frame names */
	uint32_t thread, frame;
};

struct device_waits {
	vec(struct device_wait) all; /* sorted by thread, then time */
};

/*
 * Reads the waits that end at from or later. A film without that event has none. Returns 0 or a
 * negative errno with *why filled; call device_waits_free() in both cases.
 */
int device_waits_load(struct device_waits *waits, struct film *film, uint64_t from,
		      struct fail *why);
void device_waits_free(struct device_waits *waits);

/* The wait of a thread that has most of an interval, and at least its half; null: none has. */
const struct device_wait *device_waits_find(const struct device_waits *waits, uint32_t thread,
					    uint64_t start, uint64_t end);

#endif
