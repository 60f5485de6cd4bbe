/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INJECT_GPU_STUBS_H
#define INJECT_GPU_STUBS_H

/*
 * What libstackcam-gpu.so and a recorder agree on that puts it into a running process; also for the
 * assembler. Its table of entries (memory_places.h) has these:
 */
#define GPU_ENTRY_ARM	 0 /* gpu_arm(array of struct memory_slot, its length) */
#define GPU_ENTRY_DISARM 1 /* gpu_disarm() */
/* MEMORY_ENTRY_STATE: struct gpu_injection */
#define GPU_ENTRY_STUBS 3 /* what words of the driver library get; each has as many bytes: */
#define GPU_STUB_BYTES	16
#define GPU_STUBS	48

#ifndef __ASSEMBLER__
#include <stdint.h>

enum gpu_phase {
	GPU_IDLE,    /* nothing of the process leads here */
	GPU_ARMED,   /* its next call of the driver begins the recording; */
	GPU_LOADING, /* it has come, */
	GPU_RUNNING, /* and all of them are recorded */
	GPU_REFUSED, /* there is no profiling library, or another tool has it */
	GPU_STARTED, /* the driver has loaded the library as the process started */
};

/* The recorder writes what is not the phase. Of a process that has it mapped, all but that is 0. */
struct gpu_injection {
	uint64_t phase;
	uint64_t until;		    /* ns of CLOCK_MONOTONIC: the recorder is gone if it does not
				     * write a later one before */
	uint64_t owner, owner_born; /* the recorder's process, as struct memory_state has it */
	uint64_t pid;		    /* in which this is; a child has a copy */
	uint64_t is_stopped;	    /* it is to end */
	uint64_t is_whole;	    /* the library is mapped completely */
	uint64_t has_lanes, budget; /* GPU_LANES_VARIABLE and GPU_BUDGET_VARIABLE */
};
#endif

#endif
