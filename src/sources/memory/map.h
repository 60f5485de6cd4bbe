/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_MEMORY_MAP_H
#define SOURCES_MEMORY_MAP_H

#include <stdint.h>

#include "base/fail.h"
#include "sources/memory/library.h"
#include "process/remote.h"

/*
 * Maps libstackcam-memory.so into a process that is stopped, by its system calls alone: the file
 * comes to it through a socket, as it may have another root directory; it needs no other library,
 * so there is nothing to look up. *bias: what its addresses are more than in the file. Returns 0 or
 * a negative errno; then nothing is mapped.
 */
int mem_map_library(struct remote *remote, const struct mem_library *library, uint64_t *bias);

/*
 * The library that was mapped into a process before: *bias is 0 if there is none that is complete.
 * born: when this recorder began, as /proc/PID/stat says it. Returns 0, or with *why filled -EBUSY:
 * another recorder uses it, -EEXIST: the process was started with it; other negative errnos.
 */
int mem_map_find(pid_t pid, const struct mem_library *library, uint64_t born, uint64_t *bias,
		 struct fail *why);

#endif
