/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_GPU_ARRAY_H
#define SOURCES_GPU_ARRAY_H

#include <stdint.h>

#include "bpf/gpu/hbm_abi.h"

/*
 * The bytes that an array's values have, of all levels: what the driver adds to align them is not
 * known. 0: its format is not known, or there is no such array.
 */
uint64_t gpu_array_bytes(const struct hbm_array *array);

#endif
