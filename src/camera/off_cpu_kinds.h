/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAMERA_OFF_CPU_KINDS_H
#define CAMERA_OFF_CPU_KINDS_H

#include <stdbool.h>

#include "bpf/off_cpu_abi.h"

/*
 * What a wait is for, decided from what was recorded of it: the thread's state, the system call and
 * its arguments, whether the kernel counts it as waiting for a disk.
 */
enum off_cpu_kind {
	OFF_CPU_OTHER,
	OFF_CPU_DISK,
	OFF_CPU_FAULT, /* of a page that is not there */
	OFF_CPU_FUTEX,
	OFF_CPU_SLEEP,
	OFF_CPU_CHILD,
	/* of an event loop, a server, a kernel thread: nobody waits for the thread */
	OFF_CPU_NEW_WORK,
	OFF_CPU_STOPPED, /* by a signal, a debugger, or a frozen control group */
	OFF_CPU_READY,	 /* it could have run */
};

enum off_cpu_kind off_cpu_kind(const struct off_cpu_wait *wait, bool is_kernel_thread);

/* Waits of that kind are shown only if they are asked for. */
bool off_cpu_is_idle(enum off_cpu_kind kind);

#endif
