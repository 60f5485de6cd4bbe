/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAMERA_OFF_CPU_LIST_H
#define CAMERA_OFF_CPU_LIST_H

#include "base/fail.h"
#include "bpf/off_cpu_abi.h"

/*
 * The kernel's list of tasks, read through a program of bpf/off_cpu.bpf.c: it finds threads that
 * have waited since before anything was seen, and those that wait still.
 */
struct probes;
struct off_cpu_list;

int off_cpu_list_new(struct probes *probes, struct off_cpu_list **list, struct fail *why);
void off_cpu_list_free(struct off_cpu_list *list); /* null is allowed */

/* Threads that wait now are known from now on. 0 or a negative errno. */
int off_cpu_list_begin(struct off_cpu_list *list);

/*
 * Calls each() for each thread that waits still, or has something left to tell: record is an
 * OFF_CPU_STILL with its head, frames and wait; from has the thread's registers and a copy of its
 * stack, or is null. Both live until each() returns. 0 or a negative errno.
 */
int off_cpu_list_waiting(struct off_cpu_list *list,
			 void (*each)(void *context, const struct capture_record *record,
				      const struct capture_handover *from),
			 void *context);

#endif
