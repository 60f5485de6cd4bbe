/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_GPU_NAMES_H
#define SOURCES_GPU_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

/*
 * The names that libstackcam-gpu.so reports once for a hash: of kernels, and of reasons why warps
 * wait. Each process has its own: one process cannot name what another one runs.
 * All zero: empty.
 */
struct gpu_names {
	struct map by_process; /* pid -> names of that process */
	size_t count;	       /* of all */
};

/* The most names of all processes that run. */
#define GPU_NAMES_MAX (1u << 16)

/* Keeps a copy of a name, if the hash has none. Returns 0, -E2BIG or -ENOMEM. */
int gpu_names_add(struct gpu_names *names, uint32_t pid, uint64_t hash, const char *name);

/* Null: not known. Valid until the process is forgotten. */
const char *gpu_names_find(const struct gpu_names *names, uint32_t pid, uint64_t hash);

/* The process is gone. */
void gpu_names_forget(struct gpu_names *names, uint32_t pid);
void gpu_names_free(struct gpu_names *names);

#endif
