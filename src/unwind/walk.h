/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNWIND_WALK_H
#define UNWIND_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/pool.h"

/*
 * The unwinder in user space: the very source that runs in the kernel (bpf/unwind/unwind.h), over
 * the same tables, and the stack's memory as a copy. It finishes what the kernel side handed over.
 */

/*
 * A copy of size bytes of a thread's memory that lay at address base. Bit n of missing: page n (4
 * KiB; page 0 is the one that base lies in) could not be read, its bytes here mean nothing.
 */
struct unwind_copy {
	uint64_t base;
	const uint8_t *bytes;
	size_t size;
	uint32_t missing;
};

/* Reads size bytes of the thread's memory at address. Not 0: they cannot all be read. */
typedef int unwind_read_memory(void *context, void *to, size_t size, uint64_t address);

/*
 * The tables to walk with: those of the process whose mappings (unwind_mapping) lie at mappings.
 * And its memory besides the stack: what does not change while a thread runs on (code, and what
 * describes it), and all else. Either may be null: it cannot be had. (A live process has only the
 * former: all else has gone on.)
 */
struct unwind_view {
	const struct unwind_pool *pool;
	const struct unwind_rule *rules;
	uint32_t mappings, mapping_count;
	unwind_read_memory *read_code, *read_far;
	void *context; /* of both */
	/* Of runtimes, as struct unwind_walk has them: only for a walk with read_far. */
	uint32_t jit_runtime, jit_data, home_runtime, home_data;
};

/* Where a walk begins, or goes on: as the kernel side hands it over, or as a test stored it. */
struct unwind_registers {
	uint64_t pc, sp, fp;
	uint64_t registers[16]; /* by DWARF number */
	uint64_t saved_at;	/* enum unwind_saved, or the address where it is saved */
	uint32_t known;		/* bit per register, without rbx */
	uint8_t fp_known, pc_exact, guess;
	/* bit of enum unwind_runtime: its frames could not be had, and are missing */
	uint8_t missed;
	uint64_t tls; /* the thread pointer; 0: not known */
};

/*
 * Walks from *at and appends to frames (UNWIND_FRAMES_MAX words in all), beginning at *count.
 * Leaves in *at where it stopped: after UNWIND_END_LATER, and with better tables, a second call
 * goes on there. Returns why it ended (enum unwind_end).
 */
int unwind_walk_copy(const struct unwind_view *view, const struct unwind_copy *stack,
		     struct unwind_registers *at, uint64_t *frames, uint32_t *count);

#endif
