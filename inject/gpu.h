/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INJECT_GPU_H
#define INJECT_GPU_H

/* What the parts of libstackcam-gpu.so share. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu_places.h"

/* Functions of the process's C library. */
extern void *dlsym(void *library, const char *name) __attribute__((weak));

/* Fills functions with those of the library, by their names; false: one is missing. */
bool gpu_find_functions(void *library, const char *const *names, void **functions, size_t count);

/* CLOCK_MONOTONIC, ns. */
uint64_t gpu_now(void);

/* Reports the name of a hash (gpu_name_hash()), if that was not reported before. */
void gpu_report_name(uint64_t hash, const char *name);

void gpu_report_state(enum gpu_state state, uint64_t number);

/* -- gpu_instructions.c ------------------------------------------------------------------------ */

/*
 * Looks for the functions of the profiling library that sample instructions. False: the user does
 * not want that, or it lacks one.
 */
bool gpu_instructions_find(void *library);

/* Begins to read samples; flush() has the profiling library report the kernels until then. */
void gpu_instructions_start(int (*flush)(uint32_t flag));

/* Handles a callback of the domain of resources. These are enabled: */
#define GPU_DOMAIN_RESOURCE 3
#define GPU_CONTEXT_CREATED 1
#define GPU_CONTEXT_ENDS    2
#define GPU_MODULE_LOADED   6
void gpu_instructions_resource(uint32_t id, const uint8_t *data);

/* Reads all that is left. */
void gpu_instructions_end(void);

#endif
