/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_LUA_ABI_H
#define BPF_RUNTIME_LUA_ABI_H

/*
 * What the kernel side knows of a process that runs Lua, as src/runtime/lua/lua.c writes it; and
 * what a frame's two words say.
 *
 *	word 0: value: address of the function's Proto; variant: enum lua_called
 *	word 1: the low 20 bits: index of the instruction (LUA_NO_PC: not known), the rest:
 *	lua_check()
 */

#include "bpf/unwind/abi.h"

#define LUA_PC_BITS 20
#define LUA_NO_PC   ((1u << LUA_PC_BITS) - 1)

/* The caller of a function: only Lua code says what it calls. */
enum lua_called {
	LUA_CALLED_BY_LUA = 0, /* the next outer frame of Lua */
	LUA_CALLED_BY_C,
	LUA_CALLED_BY_TAIL, /* the caller is gone */
	LUA_CALLED_AS_FINALIZER,
	LUA_CALLED_AS_HOOK,
};

#define LUA_EPILOGUES_MAX 16
#define LUA_HOLES_MAX	  8
#define LUA_NO_REGISTER	  0xff

/* Half-open, relative to the begin of luaV_execute. */
struct lua_range {
	__u32 start, end;
};

/* Code in which the state is elsewhere for a moment. */
struct lua_hole {
	struct lua_range range;
	__s32 slot; /* from the stack pointer */
	__u8 reg;   /* DWARF number; LUA_NO_REGISTER: it is in the slot */
	__u8 unused[3];
};

struct lua_data {
	__u64 execute; /* address of luaV_execute, the interpreter's loop */
	__u64 cold;    /* of the part that the compiler put elsewhere; 0: there is none */
	__u64 code;    /* of all of Lua */
	__u64 code_size;
	__u32 execute_size, cold_size;
	__u32 body;    /* offset from which on the register below holds what it should */
	__u32 version; /* 501 to 505 */
	/* what `state` says, if it is NO_REGISTER: from the stack pointer, in this slot */
	__s32 state_at;
	__s32 calls_at; /* 5.1: where luaV_execute keeps `nexeccalls`, from its stack pointer */
	/* DWARF number of the register that holds CallInfo or lua_State; NO_REGISTER: in a slot */
	__u8 state;
	__u8 by_state; /* it is lua_State: always up to 5.2 */
	/* of the one that holds the next instruction, in luaV_execute itself; or NO_REGISTER */
	__u8 pc;
	__u8 reentry;	/* 5.2, 5.3.0, 5.3.1: the bit in callstatus says the opposite of "fresh" */
	__u8 epilogues; /* how many there are */
	__u8 holes;
	/* where the characters of a string begin; of long ones in 5.5, the pointer to them */
	__u8 text;
	__u8 unused;
	struct lua_range epilogue[LUA_EPILOGUES_MAX];
	struct lua_hole hole[LUA_HOLES_MAX];
};

/*
 * Adds a text to a hash: up to its end, or all that was read. Without branches, which the
 * verifier would follow.
 */
static inline __attribute__((always_inline)) __u64 lua_mix_text(__u64 hash, const __u64 *text,
								__u32 words)
{
	__u64 alive = ~0ull, word, zero;
	__u32 i;

	for (i = 0; i < words; i++) {
		word = text[i];
		zero = (word - 0x0101010101010101ull) & ~word & 0x8080808080808080ull;
		word &= ((zero & -zero) >> 7) - 1;
		hash = (hash ^ (word & alive)) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
		alive &= ((zero | -zero) >> 63) - 1;
	}
	return hash;
}

/* TString of 5.5: the sign of shrlen, in its second word, says that it is a long one. */
#define LUA_505_LONG (1ull << 31)

/* Bytes that are read of a source's name. */
#define LUA_TEXT 128

/*
 * A Proto is what it was if these are: 44 bits. All of its addresses may be those of another one
 * that has come in its place; the text is what its source is called (lua_mix_text()).
 */
static inline __u64 lua_check(__u64 code, __u64 source, __u32 size, __u32 line, __u64 text)
{
	__u64 hash = (code ^ text) * 0x9e3779b97f4a7c15ull;

	hash ^= hash >> 29;
	hash = (hash ^ source) * 0xbf58476d1ce4e5b9ull;
	hash ^= hash >> 32;
	hash = (hash ^ ((__u64)line << 32 | size)) * 0x94d049bb133111ebull;
	return hash >> LUA_PC_BITS;
}

#endif
