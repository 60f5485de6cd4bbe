/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAMERA_OFF_CPU_COUNT_H
#define CAMERA_OFF_CPU_COUNT_H

#include <stdint.h>

/*
 * Where the kernel's count of what must not be interrupted lies, which tells whether a CPU serves
 * an interrupt: *at bytes from its run queue. Programs cannot name either where the kernel keeps no
 * names of its data, so the places come from the order in which BTF lists what each CPU has of its
 * own. 0, or -ENOENT: this kernel does not tell.
 */
int off_cpu_count_find(int64_t *at);

#endif
