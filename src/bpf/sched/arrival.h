/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_ARRIVAL_H
#define BPF_SCHED_ARRIVAL_H

/* When the thread that runs came in, as the scheduler has noted it. */

#include "bpf/kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rq___arrival {
	__u64 clock;
};

struct cfs_rq___arrival {
	struct rq___arrival *rq;
};

struct sched_entity___arrival {
	struct cfs_rq___arrival *cfs_rq;
};

struct sched_info___arrival {
	__u64 last_arrival; /* by the clock of the CPU's run queue */
};

struct task_struct___arrival {
	struct sched_entity___arrival se;
	struct sched_info___arrival sched_info;
};

#pragma clang attribute pop

/*
 * Of the thread that is about to go out, by CLOCK_MONOTONIC, of which now is the time; 0: this
 * kernel does not say.
 */
static __always_inline __u64 arrival_of(struct task_struct *task, __u64 now)
{
	struct task_struct___arrival *more = (void *)task;
	__u64 clock, last;

	if (!bpf_core_field_exists(more->sched_info.last_arrival) ||
	    !bpf_core_field_exists(more->se.cfs_rq))
		return 0;
	last = more->sched_info.last_arrival;
	clock = more->se.cfs_rq->rq->clock;
	return last && last <= clock && clock - last < now ? now - (clock - last) : 0;
}

#endif
