/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARCH_FILTER_CALLS_H
#define ARCH_FILTER_CALLS_H

#include "base/fail.h"

/*
 * System calls that a daemon never needs end with EPERM from now on: to execute programs, to change
 * other processes, mounts, namespaces, modules, the clock.
 */
int filter_calls(struct fail *why);

#endif
