/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INJECT_GPU_PLACES_H
#define INJECT_GPU_PLACES_H

/*
 * What libstackcam-gpu.so and the recorder agree on: the library has the tables of
 * memory_places.h, with these places in them.
 */
#define GPU_LIBRARY "libstackcam-gpu.so"

/* The environment: what a driver library loads as it is initialised. */
#define GPU_LIBRARY_VARIABLE "CUDA_INJECTION64_PATH"

/* rdi: the number that the launch and what it runs on the device have in common */
#define GPU_PLACE_LAUNCH 1
/*
 * A kernel has run whose launch was told. rdi: that number; rsi, rdx: begin and end, ns of
 * CLOCK_MONOTONIC; rcx: a hash of its name
 */
#define GPU_PLACE_KERNEL 2
/*
 * The same of all others of a name up to then. rdi: the hash; rsi: ns; rdx: how many; rcx: end; r8:
 * the number of a launch that they are all of, and others may follow; 0: theirs were not told
 */
#define GPU_PLACE_REST 3
/* rdi: the hash of a name; rsi: the name; rdi 0: rsi is an enum gpu_state, rdx a number of it */
#define GPU_PLACE_NAME 4

/* What the library says of itself. */
enum gpu_state {
	GPU_STATE_STARTED = 1,
	GPU_STATE_NO_PROFILER, /* it has found no profiling library */
	GPU_STATE_TAKEN, /* another tool has it, or a function of it failed: the number says which */
	GPU_STATE_DROPPED, /* that many records more, for want of room; */
	GPU_STATE_UNTIMED, /* or as they do not say when their kernels ran */
};

#endif
