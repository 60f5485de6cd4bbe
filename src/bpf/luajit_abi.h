/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_LUAJIT_ABI_H
#define BPF_LUAJIT_ABI_H

/*
 * What the kernel side knows of a process that runs LuaJIT, as src/runtime/luajit.c writes it. A frame's words are
 * as those of Lua (lua_abi.h), with the address of a GCproto, and luajit_found.check (luajit_place.h) instead of
 * lua_check(). What the second word stands for is kept under it (kept.h).
 */

#include "lua_abi.h"

struct luajit_data {
	__u64 image,
		image_size; /* all of LuaJIT's own code: what else the step is asked for is compiled code */
	__u64 vm;	    /* the interpreter, one piece of assembler code */
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
