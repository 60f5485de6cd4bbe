/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_CPUS_H
#define BASE_CPUS_H

#include "base/fail.h"

/*
 * Calls take() with the number of each CPU that is online (/sys/devices/system/cpu/online), in
 * order, until one returns other than 0. Returns that, or 0, or a negative errno with *why filled.
 */
int cpus_each_online(int (*take)(void *context, unsigned int cpu, struct fail *why), void *context,
		     struct fail *why);

/* How many CPUs this process may run on, at most that many. */
unsigned int cpus_usable(unsigned int most);

#endif
