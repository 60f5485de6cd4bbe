/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_GPU_INSTRUCTIONS_H
#define SOURCES_GPU_INSTRUCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "bpf/gpu/on_gpu_abi.h"
#include "sources/gpu/code.h"

/*
 * Samples of instructions of GPUs. The device does not know which launch a sample belongs to: the
 * samples of a function go to the launches whose kernels of that function ran in the same window of
 * time, in the proportion of their times. Where these have one stack, that is exact; else the
 * samples have a mark that says that it is an estimate.
 *
 * A kernel that runs for longer than a window is known when it has ended: samples of a function
 * wait for that. Their sum is never changed: those for which no launch came by the end have a mark
 * instead of a stack.
 */

/* The most samples of different instructions and reasons, and launches of a window. */
#define GPU_INSTRUCTIONS_MAX (1u << 18)
#define GPU_LAUNCHES_MAX     (1u << 16)

/* What kernels of a function took in a window, by their launches. */
struct gpu_launches {
	uint32_t pid;
	bool is_sampled; /* its stack is known */
	uint64_t function, ns;
	struct samples_place place;
};

struct gpu_pending {
	uint32_t pid;
	uint32_t next; /* index + 1 of the next one of its function, or of those that are free */
	uint64_t code, function, offset, reason, count;
};

/* A function of a process that has samples. */
struct gpu_function {
	uint32_t pid;
	uint32_t first; /* index + 1 of its first sample */
	uint64_t function;
};

/* All zero, but for code: empty. */
struct gpu_instructions {
	struct gpu_code *code;
	vec(struct gpu_pending) pending;
	uint32_t free;	       /* index + 1 of the first one that is free */
	struct map pending_by; /* hash of all but the count -> index */
	vec(struct gpu_function) functions;
	struct map functions_by; /* hash of the process and the function -> index */
	vec(struct gpu_launches) launches;
	struct map launches_by;	 /* hash of all but the time -> index */
	uint64_t turns;		 /* how often samples were distributed */
	uint64_t without_launch; /* samples whose launches are not known */
	uint64_t full;		 /* samples that had no room */
	uint64_t launches_full;	 /* launches that had none: others get their samples */
};

/* Where samples go to. */
struct gpu_instructions_to {
	struct samples *samples;
	struct film_writer *film;
	uint32_t event;
	uint64_t time;
	/* the name that a process gave a hash, to show; null: not known */
	const char *(*name_of)(void *context, uint32_t pid, uint64_t hash);
	/* the row of a process's first thread */
	uint32_t (*thread_of)(void *context, uint32_t pid);
	void *context;
};

void gpu_instructions_free(struct gpu_instructions *instructions);

/* Kernels ran; launched: their sum since the last window is added up. */
void gpu_instructions_ran(struct gpu_instructions *instructions,
			  const struct gpu_launches *launched);

/* Samples came. */
void gpu_instructions_add(struct gpu_instructions *instructions,
			  const struct on_gpu_samples *samples);

/*
 * All of a window came: writes the samples whose launches are known. pid 0: of all processes.
 * is_last: writes also the others.
 */
void gpu_instructions_window(struct gpu_instructions *instructions, uint32_t pid, bool is_last,
			     const struct gpu_instructions_to *to);

/* Forgets the launches: their places were of another film. */
void gpu_instructions_next_film(struct gpu_instructions *instructions);

#endif
