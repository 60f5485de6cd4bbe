/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAMERA_SCHEDULER_H
#define CAMERA_SCHEDULER_H

#include <stdint.h>

#include "base/map.h"

/*
 * The scheduler's own frames: the kernel stack of a thread that has just come back begins with
 * them, and they say nothing of why it had waited. All zero to begin with.
 */
struct probes;

struct scheduler {
	struct map known; /* by address: 1: it is in the scheduler */
};

/*
 * How many of a kernel stack's frames, from its leaf, belong to the scheduler and to the probe that
 * runs in it.
 */
uint32_t scheduler_frames(struct scheduler *scheduler, struct probes *probes,
			  const uint64_t *frames, uint32_t count);

void scheduler_free(struct scheduler *scheduler);

#endif
