/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_SCHED_PIPE_ENDS_H
#define SOURCES_SCHED_PIPE_ENDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "bpf/sched/off_cpu_abi.h"

/*
 * Which process has the other end of a pipe for which a thread waits: for what it does, the thread
 * waits. It is looked for among the descriptors of all processes, once for all that wait at a time,
 * and once for each pipe with a name: to be emptied before the next time. All zero: nothing was
 * looked for yet.
 */
struct pipe_ends {
	struct map readers, writers; /* by a pipe's number: the pids that have the end */
	uint32_t looked_at;	     /* descriptors */
	bool is_read;
	bool is_cut; /* some were not looked at, so that nothing is known */
};

/* The only other process that has it; 0: there is none, there are several, or it is not known. */
pid_t pipe_ends_find(struct pipe_ends *ends, pid_t pid, const struct off_cpu_wait *wait);

void pipe_ends_free(struct pipe_ends *ends); /* it is empty then */

#endif
