/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_ON_GPU_ABI_H
#define BPF_ON_GPU_ABI_H

/*
 * What on_gpu.bpf.c tells of kernels and copies on GPUs, as a library in the process reports them.
 */

#include "bpf/capture/abi.h"

enum {
	/* A launch: a capture_record, whose key is its number in the process. */
	ON_GPU_LAUNCH = CAPTURE_KIND(CAPTURE_SOURCE_ON_GPU, 0),
	ON_GPU_RAN = CAPTURE_KIND(CAPTURE_SOURCE_ON_GPU, 1), /* a struct on_gpu_ran */
	/*
	 * The name of a kernel: a capture_record without frames, whose key is the name's hash, and
	 * behind which the name stands in ON_GPU_NAME_BYTES, with a zero byte. Key 0: its value is
	 * an enum gpu_state (inject/gpu_places.h), and behind it is that state's number.
	 */
	ON_GPU_NAME = CAPTURE_KIND(CAPTURE_SOURCE_ON_GPU, 2),
	ON_GPU_SAMPLES = CAPTURE_KIND(CAPTURE_SOURCE_ON_GPU, 3), /* a struct on_gpu_samples */
	ON_GPU_WAIT = CAPTURE_KIND(CAPTURE_SOURCE_ON_GPU, 4),	 /* a wait begins: as a launch */
	ON_GPU_WAITED = CAPTURE_KIND(CAPTURE_SOURCE_ON_GPU, 5),	 /* a struct on_gpu_waited */
	/*
	 * Kernels and copies that have run: a capture_record without frames, and behind it
	 * ON_GPU_WORKS of struct gpu_work (inject/gpu_places.h).
	 */
	ON_GPU_WORKS_RAN = CAPTURE_KIND(CAPTURE_SOURCE_ON_GPU, 6),
	/* A node of a graph is made: as a launch, with the number of its site. */
	ON_GPU_CAPTURE = CAPTURE_KIND(CAPTURE_SOURCE_ON_GPU, 7),
};

#define ON_GPU_NAME_BYTES 512
#define ON_GPU_WORKS	  12
#define ON_GPU_WORK_WORDS 6

/* What is seen at a probe: its cookie, as in inject/gpu_places.h. */
enum on_gpu_place {
	ON_GPU_PLACE_LAUNCH = 1,
	ON_GPU_PLACE_KERNEL,
	ON_GPU_PLACE_REST,
	ON_GPU_PLACE_NAME,
	ON_GPU_PLACE_SAMPLES,
	ON_GPU_PLACE_WAIT,
	ON_GPU_PLACE_WAITED,
	ON_GPU_PLACE_WORKS,
	ON_GPU_PLACE_CAPTURE,
};

/* One kernel or copy has run, or several of one name have. */
struct on_gpu_ran {
	struct capture_head head;
	__u64 number; /* of their launch; 0: of several, or of one that is none of the samples */
	__u64 work;   /* hash of its name, or gpu_copy_work() (inject/gpu_places.h) */
	__u64 ns;
	__u64 bytes; /* of copies */
	__u64 end;   /* ns of CLOCK_MONOTONIC */
	__u64 count; /* how many */
	__u32 pid;
	__u32 more; /* others of the same launch may follow */
	__u32 undecided;
	__u32 site; /* of its capture, if it is of a graph; else 0 */
};

/* A thread has waited: as inject/gpu_places.h has it. */
struct on_gpu_waited {
	struct capture_head head;
	__u64 call; /* number, and above it the stream */
	__u64 ns, end, work, work_ns, all_ns;
	__u32 pid;
	__u32 undecided;
};

/* Samples of an instruction: as inject/gpu_places.h has them. */
struct on_gpu_samples {
	struct capture_head head;
	__u64 code, function, offset, reason, count;
	__u32 pid;
	__u32 undecided;
};

#endif
