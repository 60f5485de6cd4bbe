/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNWIND_JIT_DEBUG_H
#define UNWIND_JIT_DEBUG_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/pool.h"
#include "unwind/rules.h"
#include "unwind/table.h"
#include "unwind/walk.h"

/*
 * Code without a file whose compiler describes it to debuggers: in a list of ELF images in the
 * process's own memory, which begins at a variable of a known name ("JIT Compilation Interface" in
 * GDB's manual). qemu describes the code that it translates that way, whose frames no frame pointer
 * leads through.
 */
#define JIT_DEBUG_SYMBOL "__jit_debug_descriptor"

/* Images of one process that are read, and bytes of each. */
#define JIT_DEBUG_IMAGES_MAX 16
#define JIT_DEBUG_BYTES_MAX  (1u << 18)

struct jit_debug {
	struct unwind_table tables[JIT_DEBUG_IMAGES_MAX];
	unsigned int count;
	uint64_t hash; /* of the images as they were read; 0: there were none */
	uint64_t descriptor;
};

/*
 * Reads the list whose struct jit_descriptor is at that address of a process, and builds a table of
 * each image that has unwind information. *to: all zero, or what was read before, which is kept if
 * nothing has changed. Returns whether tables have changed: those in *old are to be dropped once
 * no thread walks with them. Images that cannot be read are left out.
 */
bool jit_debug_read(struct jit_debug *to, struct jit_debug *old, unwind_read_memory *read,
		    void *context, uint64_t descriptor, struct unwind_pool *pool,
		    struct unwind_rules *rules);

/* Whether there is anything in a list that was empty when it was read. */
bool jit_debug_has_begun(const struct jit_debug *of, unwind_read_memory *read, void *context);

/* The table for code at [start, end), of 64 KiB pages; null: there is none. */
const struct unwind_table *jit_debug_table(const struct jit_debug *of, uint64_t start,
					   uint64_t end);

/* Gives the tables' memory back, and zeroes it. */
void jit_debug_drop(struct jit_debug *of, struct unwind_pool *pool);

#endif
