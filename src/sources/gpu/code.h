/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_GPU_CODE_H
#define SOURCES_GPU_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "resolve/samples.h"

/*
 * The code that processes have loaded onto GPUs. libstackcam-gpu.so appends it to a file in memory,
 * from which it is read and removed. Frames of the film are named by it.
 */
struct gpu_code;

/* Creates the file; returns its descriptor, or a negative errno. */
int gpu_code_file(void);

/* fd: of the file; owned from here on, also after an error. Returns 0 or -ENOMEM. */
int gpu_code_new(int fd, struct gpu_code **code);
void gpu_code_free(struct gpu_code *code);

/* Reads some of what was added. False: there was nothing. */
bool gpu_code_read(struct gpu_code *code);

/* An instruction: gpu_code_hash(), gpu_name_hash(), and an offset in the function. */
struct gpu_instruction {
	uint64_t code, function, offset;
	const char *name; /* of the function that was launched, to show; null: not known */
	uint64_t count;	  /* samples that have this stack */
};

/*
 * The stack with the instruction at its leaf: the kernel, a device function in it, functions that
 * were inlined there, and the mnemonic with the offset. 0: the film is full.
 */
uint32_t gpu_code_stack(struct gpu_code *code, struct samples *samples, struct film_writer *film,
			uint32_t stack, const struct gpu_instruction *at);

/* Continues with another film. */
void gpu_code_next_film(struct gpu_code *code);

struct gpu_code_losses {
	uint64_t damaged;	/* modules that cannot be read */
	uint64_t too_old;	/* of architectures before sm_70 */
	uint64_t full;		/* modules for which there was no room */
	uint64_t unknown;	/* samples whose module or function is not known */
	uint64_t without_lines; /* places of code without lines */
	const char *how;	/* how to get those of the first such module; null: none */
};
struct gpu_code_losses gpu_code_losses(const struct gpu_code *code);

#endif
