/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_LUAJIT_ABI_H
#define BPF_RUNTIME_LUAJIT_ABI_H

/*
 * What the kernel side knows of a process that runs LuaJIT, as src/runtime/luajit/luajit.c writes
 * it. A frame's words are as those of Lua (lua/abi.h), with the address of a GCproto, and
 * luajit_found.check (luajit/place.h) instead of lua_check(). What the second word stands for is
 * kept under it (kept.h).
 */

#include "bpf/runtime/lua/abi.h"

/* Types of links, in their low bits (lj_frame.h). */
enum luajit_link {
	LUAJIT_LINK_LUA = 0,
	LUAJIT_LINK_C = 1,
	LUAJIT_LINK_CONT = 2,
	LUAJIT_LINK_VARG = 3,
	LUAJIT_LINK_CP = 5,
};

#define LUAJIT_ADDRESS_BITS 47
#define LUAJIT_POINTER	    ((1ull << LUAJIT_ADDRESS_BITS) - 1)

/*
 * Behind enum lua_called: a place in compiled code, for the functions that the trace there has
 * inlined. It stands before the frame of the function that the trace has begun in, or gone to. Word
 * 0's value is the address; word 1: the upper 44 bits of global_State's address, without its lowest
 * 3 bits, and 20 bits of luajit_code_sum().
 */
#define LUAJIT_IN_TRACE	 15
#define LUAJIT_CODE_BITS 20
#define LUAJIT_CODE	 32 /* bytes of code, aligned, that are summed up */

/* Tells code from other code that lies there later. */
static inline __attribute__((always_inline)) __u32
luajit_code_sum(const __u64 code[LUAJIT_CODE / 8])
{
	__u64 sum = 1;
	__u32 i;

	for (i = 0; i < LUAJIT_CODE / 8; i++) {
		sum = (sum ^ code[i]) * 0x9e3779b97f4a7c15ull;
		sum ^= sum >> 32;
	}
	return (__u32)(sum >> (64 - LUAJIT_CODE_BITS));
}

struct luajit_data {
	__u64 image,
		/* all of LuaJIT's own code: what else the step is asked for is compiled code */
		image_size;
	__u64 vm; /* the interpreter, one piece of assembler code */
	__u32 vm_size;
	__u32 cur_l; /* offset in global_State; jit_base follows */
};

/* What an instruction tells of the function that it calls. */
enum luajit_callee {
	LUAJIT_CALLS_NOTHING = 0,
	LUAJIT_CALLS_CONSTANT,	 /* it was loaded by a name, which is a constant */
	LUAJIT_CALLS_VARIABLE,	 /* it is a variable */
	LUAJIT_CALLS_METAMETHOD, /* the one of an operator */
	LUAJIT_CALLS_UNKNOWN,
};

#define LUAJIT_CHUNK_KEPT 256
#define LUAJIT_NAME_KEPT  40

/* Texts end with a zero, unless they are longer. */
struct luajit_kept {
	__u64 key; /* the frame's second word, once all the rest is written */
	__u32 first, lines, line;
	__u32 op, how, unused;	       /* enum luajit_callee */
	char callee[LUAJIT_NAME_KEPT]; /* LUAJIT_CALLS_CONSTANT */
	char chunk[LUAJIT_CHUNK_KEPT]; /* name of the chunk, as it was given */
};

#endif
