/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_FILTER_H
#define ATTACH_FILTER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/fail.h"
#include "process/select.h"

struct probes;

/*
 * The kernel side of a selection: which processes the probes record. Pids are decided in the
 * kernel. For names and control groups, the kernel marks the first records of each process as
 * undecided, and user space stores its decision in the kernel.
 */

/* Call it before the probes are loaded: sets the kind of their filter. */
void filter_prepare(struct probes *probes, const struct selection *selection);

/* Call it after loading: stores the pids of the selection. */
int filter_fill(struct probes *probes, const struct selection *selection, struct fail *why);

/*
 * Whether a process is selected. If the probes do not know it, this decides by its name, control
 * group and threads.
 */
bool filter_is_target(const struct probes *probes, const struct selection *selection, pid_t pid);

/* Selects one process. */
int filter_add(struct probes *probes, pid_t pid, struct fail *why);

/* The same, from the moment at which it executes a program. */
int filter_add_at_exec(struct probes *probes, pid_t pid, struct fail *why);

/*
 * Decides whether the process of an undecided record is selected, and stores the decision in the
 * kernel. *gone is set if this is impossible, because the process has ended and its control group
 * is not known. Call it only for undecided records: it would deselect a process that was selected
 * by its pid.
 */
bool filter_decide(struct probes *probes, const struct selection *selection, pid_t pid,
		   const char *comm, bool *gone);

#endif
