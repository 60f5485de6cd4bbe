/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_LUA_LUA_H
#define BPF_RUNTIME_LUA_LUA_H

/*
 * Frames of Lua (see runtimes.h).
 *
 * luaV_execute() is the interpreter's loop. A call from Lua to Lua stays in it: the loop goes on
 * with the new function. Only C code that calls Lua (pcall, sort, a metamethod, the resume of a
 * coroutine) enters it anew. So one native frame of luaV_execute stands for one or more Lua
 * functions: those from its current CallInfo outwards, up to the one with which it was entered.
 *
 *	5.3 to 5.5: luaV_execute keeps the current CallInfo in a variable, which a register holds:
 *		exact at any instruction. The entering one has the bit CIST_FRESH. Where that
 *		register is not one that the walk follows, but lua_State can be had: as 5.2.
 *	5.2: the current CallInfo is lua_State's; those in between have the bit CIST_REENTRY. C
 *		functions that the loop has called stand above its own.
 *	5.1: CallInfos are an array; how many of them are luaV_execute's is in its variable
 *		nexeccalls.
 *
 * The structures are those of lstate.h and lobject.h of each version. Which register, and where
 * luaV_execute is, user space finds in its code (src/runtime/lua/execute.c).
 *
 * Where it is lua_State's, the walk may come when a call or a return is half done: lua_State has
 * another CallInfo already than luaV_execute. Then frames stand at the wrong one of two
 * luaV_executes, but all are there, in the right order.
 *
 * What is remembered in w->state: [0] the next CallInfo; [1] the stack pointer of the luaV_execute
 * that it belongs to, shifted, and LUA_LEFT, how many frames it has left (LUA_TO_FRESH: up to the
 * entering one).
 */

#include "bpf/runtime/lua/abi.h"
#include "bpf/unwind/unwind.h"

#define LUA_LEFT     0x7fffull
#define LUA_TO_FRESH 0x7fffull
#define LUA_FIRST    0x8000ull	/* the innermost CallInfo of the innermost luaV_execute */
#define LUA_PUSHED   0x10000ull /* one at least; the stack pointer's low bits are 0 */
#define LUA_RESTART  0x20000ull /* the walk has begun again, and has not come to one since */
#define LUA_BITS     0x7ffffull

/*
 * Where things are in the structures of a version. Known when this is compiled: no look-ups, few
 * reads.
 */
struct lua_layout {
	__u32 version;
	__u32 ci_size, ci_previous, ci_savedpc, ci_status;
	__u32 closure_proto, closure_tag, proto_tag;
	__u32 proto_code, proto_source, proto_size, proto_line;
	/* all bits of a CallInfo's status; of them, where a version has one, those that say: */
	__u32 status;
	__u32 fresh, tail, hook, finalizer, is_lua, is_c;
};

/* The status is how many tail calls there were. */
static const struct lua_layout lua_501 = {
	.version = 501,
	.ci_size = 40,
	.ci_previous = 0,
	.ci_savedpc = 24,
	.ci_status = 36,
	.closure_proto = 0x20,
	.closure_tag = 6,
	.proto_tag = 9,
	.proto_code = 0x18,
	.proto_source = 0x40,
	.proto_size = 0x50,
	.proto_line = 0x60,
	.status = 0xffffffff,
	.tail = 0xffffffff,
};

static const struct lua_layout lua_502 = {
	.version = 502,
	.ci_size = 64,
	.ci_previous = 16,
	.ci_savedpc = 56,
	.ci_status = 34,
	.closure_proto = 0x18,
	.closure_tag = 0x46,
	.proto_tag = 9,
	.proto_code = 0x18,
	.proto_source = 0x48,
	.proto_size = 0x58,
	.proto_line = 0x68,
	.status = 0xff,
	.is_lua = 1 << 0,
	.hook = 1 << 1,
	.fresh = 1 << 2,
	.tail = 1 << 6,
};

static const struct lua_layout lua_503 = {
	.version = 503,
	.ci_size = 72,
	.ci_previous = 16,
	.ci_savedpc = 40,
	.ci_status = 66,
	.closure_proto = 0x18,
	.closure_tag = 0x46,
	.proto_tag = 9,
	.proto_code = 0x38,
	.proto_source = 0x68,
	.proto_size = 0x18,
	.proto_line = 0x28,
	.status = 0xffff,
	.is_lua = 1 << 1,
	.hook = 1 << 2,
	.fresh = 1 << 3,
	.tail = 1 << 5,
	.finalizer = 1 << 8,
};

static const struct lua_layout lua_504 = {
	.version = 504,
	.ci_size = 64,
	.ci_previous = 16,
	.ci_savedpc = 32,
	.ci_status = 62,
	.closure_proto = 0x18,
	.closure_tag = 0x46,
	.proto_tag = 10,
	.proto_code = 0x40,
	.proto_source = 0x70,
	.proto_size = 0x18,
	.proto_line = 0x2c,
	.status = 0xffff,
	.is_c = 1 << 1,
	.fresh = 1 << 2,
	.hook = 1 << 3,
	.tail = 1 << 5,
	.finalizer = 1 << 7,
};

static const struct lua_layout lua_505 = {
	.version = 505,
	.ci_size = 64,
	.ci_previous = 16,
	.ci_savedpc = 32,
	.ci_status = 60,
	.closure_proto = 0x18,
	.closure_tag = 0x46,
	.proto_tag = 10,
	.proto_code = 0x40,
	.proto_source = 0x70,
	.proto_size = 0x18,
	.proto_line = 0x2c,
	.status = 0xffffffff,
	.is_c = 1 << 15,
	.fresh = 1 << 16,
	.hook = 1 << 20,
	.tail = 1 << 22,
	.finalizer = 1 << 24,
};

static __always_inline int lua_refuse(struct unwind_walk *w, enum unwind_end end)
{
	unwind_stop(w, end);
	return UNWIND_ENDED;
}

static __always_inline int lua_is_execute(const struct lua_data *d, __u64 at)
{
	return at - d->execute < d->execute_size || at - d->cold < d->cold_size;
}

/* Whether luaV_execute has not set up its registers yet, or has given them back already. */
static __always_inline int lua_is_outside(const struct unwind_walk *w, const struct lua_data *d)
{
	__u64 at = w->pc - d->execute;
	__u32 i;

	if (!w->pc_exact || at >= d->execute_size)
		return 0;
	if (at < d->body)
		return 1;
	for (i = 0; i < LUA_EPILOGUES_MAX; i++)
		if (at >= d->epilogue[i].start && at < d->epilogue[i].end)
			return 1;
	return 0;
}

/* What luaV_execute's variable is: enum unwind_end's reason if that cannot be had, else 0. */
static __always_inline int lua_variable(struct unwind_walk *w, const struct lua_data *d,
					__u64 *value)
{
	__u64 at = unwind_at(w) - d->execute;
	__u32 reg = d->state, i;
	__s32 slot = d->state_at;

	for (i = 0; i < LUA_HOLES_MAX; i++) {
		if (at < d->hole[i].range.start || at >= d->hole[i].range.end)
			continue;
		reg = d->hole[i].reg;
		slot = d->hole[i].slot;
	}
	if (reg == LUA_NO_REGISTER)
		return unwind_read_far(w, value, sizeof(*value), w->sp + (__s64)slot)
			       ? UNWIND_END_RUNTIME_MEMORY
			       : 0;
	/* of those that are not followed, only the leaf's are what they were */
	if (!(UNWIND_REGISTERS_KEPT >> (reg & 15) & 1) && !w->pc_exact)
		return UNWIND_END_RUNTIME_STATE;
	return unwind_register(w, reg, value) ? 0 : UNWIND_END_RUNTIME_STATE;
}

/*
 * 5.1: CallInfos lie in an array, from base_ci on; as many of them are luaV_execute's as it has
 * counted.
 */
#define LUA_501_BASE_CI 0x50

/* Where to go on, and how many frames there are. Returns 0, or 1: the walk has ended. */
static __always_inline int lua_next_501(struct unwind_walk *w, const struct lua_data *d, __u64 lua,
					__u64 ci, __u64 *next, __u64 *left)
{
	__u64 base;
	__u32 calls;

	if (unwind_read_far(w, &calls, sizeof(calls), w->sp + (__s64)d->calls_at))
		return unwind_stop(w, UNWIND_END_RUNTIME_MEMORY);
	if (calls >= LUA_TO_FRESH)
		return unwind_stop(w, UNWIND_END_RUNTIME_STATE);
	/* 0: it is just returning */
	*left = calls;
	if (calls &&
	    (!*next || *next > ci ||
	     unwind_read_far(w, &base, sizeof(base), lua + LUA_501_BASE_CI) || *next < base))
		*next = ci;
	return 0;
}

#define LUA_TAG_THREAD 8

/*
 * Where to go on, by the lua_State at that address: tt at 8, ci at 0x20 (5.1: 0x28), stack_last and
 * stack behind.
 */
static __always_inline int lua_next_by_state(struct unwind_walk *w, const struct lua_data *d,
					     __u64 address, __u64 *next, __u64 *left)
{
	__u64 lua[8], function, stack_last, stack;

	if (unwind_read_far(w, lua, sizeof(lua), address + 8))
		return unwind_stop(w, UNWIND_END_RUNTIME_MEMORY);
	if ((lua[0] & 0xff) != LUA_TAG_THREAD)
		return unwind_stop(w, UNWIND_END_RUNTIME_STATE);
	if (d->version == 501)
		return lua_next_501(w, d, address, lua[4], next, left);
	stack_last = d->version < 504 ? lua[5] : lua[4];
	stack = d->version < 504 ? lua[6] : lua[5];
	/* what was left is this state's if its function lies in this state's stack */
	if (!*next || unwind_read_far(w, &function, sizeof(function), *next) || function < stack ||
	    function >= stack_last)
		*next = lua[3];
	return 0;
}

/* Functions in C may stand between two of Lua: at most that many are looked at. */
#define LUA_OPEN_MAX 16

/* Whether a CallInfo is among those from `next` outwards: then it is that of an open call. */
UNWIND_APART int lua_is_open(const struct unwind_walk *w, __u64 next, __u64 ci)
{
	__u32 i;

	for (i = 0; w && i < LUA_OPEN_MAX && next; i++) {
		if (next == ci)
			return 1;
		if (unwind_read_far(w, &next, sizeof(next), next + 16))
			return 0;
	}
	return 0;
}

/*
 * Finds the CallInfo to begin with for the luaV_execute that the walk is at, and how many frames it
 * has: none where it has no CallInfo. Returns 0, or 1: the walk has ended.
 */
static __always_inline int lua_begin(struct unwind_walk *w, const struct lua_data *d)
{
	__u64 *state = w->state[UNWIND_RUNTIME_LUA], next = state[0], left = LUA_TO_FRESH, value;
	__u64 first = next ? 0 : LUA_FIRST, restarted = state[1] & LUA_RESTART;
	int end;

	state[1] = w->sp << 16;
	if (lua_is_outside(w, d))
		return 0;
	end = lua_variable(w, d, &value);
	/* by a restart, lua_State is known, and the register may not be */
	if (end && !(restarted && !d->by_state))
		return unwind_stop(w, (enum unwind_end)end);
	if (end)
		first = LUA_FIRST;
	else if (restarted && !d->by_state && !lua_is_open(w, next, value))
		return unwind_stop(w, UNWIND_END_RUNTIME_STATE);
	else if (!d->by_state)
		next = value;
	else if (lua_next_by_state(w, d, value, &next, &left))
		return 1;
	state[0] = next;
	state[1] |= left | first;
	return 0;
}

/*
 * 5.1: OP_CALL stays in luaV_execute, so a function that it has called is not the one that was
 * entered with.
 */
#define LUA_501_OP_CALL	 28
#define LUA_CALLED_INNER 0xff

/* 5.1: the caller of the function of the CallInfo behind `previous`: enum lua_called, or INNER. */
static __always_inline __u32 lua_caller_501(struct unwind_walk *w, __u64 previous)
{
	__u64 ci[3], words[2], word;
	__u32 instruction;

	if (unwind_read_far(w, ci, sizeof(ci), previous + 8) ||
	    unwind_read_far(w, words, sizeof(words), ci[0]) || (words[1] & 0xff) != 6 ||
	    unwind_read_far(w, &word, sizeof(word), words[0] + 8))
		return LUA_CALLED_BY_C;
	/* isC stands behind tt and marked */
	if (word >> 16 & 0xff)
		return LUA_CALLED_BY_C;
	if (!unwind_read_far(w, &instruction, sizeof(instruction), ci[2] - 4) &&
	    (instruction & 0x3f) == LUA_501_OP_CALL)
		return LUA_CALLED_INNER;
	return LUA_CALLED_BY_LUA;
}

/* A number of 32 bits or less, in the word where it begins. */
static __always_inline __u32 lua_part(__u64 word, __u32 offset)
{
	return word >> (offset & 7) * 8;
}

/* The caller of the function of a CallInfo with which luaV_execute was entered. */
static __always_inline __u32 lua_caller(struct unwind_walk *w, const struct lua_layout *l,
					__u64 previous)
{
	__u64 word;
	__u32 status;

	if (l->version == 501)
		return lua_caller_501(w, previous);
	if (unwind_read_far(w, &word, sizeof(word), previous + (l->ci_status & ~7u)))
		return LUA_CALLED_BY_C;
	status = lua_part(word, l->ci_status) & l->status;
	if (status & l->hook)
		return LUA_CALLED_AS_HOOK;
	if (status & l->finalizer)
		return LUA_CALLED_AS_FINALIZER;
	/* a version has one of these bits */
	return (status & (l->is_lua | l->is_c)) == l->is_lua ? LUA_CALLED_BY_LUA : LUA_CALLED_BY_C;
}

/* What a source is called, as a number; 0: it cannot be read. */
UNWIND_APART int lua_read_text(struct unwind_walk *w, __u64 address, __u64 *text)
{
	if (!w || !text)
		return 0;
	*text = 0;
	if (!unwind_read_far(w, w->piece, LUA_TEXT, address))
		*text = lua_mix_text(1, w->piece, LUA_TEXT / 8);
	return 0;
}

/* Where the characters of a string are. */
static __always_inline __u64 lua_characters(const struct unwind_walk *w, const struct lua_data *d,
					    const struct lua_layout *l, __u64 string)
{
	__u64 words[3];

	/* 5.5: not in itself, if it is a long one */
	if (l->version == 505 && !unwind_read_far(w, words, sizeof(words), string + 8) &&
	    words[0] & LUA_505_LONG)
		return words[2];
	return string + d->text;
}

/* Pushes the frame of the Proto in b, which is at address proto. */
static __always_inline int lua_push(struct unwind_walk *w, const struct lua_data *d,
				    const struct lua_layout *l, const __u64 *b, __u64 proto,
				    __u64 savedpc, __u32 called)
{
	__u64 code = b[l->proto_code / 8], source = b[l->proto_source / 8], text = 0, check, pc;
	__u32 size = lua_part(b[l->proto_size / 8], l->proto_size);
	__u32 line = lua_part(b[l->proto_line / 8], l->proto_line);

	pc = (savedpc - code) >> 2;
	if (savedpc < code || pc > size)
		pc = LUA_NO_PC;
	else if (pc)
		pc--;
	if (pc > LUA_NO_PC)
		pc = LUA_NO_PC;
	lua_read_text(w, lua_characters(w, d, l, source), &text);
	check = lua_check(code, source, size, line, text);
	if (unwind_push_runtime(w, UNWIND_RUNTIME_WORD(UNWIND_RUNTIME_LUA, called, proto),
				check << LUA_PC_BITS | pc))
		return UNWIND_ENDED;
	return UNWIND_AGAIN;
}

/* The next instruction, if a register has it: it is saved only before what can fail. */
static __always_inline __u64 lua_live_pc(struct unwind_walk *w, const struct lua_data *d,
					 __u64 code, __u32 size, __u64 savedpc)
{
	__u64 value;

	if (!w->pc_exact || d->pc == LUA_NO_REGISTER || !unwind_register(w, d->pc, &value) ||
	    value & 3 || value < code || value > code + 4ull * size)
		return savedpc;
	return value;
}

/* 5.1: of the current function, lua_State has it. */
static __always_inline __u64 lua_saved_pc(struct unwind_walk *w, const struct lua_data *d, __u64 ci,
					  __u64 savedpc)
{
	__u64 lua, now[2];

	if (lua_variable(w, d, &lua) || unwind_read_far(w, now, sizeof(now), lua + 0x28))
		return savedpc;
	return now[0] == ci ? now[1] : savedpc;
}

/*
 * The CallInfo is not a Lua function's: it belongs to a C function that luaV_execute has called, or
 * to a Lua function that is just returning, whose results have taken its place on the stack.
 */
static __always_inline int lua_no_function(struct unwind_walk *w, const struct lua_data *d,
					   const struct lua_layout *l, __u32 is_last)
{
	__u64 *state = w->state[UNWIND_RUNTIME_LUA], lua, base;

	if (!d->by_state) {
		if (!(state[1] & LUA_FIRST))
			return lua_refuse(w, UNWIND_END_RUNTIME_STATE);
		state[1] &= ~LUA_FIRST;
		if (is_last)
			state[1] &= ~LUA_LEFT;
	} else if (state[1] & LUA_PUSHED || !state[0] ||
		   (l->version == 501 &&
		    (lua_variable(w, d, &lua) ||
		     unwind_read_far(w, &base, sizeof(base), lua + LUA_501_BASE_CI) ||
		     state[0] < base))) {
		state[1] &= ~LUA_LEFT;
	}
	return UNWIND_AGAIN;
}

/* The frame of the CallInfo, whose Proto is in b, at address proto. */
static __always_inline int lua_function(struct unwind_walk *w, const struct lua_data *d,
					const struct lua_layout *l, const __u64 *b, __u64 proto,
					__u64 ci, __u64 savedpc, __u32 is_last, __u32 is_tail)
{
	__u64 *state = w->state[UNWIND_RUNTIME_LUA], code = b[l->proto_code / 8];
	__u32 size = lua_part(b[l->proto_size / 8], l->proto_size), called = LUA_CALLED_BY_LUA;
	__u64 first = state[1] & LUA_FIRST, left = state[1] & LUA_LEFT;

	/* 5.2 saves the program counter with each instruction: this one has not begun */
	if (l->version == 502 && first && savedpc == code && state[0])
		return UNWIND_AGAIN;
	if (first && l->version == 501)
		savedpc = lua_saved_pc(w, d, ci, savedpc);
	if (first)
		savedpc = lua_live_pc(w, d, code, size, savedpc);
	if (l->version == 501)
		left--;
	else if (is_last)
		left = 0;
	if (is_last)
		called = lua_caller(w, l, state[0]);
	if (called == LUA_CALLED_INNER) {
		/* half of a call was done: the count of frames is not up to date */
		called = LUA_CALLED_BY_LUA;
		left = 1;
	}
	if (is_tail)
		called = LUA_CALLED_BY_TAIL;
	state[1] = (state[1] & ~LUA_BITS) | LUA_PUSHED | left;
	return lua_push(w, d, l, b, proto, savedpc, called);
}

static __always_inline int lua_frame(struct unwind_walk *w, const struct lua_data *d,
				     const struct lua_layout *l)
{
	__u64 *state = w->state[UNWIND_RUNTIME_LUA], b[15], ci = state[0], value[2], savedpc, at;
	__u32 status, is_last;

	if (ci & 7 || unwind_read_far(w, b, l->ci_size, ci))
		return lua_refuse(w, UNWIND_END_RUNTIME_MEMORY);
	savedpc = b[l->ci_savedpc / 8];
	status = lua_part(b[l->ci_status / 8], l->ci_status) & l->status;
	at = b[l->version == 501 ? 1 : 0];
	state[0] = l->version == 501 ? ci - l->ci_size : b[l->ci_previous / 8];
	is_last = l->version == 501 ? (state[1] & LUA_LEFT) <= 1
				    : !(status & l->fresh) == !!d->reentry;
	/* the functions that are called lie on Lua's stack, each above its caller */
	if (unwind_read_down(w, value, sizeof(value), at))
		return lua_refuse(w, UNWIND_END_RUNTIME_MEMORY);
	if ((value[1] & 0xff) != l->closure_tag || unwind_read_far(w, b, 40, value[0]) ||
	    (b[1] & 0xff) != 6 || (l->version == 501 && b[1] >> 16 & 0xff))
		return lua_no_function(w, d, l, is_last);
	at = b[l->closure_proto / 8];
	if (unwind_read_far(w, b, sizeof(b), at))
		return lua_refuse(w, UNWIND_END_RUNTIME_MEMORY);
	if ((b[1] & 0xff) != l->proto_tag)
		return lua_refuse(w, UNWIND_END_RUNTIME_STATE);
	return lua_function(w, d, l, b, at, ci, savedpc, is_last, status & l->tail);
}

static __always_inline int lua_step(struct unwind_walk *w)
{
	__u64 *state = w->state[UNWIND_RUNTIME_LUA];
	const struct lua_data *d = unwind_data(w);

	if (!d || !lua_is_execute(d, unwind_at(w)))
		return UNWIND_NATIVE;
	if (!unwind_is_live(w))
		return unwind_miss(w, UNWIND_RUNTIME_LUA);
	if ((state[1] & ~LUA_BITS) != w->sp << 16 && lua_begin(w, d))
		return UNWIND_ENDED;
	if (!(state[1] & LUA_LEFT))
		return UNWIND_NATIVE;
	switch (d->version) {
	case 501:
		return lua_frame(w, d, &lua_501);
	case 502:
		return lua_frame(w, d, &lua_502);
	case 503:
		return lua_frame(w, d, &lua_503);
	case 504:
		return lua_frame(w, d, &lua_504);
	case 505:
		return lua_frame(w, d, &lua_505);
	}
	return UNWIND_NATIVE;
}

#endif
