/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_GPU_COPIES_H
#define SOURCES_GPU_COPIES_H

#include <stdint.h>

/* What a device did, for a gpu_copy_work() (inject/gpu_places.h), as the name of a frame. */
const char *gpu_copy_name(uint64_t work);

#endif
