/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_SCHED_OFF_CPU_COUNT_H
#define SOURCES_SCHED_OFF_CPU_COUNT_H

#include <stdbool.h>

struct btf;
struct probes;

/*
 * Tells the programs, before they are loaded, where the kernel's count of what must not be
 * interrupted lies, which tells whether a CPU serves an interrupt: its distance in bytes from the
 * CPU's run queue. Programs cannot name either where the kernel keeps no names of its data, so the
 * places come from the order in which BTF lists what each CPU has of its own. A kernel that does
 * not tell leaves them without. types: the kernel's; null: they cannot be read.
 */
void off_cpu_count_prepare(struct probes *probes, const struct btf *types);

/* Whether the kernel tells of the end of a switch, in the thread that it was to (Linux 6.18). */
bool off_cpu_has_switch_end(const struct btf *types);

#endif
