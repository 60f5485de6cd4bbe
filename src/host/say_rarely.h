/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_SAY_RARELY_H
#define HOST_SAY_RARELY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Lines of one kind in the log, of which there may be thousands: one in a minute. All zero: none
 * was said.
 */
struct say_rarely {
	uint64_t next; /* ns of the monotonic clock: when another may be said */
	uint64_t more; /* that were not said since the last one */
};

/* Whether this one is said, at a time in ns of the monotonic clock; *more: how many were not. */
bool say_rarely(struct say_rarely *of, uint64_t time, uint64_t *more);

#endif
