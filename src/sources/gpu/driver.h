/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_GPU_DRIVER_H
#define SOURCES_GPU_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

#include "sources/probed_images.h"

/*
 * The driver library of a GPU, by which programs allocate memory of the device: all of its
 * functions are exported, and a caller that asks for one by its name gets the exported one. Where
 * they begin, they compare and branch before they touch a register or the stack; the kernel
 * emulates a branch, so the probe stands there (bpf/gpu/hbm_abi.h).
 */

/* What the names of such libraries begin with, ending with a null. */
extern const char *const gpu_driver_names[];

/* What was found out about a library. */
struct gpu_driver {
	size_t functions; /* of those that are looked for */
	size_t slow;	  /* that cost several times as much, as the kernel cannot emulate */
};

/* Of files: their facts are a struct gpu_driver. */
extern const struct probed_kind gpu_driver_kind;

#endif
