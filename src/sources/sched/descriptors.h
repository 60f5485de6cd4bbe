/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_SCHED_DESCRIPTORS_H
#define SOURCES_SCHED_DESCRIPTORS_H

/* Which system calls wait for a descriptor, as the kernel's side must know it. */
struct probes;

/* Before loading. */
void descriptors_prepare(struct probes *probes);

#endif
