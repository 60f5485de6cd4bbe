/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAMERA_OFF_CPU_IDLE_H
#define CAMERA_OFF_CPU_IDLE_H

#include <stdbool.h>

#include "bpf/off_cpu_abi.h"

/*
 * Does a thread wait for new work (an event loop, a server, a kernel thread), or is it stopped?
 * Nobody waits for it, and such waits are an event of their own. It is decided from what was
 * recorded of the wait: the thread's state, the system call, whether the kernel counts it as
 * waiting for a disk.
 */
bool off_cpu_is_idle(const struct off_cpu_wait *wait);

#endif
