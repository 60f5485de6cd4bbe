/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

#include "base/fail.h"

/*
 * As pthread_create(), with all signals blocked in the new thread, so that only threads that expect
 * signals get them. Returns 0 or a negative errno.
 */
int thread_spawn(pthread_t *thread, void *(*run)(void *context), void *context);

/*
 * Calls emit() with the number of each online CPU (/sys/devices/system/cpu/online), in ascending
 * order, until a call returns a value other than 0. Returns that value, 0, or a negative errno with
 * *why filled.
 */
int cpus_each_online(int (*emit)(void *context, unsigned int cpu, struct fail *why), void *context,
		     struct fail *why);

/* Number of CPUs on which this process may run, limited to most. */
unsigned int cpus_usable(unsigned int most);

#endif
