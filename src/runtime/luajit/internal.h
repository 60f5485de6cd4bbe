/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_LUAJIT_INTERNAL_H
#define RUNTIME_LUAJIT_INTERNAL_H

#include "base/vec.h"
#include "bpf/runtime/luajit/abi.h"
#include "runtime/runtime.h"

/* What the files of LuaJIT say to each other. */

/* Of an image. */
struct luajit_facts {
	uint64_t vm; /* the image's address of the interpreter */
	uint32_t vm_size;
	uint32_t cur_l; /* its offset in global_State */
};

/*
 * Finds the interpreter of an image and what the walk needs of its structures. 0, or a negative
 * errno with *why: it cannot be told from its code, or is of a kind that is not known.
 */
int luajit_find(const struct image *image, struct luajit_facts *facts, struct budget *budget,
		struct fail *why);

/* What is known of a process's compiled code. */
struct luajit_known_trace {
	uint64_t address, machine; /* of its GCtrace, of its code */
	uint32_t size;
};

struct luajit_traces {
	uint32_t
		/*
		 * from global_State to jit_State's pointer to the array of traces; 0: not known yet
		 */
		array;
	vec(struct luajit_known_trace) known;
};

/*
 * Names a place in compiled code (LUAJIT_IN_TRACE): the functions inlined there. As runtime_type's
 * name_of().
 */
int luajit_name_trace(const struct runtime_at *at, struct luajit_traces *traces,
		      const uint64_t words[2], struct runtime_names *names);

/* Names a frame: runtime_type's name_of(). */
int luajit_name(const struct runtime_at *at, const uint64_t words[2], struct runtime_names *names);

#endif
