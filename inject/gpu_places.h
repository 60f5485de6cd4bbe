/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INJECT_GPU_PLACES_H
#define INJECT_GPU_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
 * CLOCK_MONOTONIC; rcx: a hash of its name; r8: 0. Also a copy: rcx is then gpu_copy_work(), and r8
 * its bytes
 */
#define GPU_PLACE_KERNEL 2
/*
 * The same of all others of a name up to then. rdi: the hash; rsi: ns; rdx: how many; rcx: end; r8:
 * the number of a launch that they are all of, and others may follow; 0: theirs were not told; and
 * above its 32 bits the number of the site at which they were captured, if they are of a graph; r9:
 * bytes, of copies
 */
#define GPU_PLACE_REST 3
/* rdi: the hash of a name; rsi: the name; rdi 0: rsi is an enum gpu_state, rdx a number of it */
#define GPU_PLACE_NAME 4

/*
 * Samples of an instruction since the last GPU_STATE_WINDOW. rdi: gpu_code_hash() of the code; rsi:
 * hash of the function's name; rdx: offset in the function; rcx: hash of the reason why its warp did
 * not go on; r8: how many
 */
#define GPU_PLACE_SAMPLES 5

/* A thread begins to wait for the device. rdi: the number of its call */
#define GPU_PLACE_WAIT 6
/*
 * A thread has waited. rdi: the number of its call, 0: of several that were not reported at
 * GPU_PLACE_WAIT; and above its 32 bits the stream, or an enum gpu_stream. rsi: how long, ns; rdx:
 * end; rcx: hash or gpu_copy_work() of what ran on the stream for most of that time; r8: for how
 * long; r9: for how long anything did
 */
#define GPU_PLACE_WAITED 7

/*
 * Kernels and copies that have run, if GPU_LANES_VARIABLE asks for that. rdi: of GPU_WORKS of
 * struct gpu_work; what is behind the last one is all zero
 */
#define GPU_PLACE_WORKS 8

struct gpu_work {
	uint64_t begin, end;	 /* ns of CLOCK_MONOTONIC; end 0: there is none */
	uint64_t work;		 /* hash of its name, or gpu_copy_work() */
	uint64_t bytes;		 /* of a copy */
	uint32_t number, device; /* number: of its launch; 0: that was not reported */
	uint32_t stream;
	uint32_t site; /* of its capture (GPU_SITE_UNKNOWN), if it is of a graph; else 0 */
};
#define GPU_WORKS 12

/* The environment, if it is set: the library reports when each kernel and copy ran. */
#define GPU_LANES_VARIABLE "STACKCAM_GPU_LANES"

/* A node of a graph is made: captured, or added. rdi: the number of its site, the program's place */
#define GPU_PLACE_CAPTURE 9

/*
 * In place of a site's number: of a node that was made before the library came, or for which there
 * was no room. Others are higher.
 */
#define GPU_SITE_UNKNOWN 1

/* In place of a stream's number. */
enum gpu_stream {
	GPU_STREAM_COPY = 0xfffffffdu,	/* of a copy that has no record */
	GPU_STREAM_EVENT = 0xfffffffeu, /* of an event whose stream is not known */
	GPU_STREAM_ANY = 0xffffffffu,
};

/* What the library says of itself. */
enum gpu_state {
	GPU_STATE_STARTED = 1,
	GPU_STATE_NO_PROFILER, /* it has found no profiling library */
	GPU_STATE_TAKEN, /* another tool has it, or a function of it failed: the number says which */
	GPU_STATE_DROPPED, /* that many records more, for want of room; */
	GPU_STATE_UNTIMED, /* or as they do not say when their kernels ran */
	GPU_STATE_WINDOW,  /* all samples before that time (ns, CLOCK_MONOTONIC) were reported */
	GPU_STATE_NOT_SAMPLED,	     /* instructions of a context: the profiling library's error */
	GPU_STATE_NOT_READ,	     /* samples of a context: the same */
	GPU_STATE_SAMPLES_DROPPED,   /* that many, by the device or the profiling library */
	GPU_STATE_SAMPLES_OF_DRIVER, /* that many more, of kernels that the driver itself ran */
	GPU_STATE_CODE_LOST,	     /* code of a module could not be handed over */
	GPU_STATE_NO_COPIES,	     /* the profiling library records none: its error */
	GPU_STATE_NO_WAITS,	     /* the same of waits; 0: records could not be compared */
	GPU_STATE_FEWER,	     /* ms with fewer samples than usual, to keep the budget */
	GPU_STATE_LOST_SINCE,  /* from that time (ns, CLOCK_MONOTONIC) on, some were dropped */
	GPU_STATE_OVER_BUDGET, /* ms with more than that, and nothing left to reduce */
	GPU_STATE_NO_GRAPHS,   /* it does not say which nodes are made: its error */
	GPU_STATE_NODES_LOST,  /* sites of that many nodes more are not known, for want of room; */
	GPU_STATE_NODES_UNSAMPLED, /* or as too many were made at once */
};

/* FNV-1a of a name. */
static inline uint64_t gpu_name_hash(const char *name)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; name && *name; name++)
		hash = (hash ^ (uint8_t)*name) * 0x100000001b3u;
	return hash | 1;
}

/*
 * What stands for the hash of a name where a device copied or set memory: even, which no such hash
 * is. direction: of CUpti_ActivityMemcpyKind, or GPU_COPY_SET.
 */
#define GPU_COPY_DIRECTIONS 16
#define GPU_COPY_SET	    15
static inline uint64_t gpu_copy_work(uint32_t direction, bool is_pageable)
{
	return 2u * (direction % GPU_COPY_DIRECTIONS) + 2u * GPU_COPY_DIRECTIONS * is_pageable;
}

static inline bool gpu_is_copy(uint64_t work)
{
	return !(work & 1);
}

/*
 * The environment: a path of the file that gets the code of modules, each with a head before it.
 * Only where instructions are sampled.
 */
#define GPU_CODE_VARIABLE "STACKCAM_GPU_CODE"

/* The environment: percent of a CPU that the library may take; absent or 0: any. */
#define GPU_BUDGET_VARIABLE "STACKCAM_GPU_BUDGET"

#define GPU_CODE_MAGIC	    0x65646f6375706721u
#define GPU_CODE_MAX	    (64u << 20) /* bytes of one module */

struct gpu_code_head {
	uint64_t magic, size; /* size: of the code behind it */
};

/* Hash of a module's code; its samples name the module by it. */
static inline uint64_t gpu_code_hash(const void *code, size_t size)
{
	const uint8_t *at = code, *end = at + size / 8 * 8;
	uint64_t hash = size, word;

	for (; at < end; at += 8) {
		__builtin_memcpy(&word, at, 8);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
	}
	for (size_t i = 0; i < size % 8; i++)
		hash = (hash ^ at[i]) * 0x100000001b3u;
	return hash;
}

#endif
