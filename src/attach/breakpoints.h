/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_BREAKPOINTS_H
#define ATTACH_BREAKPOINTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"
#include "base/vec.h"

/*
 * Breakpoints of the CPU on code of a process, for where no uprobe can be: code that a runtime has
 * made. A CPU has four, which debuggers use, too. Each is a perf event of a thread, which threads
 * that it makes inherit; a hit costs an exception, and in a virtual machine often one of the host.
 */
struct breakpoints {
	vec(struct breakpoint {
		pid_t pid;
		int fd;
	}) all;
};

/*
 * Sets one at each address, for all threads of a process: program (loaded, of perf events) runs at
 * each hit. Returns 0, or a negative errno with *why filled: then none is set; -ESRCH: the process
 * has ended.
 */
int breakpoints_add(struct breakpoints *breakpoints, pid_t pid, int program,
		    const uint64_t *addresses, size_t count, struct fail *why);

/* Takes those of a process away; pid 0: all. */
void breakpoints_remove(struct breakpoints *breakpoints, pid_t pid);
void breakpoints_free(struct breakpoints *breakpoints);

#endif
