/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_BREAKPOINTS_H
#define ATTACH_BREAKPOINTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"
#include "base/vec.h"

/*
 * Hardware breakpoints on code of a process, for code that a runtime has generated and that uprobes
 * cannot reach. A CPU has four, which debuggers use, too. Each is a perf event of a thread,
 * inherited by the threads that it creates. A hit costs an exception, and in a virtual machine
 * often an exit to the host.
 */
struct breakpoints {
	vec(struct breakpoint {
		pid_t pid;
		int fd;
	}) all;
};

/*
 * Sets a breakpoint on a function of its own and calls that. Returns 0 if it was hit, or a negative
 * errno with *why filled: -EOPNOTSUPP if it was not, which some hypervisors (PVM) cause.
 */
int breakpoints_try(struct fail *why);

/*
 * Tries one as breakpoints_try() does, then sets a breakpoint at each address for all threads of a
 * process. program is a loaded program for perf events, which runs at each hit. Returns 0, or a
 * negative errno with *why filled, and no breakpoint is set; -ESRCH: the process has ended.
 */
int breakpoints_add(struct breakpoints *breakpoints, pid_t pid, int program,
		    const uint64_t *addresses, size_t count, struct fail *why);

/* Removes the breakpoints of a process; pid 0: all breakpoints. */
void breakpoints_remove(struct breakpoints *breakpoints, pid_t pid);
void breakpoints_free(struct breakpoints *breakpoints);

#endif
