/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_GPU_DRIVER_SLOTS_H
#define SOURCES_GPU_DRIVER_SLOTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../inject/gpu_stubs.h"
#include "../inject/memory_places.h"
#include "base/fail.h"

/*
 * What a running process has in its driver and C library. Entries of the driver library jump to
 * what words in its data have ("jmp *WORD(%rip)"), so changing a word diverts all calls of a
 * function, however callers have found that.
 */
struct far_files;

#define GPU_C_FUNCTIONS 9

struct gpu_driver_slots {
	/*
	 * Words of functions that launch, copy, allocate or wait, with what they have now in
	 * "from"; at most GPU_STUBS, in the file's order.
	 */
	struct memory_slot words[GPU_STUBS];
	uint32_t count;
	bool has_driver;		     /* it has a driver library mapped */
	uint64_t functions[GPU_C_FUNCTIONS]; /* of the C library; 0: it has none */
};

/* Whether a path is that of a driver library. */
bool gpu_is_driver(const char *path);

/*
 * Reads them. far: may be null (process/far_files.h). Returns 0, or a negative errno with *why
 * filled: -ENOENT: the process has no driver library, maybe not yet; -ENOTSUP: its words or its C
 * library cannot be used.
 */
int gpu_driver_slots_read(struct gpu_driver_slots *words, struct far_files *far, pid_t pid,
			  struct fail *why);

/* A mem_functions.find(); context is the struct gpu_driver_slots. */
uint64_t gpu_driver_slots_function(void *context, const char *name);

#endif
