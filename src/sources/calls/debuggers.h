/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_CALLS_DEBUGGERS_H
#define SOURCES_CALLS_DEBUGGERS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/fail.h"
#include "base/vec.h"

/*
 * Debuggers of processes that are probed. A probe is a breakpoint of the kernel. One that a
 * debugger sets in the same place is never reported, and what it puts back when it deletes it is
 * the kernel's: if the probe is gone by then, the process ends by SIGTRAP. While the process is
 * stopped, debuggers have their breakpoints taken out: then probes can go without harm, and so they
 * must, before it goes on.
 */
struct debuggers {
	vec(pid_t) watched;
	pid_t process, debugger; /* the first that was found; 0: none */
};

enum debugger_state {
	DEBUGGER_NONE,
	DEBUGGER_WAITS, /* the process is stopped for it */
	DEBUGGER_RUNS,	/* the process runs */
};

/* Adds a process to those that are watched; the first ones of a great many. */
void debuggers_watch(struct debuggers *debuggers, pid_t pid);
void debuggers_free(struct debuggers *debuggers);

/*
 * Returns 0; or -EBUSY with *why filled: a watched process has a debugger (any tracer by ptrace(2)
 * but this process).
 */
int debuggers_refuse(struct debuggers *debuggers, struct fail *why);

/* Has one of the watched processes got a debugger? Forgets those that have ended. */
enum debugger_state debuggers_look(struct debuggers *debuggers);

#endif
