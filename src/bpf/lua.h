/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_LUA_H
#define BPF_LUA_H

/*
 * Frames of Lua (see runtimes.h).
 *
 * luaV_execute() is the interpreter's loop. A call from Lua to Lua stays in it: the loop goes on with the new
 * function. Only C code that calls Lua (pcall, sort, a metamethod, the resume of a coroutine) enters it anew. So
 * one native frame of luaV_execute stands for one or more Lua functions: those from its current CallInfo
 * outwards, up to the one with which it was entered.
 *
 *	5.3 to 5.5: luaV_execute keeps the current CallInfo in a variable, which a register holds: exact at any
 *		instruction. The entering one has the bit CIST_FRESH. Where that register is not one that the walk
 *		follows, but lua_State can be had: as 5.2.
 *	5.2: the current CallInfo is lua_State's; those in between have the bit CIST_REENTRY. C functions that the
 *		loop has called stand above its own.
 *	5.1: CallInfos are an array; how many of them are luaV_execute's is in its variable nexeccalls.
 *
 * The structures are those of lstate.h and lobject.h of each version. Which register, and where luaV_execute
 * is, user space finds in its code (src/runtime/lua_execute.c).
 *
 * Where it is lua_State's, the walk may come when a call or a return is half done: lua_State has another CallInfo
 * already than luaV_execute. Then frames stand at the wrong one of two luaV_executes, but all are there, in the right order.
 *
 * What is remembered in w->state: [0] the next CallInfo; [1] the stack pointer of the luaV_execute that it
 * belongs to, shifted, and LUA_LEFT, how many frames it has left (LUA_TO_FRESH: up to the entering one).
 */

#include "lua_abi.h"
#include "unwind.h"

#define LUA_LEFT     0x7fffull
#define LUA_TO_FRESH 0x7fffull
#define LUA_FIRST    0x8000ull	/* the innermost CallInfo of the innermost luaV_execute */
#define LUA_PUSHED   0x10000ull /* one at least; the stack pointer's low bits are 0 */
#define LUA_BITS     0x7ffffull

/* Where things are in the structures of a version. Known when this is compiled: no look-ups, few reads. */
struct lua_layout {
	__u32 version;
	__u32 ci_size, ci_previous, ci_savedpc, ci_status;
	__u32 closure_proto, closure_tag, proto_tag;
	__u32 proto_code, proto_source, proto_size, proto_line;
	__u32 status_fresh, status_tail, status_hook, status_finalizer;
};

#define LUA_LAYOUT_501                                                                       \
	{                                                                                    \
		501, 40, 0, 24, 36, 0x20, 6, 9, 0x18, 0x40, 0x50, 0x60, 0, 0xffffffff, 0, 0, \
	}
#define LUA_LAYOUT_502                                                                            \
	{                                                                                         \
		502, 64, 16, 56, 34, 0x18, 0x46, 9, 0x18, 0x48, 0x58, 0x68, 1 << 2, 1 << 6, 2, 0, \
	}
#define LUA_LAYOUT_503                                                                      \
	{                                                                                   \
		503, 72, 16, 40, 66, 0x18, 0x46, 9, 0x38, 0x68, 0x18, 0x28, 1 << 3, 1 << 5, \
			1 << 2, 1 << 8,                                                     \
	}
#define LUA_LAYOUT_504                                                                       \
	{                                                                                    \
		504, 64, 16, 32, 62, 0x18, 0x46, 10, 0x40, 0x70, 0x18, 0x2c, 1 << 2, 1 << 5, \
			1 << 3, 1 << 7,                                                      \
	}
#define LUA_LAYOUT_505                                                                         \
	{                                                                                      \
		505, 64, 16, 32, 60, 0x18, 0x46, 10, 0x40, 0x70, 0x18, 0x2c, 1 << 16, 1 << 22, \
			1 << 20, 1 << 24,                                                      \
	}

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

/* lua_State: tt at 8, ci at 0x20 (5.1: 0x28), stack_last and stack behind. */
#define LUA_TAG_THREAD 8

/*
 * Finds the CallInfo to begin with for the luaV_execute that the walk is at. Leaves 0 in w->state[..][0] where
 * there is none. Returns 0, or 1: the walk has ended.
 */
static __always_inline int lua_begin(struct unwind_walk *w, const struct lua_data *d)
{
	__u64 *state = w->state[UNWIND_RUNTIME_LUA], value, lua[8], next = state[0];
	__u64 left = LUA_TO_FRESH | (next ? 0 : LUA_FIRST);
	__u32 calls;
	int end;

	state[1] = w->sp << 16;
	if (lua_is_outside(w, d))
		return 0;
	end = lua_variable(w, d, &value);
	if (end)
		return unwind_stop(w, (enum unwind_end)end);
	if (!d->by_state) {
		state[0] = value;
		state[1] |= left;
		return 0;
	}
	if (unwind_read_far(w, lua, sizeof(lua), value + 8))
		return unwind_stop(w, UNWIND_END_RUNTIME_MEMORY);
	if ((lua[0] & 0xff) != LUA_TAG_THREAD)
		return unwind_stop(w, UNWIND_END_RUNTIME_STATE);
	if (d->version == 501) {
		/* ci at 0x28, base_ci at 0x50 is behind what was read: the array holds no other state's */
		if (unwind_read_far(w, &calls, sizeof(calls), w->sp + (__s64)d->calls_at))
			return unwind_stop(w, UNWIND_END_RUNTIME_MEMORY);
		/* 0: it is just returning */
		if (!calls)
			return 0;
		if (calls >= LUA_TO_FRESH)
			return unwind_stop(w, UNWIND_END_RUNTIME_STATE);
		left = calls | (left & LUA_FIRST);
		/* lua[8] would be end_ci, at 0x48 */
		if (!next || next > lua[4] ||
		    unwind_read_far(w, &value, sizeof(value), value + 0x50) || next < value)
			next = lua[4];
	} else {
		__u64 stack_last = d->version < 504 ? lua[5] : lua[4];
		__u64 stack = d->version < 504 ? lua[6] : lua[5];

		/* the CallInfo to go on with is this state's if its function lies in this state's stack */
		if (!next || unwind_read_far(w, &value, sizeof(value), next) || value < stack ||
		    value >= stack_last)
			next = lua[3];
	}
	state[0] = next;
	state[1] |= left;
	return 0;
}

/* 5.1: OP_CALL stays in luaV_execute, so a function that it has called is not the one that was entered with. */
#define LUA_501_OP_CALL	 28
#define LUA_CALLED_INNER 0xff

/* 5.1: who has called the function of the CallInfo behind `previous`: enum lua_called, or INNER. */
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

/* Who has called the function of a CallInfo with which luaV_execute was entered. */
static __always_inline __u32 lua_caller(struct unwind_walk *w, const struct lua_layout *l,
					__u64 previous)
{
	__u64 word;
	__u32 status;

	if (l->version == 501)
		return lua_caller_501(w, previous);
	if (unwind_read_far(w, &word, sizeof(word), previous + (l->ci_status & ~7u)))
		return LUA_CALLED_BY_C;
	status = word >> (l->ci_status & 7) * 8 & (l->version == 505 ? 0xffffffff : 0xffff);
	if (l->version == 502)
		status &= 0xff;
	if (status & l->status_hook)
		return LUA_CALLED_AS_HOOK;
	if (status & l->status_finalizer)
		return LUA_CALLED_AS_FINALIZER;
	if (l->version == 502)
		return status & 1 ? LUA_CALLED_BY_LUA : LUA_CALLED_BY_C;
	if (l->version == 505)
		return status >> 15 & 1 ? LUA_CALLED_BY_C : LUA_CALLED_BY_LUA;
	/* 5.3: bit 1 is CIST_LUA; 5.4: CIST_C */
	return (status >> 1 & 1) == (l->version == 503) ? LUA_CALLED_BY_LUA : LUA_CALLED_BY_C;
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
	__u32 size = b[l->proto_size / 8] >> (l->proto_size & 7) * 8;
	__u32 line = b[l->proto_line / 8] >> (l->proto_line & 7) * 8;

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
static __always_inline __u64 lua_live_pc(const struct unwind_walk *w, const struct lua_data *d,
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
 * The CallInfo is no Lua function's: it belongs to a C function that luaV_execute has called, or to a Lua function
 * that is just returning, whose results have taken its place on the stack.
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
		     unwind_read_far(w, &base, sizeof(base), lua + 0x50) || state[0] < base))) {
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
	__u32 size = b[l->proto_size / 8] >> (l->proto_size & 7) * 8, called = LUA_CALLED_BY_LUA;
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
	status = b[l->ci_status / 8] >> (l->ci_status & 7) * 8;
	status &= l->version == 501 || l->version == 505 ? 0xffffffff
		  : l->version == 502			 ? 0xff
							 : 0xffff;
	at = b[l->version == 501 ? 1 : 0];
	state[0] = l->version == 501 ? ci - l->ci_size : b[l->ci_previous / 8];
	is_last = l->version == 501 ? (state[1] & LUA_LEFT) <= 1
				    : !(status & l->status_fresh) == !!d->reentry;
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
	return lua_function(w, d, l, b, at, ci, savedpc, is_last, status & l->status_tail);
}

static __always_inline int lua_step(struct unwind_walk *w)
{
	const struct lua_layout l1 = LUA_LAYOUT_501, l2 = LUA_LAYOUT_502, l3 = LUA_LAYOUT_503,
				l4 = LUA_LAYOUT_504, l5 = LUA_LAYOUT_505;
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
		return lua_frame(w, d, &l1);
	case 502:
		return lua_frame(w, d, &l2);
	case 503:
		return lua_frame(w, d, &l3);
	case 504:
		return lua_frame(w, d, &l4);
	case 505:
		return lua_frame(w, d, &l5);
	}
	return UNWIND_NATIVE;
}

#endif
