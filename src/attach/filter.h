/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_FILTER_H
#define ATTACH_FILTER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/fail.h"
#include "process/select.h"

struct probes;

/*
 * The kernel's side of a selection: which processes the probes look at. Listed pids are decided in
 * the kernel; for names and control groups the kernel sends the first samples of each process with
 * a question, and the answer is kept there.
 */

/* Before the probes are loaded: sets what kind of filter they have. */
void filter_prepare(struct probes *probes, const struct selection *selection);

/* After loading: lists what the selection names. */
int filter_fill(struct probes *probes, const struct selection *selection, struct fail *why);

/* Is this process meant, as far as is known by now? */
bool filter_knows(const struct probes *probes, pid_t pid);

/*
 * The same, by what it is called, its control group and its threads, where the probes do not know
 * it.
 */
bool filter_is_target(const struct probes *probes, const struct selection *selection, pid_t pid);

/* Adds one process. */
int filter_add(struct probes *probes, pid_t pid, struct fail *why);

/* The same, from the moment on in which it executes a program. */
int filter_add_at_exec(struct probes *probes, pid_t pid, struct fail *why);

/*
 * Answers the question of a record: is this process meant? *gone is set when there is no answer,
 * since the process has ended and its control group cannot be known any more. The probes know the
 * answer from then on: only for a record that is undecided, as it would turn off a process that
 * was chosen by its pid.
 */
bool filter_decide(struct probes *probes, const struct selection *selection, pid_t pid,
		   const char *comm, bool *gone);

#endif
