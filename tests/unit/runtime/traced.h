/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_RUNTIME_TRACED_H
#define TESTS_RUNTIME_TRACED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "stored_walk.h"

/* A process whose threads are stopped by ptrace(). */

#define TRACED_MAX 1024

struct traced {
	pid_t stopped[TRACED_MAX];
	size_t count;
};

/* The thread that needs the most CPU time within a short while. */
pid_t traced_busiest(pid_t pid);

/*
 * Stops all threads: what is read of one must not be changed by another. False: they cannot be
 * stopped.
 */
bool traced_stop(struct traced *traced, pid_t pid);
void traced_let_go(struct traced *traced);

/* Of a stopped thread. False: it is gone. */
bool traced_registers(struct stored_thread *thread, pid_t tid);

#endif
