/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_DEVICE_LOSSES_H
#define QUERY_DEVICE_LOSSES_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/*
 * Times in which records of a process's devices were lost (FILM_WORK_LOST): nothing is known of any
 * device then but what has a record. Add them in any order, join them, then look for those of a
 * process.
 */
struct device_loss {
	uint64_t start, end; /* ns, by the caller's clock */
	uint32_t process;
};

struct device_losses {
	vec(struct device_loss)
		all; /* once joined: sorted by process and start, without overlaps */
};

/* Sorts them, and makes one of those of a process that overlap or touch. */
void device_losses_join(struct device_losses *losses);

/* The joined ones of a process, in order of time; borrowed. *count may be 0. */
const struct device_loss *device_losses_of(const struct device_losses *losses, uint32_t process,
					   size_t *count);

void device_losses_free(struct device_losses *losses);

#endif
