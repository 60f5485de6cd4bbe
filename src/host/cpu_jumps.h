/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CPU_JUMPS_H
#define HOST_CPU_JUMPS_H

#include <stdint.h>

#include "base/fail.h"
#include "sources/happening.h"
#include "process/select.h"

/*
 * Processes that take much more CPU than they usually do (host/usual.h).
 */
struct cpu_jumps;

/*
 * programs: whose processes count, borrowed. more: percent of a CPU that a process is to take
 * beyond what is usual. Null: no memory.
 */
struct cpu_jumps *cpu_jumps_new(const struct selection *programs, uint32_t more);

/*
 * Looks at all of them, about once a second, and reports each process that jumped, once until it
 * has come down again. now: ns of the monotonic clock. 0 or a negative errno with *why filled.
 */
int cpu_jumps_look(struct cpu_jumps *jumps, uint64_t now, const struct happening_listener *listener,
		   struct fail *why);

/* Takes null, too. */
void cpu_jumps_free(struct cpu_jumps *jumps);

#endif
