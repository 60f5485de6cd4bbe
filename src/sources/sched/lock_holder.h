/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_SCHED_LOCK_HOLDER_H
#define SOURCES_SCHED_LOCK_HOLDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "resolve/samples.h"

/*
 * Which thread the number in a lock means. A lock has the number that its thread has in its own pid
 * namespace, and may be damaged, or no lock at all: only a thread of the waiter's process is taken
 * for the holder.
 */
struct lock_holders {
	struct samples *samples;
	struct map processes; /* pid: its struct lock_numbers *; 0: its numbers are those of here */
};

struct lock_holder {
	pid_t tid;
	uint64_t start; /* ns of CLOCK_MONOTONIC, to a tick; 0: not known, it has ended */
	char comm[16];
};

/* False: no other thread of the process than tid had that number at the time `began`. */
bool lock_holder_find(struct lock_holders *holders, pid_t pid, pid_t tid, uint32_t number,
		      uint64_t began, struct lock_holder *holder);

/*
 * The same of a process, whose pid is that of here: of the lock of a file. It is named by its first
 * thread.
 */
bool lock_holder_find_process(struct lock_holders *holders, pid_t pid, uint64_t began,
			      struct lock_holder *holder);

void lock_holders_forget(struct lock_holders *holders, pid_t pid);
void lock_holders_free(struct lock_holders *holders);

#endif
