/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_GPU_HANDLES_H
#define SOURCES_GPU_HANDLES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Memory of a device that was made without an address: a handle stands for it, which is mapped to
 * addresses, and released. It lives until its last reference is released and its last mapping is
 * gone, in either order.
 */
struct gpu_handles;

/* Null without memory. */
struct gpu_handles *gpu_handles_new(void);
void gpu_handles_free(struct gpu_handles *handles);

/* It has been made, with one reference. */
void gpu_handles_made(struct gpu_handles *handles, uint32_t pid, uint64_t handle);

/* There is one more reference to it. */
void gpu_handles_retained(struct gpu_handles *handles, uint32_t pid, uint64_t handle);

enum gpu_handle_is {
	GPU_HANDLE_UNKNOWN, /* it was made before, or by another process */
	GPU_HANDLE_KEPT,
	GPU_HANDLE_GONE, /* so is its memory, and it is forgotten */
};

/* There is one reference less. */
enum gpu_handle_is gpu_handles_released(struct gpu_handles *handles, uint32_t pid, uint64_t handle);

/* It is mapped there. */
void gpu_handles_mapped(struct gpu_handles *handles, uint32_t pid, uint64_t handle,
			uint64_t address, uint64_t bytes);

/*
 * Nothing is mapped any more at these addresses. Calls gone() for each handle whose memory is gone
 * with that.
 */
void gpu_handles_unmapped(struct gpu_handles *handles, uint32_t pid, uint64_t address,
			  uint64_t bytes,
			  void (*gone)(void *context, uint32_t pid, uint64_t handle),
			  void *context);

/* The process is gone, and its handles with it. */
void gpu_handles_forget(struct gpu_handles *handles, uint32_t pid);

/* How many had no room: their memory may be taken for in use. */
uint64_t gpu_handles_refused(const struct gpu_handles *handles);

#endif
