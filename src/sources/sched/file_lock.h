/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_SCHED_FILE_LOCK_H
#define SOURCES_SCHED_FILE_LOCK_H

#include <stdbool.h>
#include <sys/types.h>

#include "bpf/sched/off_cpu_abi.h"

/*
 * Locks of files whose waits no probe has seen begin: what the system call says; and of a wait that
 * goes on, what /proc/PID/fdinfo and /proc/locks do. False: the wait is for none.
 */
bool file_lock_look(pid_t pid, const struct off_cpu_wait *wait, bool goes_on,
		    struct lock_evidence *evidence);

/*
 * The process whose lock one of a process waits behind, in the text of /proc/locks; 0: not known,
 * as of several that wait. The text is taken apart.
 */
pid_t file_lock_holder(char *locks, pid_t waiter, unsigned long long inode);

#endif
