/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_CPUS_H
#define BASE_CPUS_H

#include "base/fail.h"

/*
 * Calls take() with the number of each online CPU (/sys/devices/system/cpu/online), in ascending
 * order, until a call returns a value other than 0. Returns that value, 0, or a negative errno with
 * *why filled.
 */
int cpus_each_online(int (*take)(void *context, unsigned int cpu, struct fail *why), void *context,
		     struct fail *why);

/* Number of CPUs on which this process may run, limited to most. */
unsigned int cpus_usable(unsigned int most);

#endif
