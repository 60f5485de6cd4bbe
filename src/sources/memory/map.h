/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_MEMORY_MAP_H
#define SOURCES_MEMORY_MAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"
#include "sources/memory/library.h"
#include "process/remote.h"

/* Where a process has a function, by its name; 0: nowhere. */
struct mem_functions {
	uint64_t (*find)(void *context, const char *name);
	void *context;
};

/*
 * Maps libstackcam-memory.so, or another one of inject/, into a process that is stopped, by its
 * system calls alone: the file comes to it through a socket, as it may have another root directory;
 * it needs no other library, so there is nothing to look up but functions that it can do without
 * (functions; null: it does without all). What is at MEMORY_ENTRY_STATE begins with a struct
 * memory_state of zeros. *bias: what its addresses are more than in the file. Returns 0 or a
 * negative errno; then nothing is mapped.
 */
int mem_map_library(struct remote *remote, const struct mem_library *library,
		    const struct mem_functions *functions, uint64_t *bias);

/*
 * Calls each() with the bias of the library wherever a process has it mapped, until it returns
 * false. Returns 0, or a negative errno with *why filled.
 */
int mem_map_each(pid_t pid, const struct mem_library *library,
		 bool (*each)(void *context, uint64_t bias), void *context, struct fail *why);

/*
 * The library that was mapped into a process before: *bias is 0 if there is none that is complete.
 * born: when this recorder began, as /proc/PID/stat says it. Returns 0, or with *why filled -EBUSY:
 * another recorder uses it, -EEXIST: the process was started with it; other negative errnos.
 */
int mem_map_find(pid_t pid, const struct mem_library *library, uint64_t born, uint64_t *bias,
		 struct fail *why);

#endif
