/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_SCHED_SCHEDULER_H
#define SOURCES_SCHED_SCHEDULER_H

#include <stdint.h>

#include "base/map.h"
#include "bpf/capture/abi.h"

/*
 * The scheduler's own frames: the kernel stack of a thread that has just come back begins with
 * them, and they say nothing of why it had waited. All zero to begin with.
 */
struct probes;

#define SCHEDULER_FRAMES_MAX (UNWIND_FRAMES_MAX + CAPTURE_KERNEL_FRAMES_MAX + 1)

struct scheduler {
	struct map known;   /* by address: 1: it is in the scheduler */
	uint64_t innermost; /* frame of the last record that is; 0: it had none */
	/* a record without them */
	struct {
		struct capture_record record;
		uint64_t frames[SCHEDULER_FRAMES_MAX];
	} cut;
};

/* The record without them: itself, or a copy, which lives until the next call. */
const struct capture_record *scheduler_cut(struct scheduler *scheduler, struct probes *probes,
					   const struct capture_record *record);

void scheduler_free(struct scheduler *scheduler);

#endif
