/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_MEMORY_STRANGERS_H
#define SOURCES_MEMORY_STRANGERS_H

#include <stdbool.h>
#include <sys/types.h>

#include "sources/source.h"

/*
 * Which processes are not meant, although the camera knows them: another source has met them as
 * those that woke a thread of the target, say. Memory is read from outside, without a probe that
 * asks the kernel's filter; so it is asked here. The answer is kept until the process ends.
 */
struct mem_strangers;

/* Returns null without memory. */
struct mem_strangers *mem_strangers_new(void);
void mem_strangers_free(struct mem_strangers *strangers);

bool mem_strangers_has(struct mem_strangers *strangers, const struct source *source, pid_t pid);

/* It runs another program from now on, or none: it may be meant now. */
void mem_strangers_gone(struct mem_strangers *strangers, pid_t pid);

/* It has ended. Returns whether it was one. */
bool mem_strangers_ended(struct mem_strangers *strangers, pid_t pid);

#endif
