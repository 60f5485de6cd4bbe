/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_LUAJIT_LUAJIT_H
#define BPF_RUNTIME_LUAJIT_LUAJIT_H

/*
 * Frames of LuaJIT 2.1 with 64-bit references (GC64), on x86-64 (see runtimes.h).
 *
 * The interpreter is one piece of assembler code. Code that enters it from C makes a C frame of 80
 * bytes, a "cframe" (lj_frame.h), in which lua_State lies; lua_State leads to the innermost one,
 * each to the next outer one. Functions that call one another stay in one cframe; their frames lie
 * on lua_State's own stack:
 *
 *	base - 2: the function	base - 1: the link: what is to be done at its return
 *
 * A link is an address of byte code, behind the caller's instruction, or the distance to the frame
 * below, with a type in its low bits. Types C and CP are those with which the interpreter was
 * entered: there the frames of a cframe end.
 *
 * Compiled code ("traces") runs in the same cframe, with more room below: so the cframe is looked
 * for on the stack, and known by lua_State, which knows it. global_State's jit_base is then the
 * base of the function that the trace has begun in, or gone to; functions that were inlined into it
 * have no frames on lua_State's stack. A frame with the place in the code stands for them: user
 * space reads which they are (runtime/luajit/trace.c).
 *
 * What is remembered in w->state: [0] the next link; [1] the address of byte code that belongs to
 * its function, how far the cframe is from the stack pointer (or where it is looked for next), and
 * LUAJIT_ACTIVE, FIRST or LAST: these belong to the native frame here.
 */

#include "bpf/runtime/kept.h"
#include "bpf/unwind/unwind.h"

#define LUAJIT_FROM  struct unwind_walk
#define LUAJIT_APART UNWIND_APART

static __always_inline long luajit_get(struct unwind_walk *w, void *to, __u32 size, __u64 address)
{
	return unwind_read_far(w, to, size, address);
}

static __always_inline __u64 luajit_recall(struct unwind_walk *w, __u64 key)
{
	const struct unwind_memo *memo = unwind_memo(w, key);

	return key && memo->key == key ? memo->words[0] : 0;
}

static __always_inline void luajit_remember(struct unwind_walk *w, __u64 key, __u64 value)
{
	struct unwind_memo *memo = unwind_memo(w, key);

	memo->key = key;
	memo->words[0] = value;
}

static __always_inline long luajit_repeat(__u32 count, long (*step)(__u32 i, void *context),
					  void *context)
{
	return unwind_repeat(count, step, context);
}

#include "bpf/runtime/luajit/place.h"

/*
 * cframe: results wanted at 8, lua_State at 16, byte code at 24, the next outer one at 32; it ends
 * at 80
 */
#define LUAJIT_CFRAME 80
/* Room of a trace below its cframe: at most 256 slots of 4 bytes, and what it saves. */
#define LUAJIT_ROOM 68

/* Bytes between frames, at most. */
#define LUAJIT_DELTA_MAX (1u << 24)

#define LUAJIT_PC	 ((1ull << 48) - 1)
#define LUAJIT_FAR_SHIFT 48
#define LUAJIT_FAR(s)	 ((__u32)((s) >> LUAJIT_FAR_SHIFT) & 127) /* in units of 16 bytes */
#define LUAJIT_ACTIVE	 (1ull << 55)
#define LUAJIT_LAST	 (1ull << 56) /* all of them are pushed */
#define LUAJIT_FIRST	 (1ull << 57) /* none of the native frame's functions has been looked at */

/* Of a lua_State: from offset 8 to 88. */
struct luajit_state {
	__u64 head, g, gclist, base, top, maxstack, stack, openupval, env, cframe;
};

static __always_inline int luajit_refuse(struct unwind_walk *w, enum unwind_end end)
{
	unwind_stop(w, end);
	return UNWIND_ENDED;
}

/* Where a cframe may be, this many units above the stack pointer. */
static __always_inline __u64 luajit_place(const struct unwind_walk *w, __u32 units)
{
	return ((w->sp + 15) & ~15ull) + 16ull * units;
}

/* Whether a cframe is at x: its lua_State says so, or went on from there last. */
static __always_inline int luajit_is_cframe(struct unwind_walk *w, __u64 x, int first,
					    struct luajit_state *lua)
{
	__u64 at = w->state[UNWIND_RUNTIME_LUAJIT][0], frame;
	__u32 i;

	if (unwind_read(w, &frame, sizeof(frame), x + 16) || !frame || frame & 7 || frame >> 47 ||
	    unwind_read_far(w, lua, sizeof(*lua), frame + 8) ||
	    (lua->head >> 8 & 0xff) != LUAJIT_THREAD)
		return 0;
	if (first && at >= lua->stack && at <= lua->maxstack)
		return 1;
	frame = lua->cframe & ~3ull;
	for (i = 0; i < 3; i++) {
		if (frame == x)
			return 1;
		if (!frame || unwind_read_far(w, &frame, sizeof(frame), frame + 32))
			return 0;
		frame &= ~3ull;
	}
	return 0;
}

/*
 * Moves to the code that has entered the interpreter with the cframe at x, which has saved rbp and
 * rbx at its end.
 */
static __always_inline int luajit_leave(struct unwind_walk *w, __u64 x)
{
	__u64 saved[2];

	if (unwind_read(w, saved, sizeof(saved), x + LUAJIT_CFRAME - 16))
		return luajit_refuse(w, UNWIND_END_MEMORY);
	w->saved_at = x + LUAJIT_CFRAME - 24;
	w->fp_known = 1;
	w->guess = 0;
	return unwind_return_to(w, saved[1], x + LUAJIT_CFRAME, saved[0]) ? UNWIND_ENDED
									  : UNWIND_MOVED;
}

/*
 * The interpreter without its functions. The unwind information tells of its cframe only: in one of
 * its own subroutines, an address of its own lies below that.
 */
static __always_inline int luajit_native(struct unwind_walk *w, const struct luajit_data *d)
{
	__u64 at = unwind_at(w), back;

	if (!w->pc_exact || unwind_read(w, &back, sizeof(back), w->sp) ||
	    back - d->vm >= d->vm_size)
		return UNWIND_NATIVE;
	return unwind_push(w, at) ? UNWIND_ENDED : luajit_leave(w, w->sp + 8);
}

/*
 * Words between the stack pointer and the return address, by the instructions with which a cframe
 * is made and undone.
 */
static __always_inline __u32 luajit_words_to_return(__u32 code)
{
	if ((code & 0xffffff) == 0xec8348)
		return 4; /* sub rsp, … */
	switch (code & 0xff) {
	case 0x55: /* push rbp */
	case 0xc3: /* ret */
		return 0;
	case 0x53: /* push rbx */
	case 0x5d: /* pop rbp */
		return 1;
	case 0x5b: /* pop rbx */
		return 2;
	case 0x41:
		switch (code >> 8 & 0xff) {
		case 0x57: /* push r15 */
			return 2;
		case 0x56: /* push r14 */
		case 0x5f: /* pop r15 */
			return 3;
		case 0x5e: /* pop r14 */
			return 4;
		}
	}
	return LUAJIT_CFRAME / 8 - 1;
}

/* Whether a call of the interpreter stands before that address. */
static __always_inline int luajit_is_called_at(const struct unwind_walk *w,
					       const struct luajit_data *d, __u64 back)
{
	__u64 code;

	return back - d->image < d->image_size &&
	       !unwind_read_code(w, &code, sizeof(code), back - sizeof(code)) &&
	       (code >> 24 & 0xff) == 0xe8 &&
	       back + (__s64)(__s32)(code >> 32) - d->vm < d->vm_size;
}

/*
 * In the interpreter, where it makes or undoes a cframe, lua_State does not know of that, and none
 * of its functions is there: moves to the code that has entered it. UNWIND_NATIVE: it is elsewhere.
 */
static __always_inline int luajit_edge(struct unwind_walk *w, const struct luajit_data *d)
{
	__u64 saved[2] = {w->fp}, sp = w->sp;
	__u32 code, words;

	if (!w->pc_exact || unwind_read_code(w, &code, sizeof(code), w->pc))
		return UNWIND_NATIVE;
	words = luajit_words_to_return(code);
	if ((words ? unwind_read(w, saved, sizeof(saved), sp + 8 * words - 8)
		   : unwind_read(w, &saved[1], sizeof(saved[1]), sp)) ||
	    !luajit_is_called_at(w, d, saved[1]))
		return UNWIND_NATIVE;
	if (unwind_push(w, unwind_at(w)))
		return UNWIND_ENDED;
	if (words > 1)
		w->saved_at = sp + 8 * words - 16;
	w->state[UNWIND_RUNTIME_LUAJIT][1] = 0;
	return unwind_return_to(w, saved[1], sp + 8 * words + 8, saved[0]) ? UNWIND_ENDED
									   : UNWIND_MOVED;
}

/* The native frame's functions are done. */
static __always_inline int luajit_done(struct unwind_walk *w, __u64 x)
{
	w->state[UNWIND_RUNTIME_LUAJIT][1] = 0;
	if (x == w->sp)
		return UNWIND_NATIVE;
	/* one of the interpreter's own subroutines; compiled code has no frame of its own */
	if (x - w->sp < 16 && unwind_push(w, unwind_at(w)))
		return UNWIND_ENDED;
	return luajit_leave(w, x);
}

static __always_inline int luajit_is_slot(const struct luajit_state *lua, __u64 at)
{
	return at > lua->stack && at <= lua->maxstack && !(at & 7);
}

/*
 * Whether a GCobj is a function, and one of Lua's: those that are built in have another ffid than
 * 0.
 */
static __always_inline int luajit_is_lua(const __u64 *object)
{
	return (object[1] >> 8 & 0xffff) == LUAJIT_FUNCTION;
}

/*
 * Whether the frame with that base has this link, and is not that of a C function which has just
 * called Lua.
 */
static __always_inline int luajit_returns_by(struct unwind_walk *w, const struct luajit_state *lua,
					     __u64 base, __u64 link)
{
	__u64 frame[2], object[2];

	if (!luajit_is_slot(lua, base) || unwind_read_far(w, frame, sizeof(frame), base - 16) ||
	    frame[1] != link)
		return 0;
	return base != lua->base ||
	       (!unwind_read_far(w, object, sizeof(object), frame[0] & LUAJIT_POINTER) &&
		luajit_is_lua(object));
}

/*
 * Whether lua_State itself stands where the cframe at x has the next instruction, as it does until
 * there is one.
 */
static __always_inline int luajit_is_new(struct unwind_walk *w, __u64 x)
{
	__u64 pair[2];

	return !unwind_read(w, pair, sizeof(pair), x + 16) && pair[0] == pair[1];
}

/*
 * While the interpreter is being entered from C, or left for it, the called function's frame is not
 * written yet, or its results lie over it: none belongs to the cframe. The register for the next
 * instruction then has the link that is to be, for a moment with the new base added; or what
 * becomes the base to go back to: the link without its type, that less the base, and the negative
 * of that. Returns the base further out; 0: the interpreter is not there.
 */
static __always_inline __u64 luajit_border(struct unwind_walk *w, const struct luajit_state *lua,
					   __u64 x, __u64 pc)
{
	__u32 kind = pc & 7;
	__u64 base = 0;

	if (luajit_is_slot(lua, -pc))
		return -pc;
	unwind_register(w, 1, &base);
	if (kind == LUAJIT_LINK_C || kind == LUAJIT_LINK_CP) {
		if (luajit_returns_by(w, lua, base, pc))
			return base - (pc - kind);
		return luajit_is_new(w, x) &&
				       (pc < LUAJIT_DELTA_MAX || luajit_is_slot(lua, pc - kind))
			       ? lua->base
			       : 0;
	}
	if (kind & 3)
		return 0;
	if (pc < LUAJIT_DELTA_MAX)
		return luajit_returns_by(w, lua, base, pc | LUAJIT_LINK_C) ||
				       luajit_returns_by(w, lua, base, pc | LUAJIT_LINK_CP)
			       ? base - (pc - kind)
			       : 0;
	return !kind && luajit_is_slot(lua, pc) ? pc : 0;
}

/* The base of the current function, where nothing knows better than lua_State. */
static __always_inline __u64 luajit_base(struct unwind_walk *w, const struct luajit_data *d,
					 const struct luajit_state *lua, int in_vm)
{
	__u64 value;

	if (!in_vm) {
		if (!unwind_read_far(w, &value, sizeof(value), lua->g + d->cur_l + 8) &&
		    luajit_is_slot(lua, value))
			return value;
		return lua->base;
	}
	/*
	 * In the interpreter it is in rdx; rbp keeps it while a function runs that is not told of
	 * lua_State.
	 */
	if (w->pc_exact ? unwind_register(w, 1, &value) : unwind_register(w, ARCH_REG_FP, &value))
		if (luajit_is_slot(lua, value))
			return value;
	return lua->base;
}

/*
 * No cframe is at that place; the next one is tried in a step of its own, as loops are dear to
 * verify.
 */
static __always_inline int luajit_try_next(struct unwind_walk *w, const struct luajit_data *d,
					   int is_jit, __u32 tried)
{
	__u64 *state = w->state[UNWIND_RUNTIME_LUAJIT];

	if (tried + 1 < LUAJIT_ROOM) {
		state[1] = (__u64)(tried + 1) << LUAJIT_FAR_SHIFT;
		return UNWIND_AGAIN;
	}
	state[1] = 0;
	return is_jit ? luajit_refuse(w, UNWIND_END_RUNTIME_CODE) : luajit_native(w, d);
}

/* The frame for what was inlined into compiled code. Returns as unwind_push(). */
static __always_inline int luajit_push_trace(struct unwind_walk *w, __u64 g)
{
	__u64 at = unwind_at(w), code[LUAJIT_CODE / 8];

	/* it can be read: the thread has executed it */
	if (unwind_read_code(w, code, sizeof(code), at & ~(LUAJIT_CODE - 1ull)))
		return 0;
	return unwind_push_runtime(w,
				   UNWIND_RUNTIME_WORD(UNWIND_RUNTIME_LUAJIT, LUAJIT_IN_TRACE, at),
				   g >> 3 << LUAJIT_CODE_BITS | luajit_code_sum(code));
}

/* Looks for the cframe that the native frame here runs in. */
static __always_inline int luajit_begin(struct unwind_walk *w, const struct luajit_data *d,
					int is_jit)
{
	__u64 *state = w->state[UNWIND_RUNTIME_LUAJIT], pc = 0, base, x;
	/* not on the stack, which is short */
	struct luajit_state *lua = (struct luajit_state *)w->piece;
	__u32 tried = LUAJIT_FAR(state[1]);
	__s32 results;
	int in_vm, moved;

	x = luajit_place(w, tried);
	if (!luajit_is_cframe(w, x, !tried && !is_jit, lua)) {
		moved = tried || is_jit ? UNWIND_NATIVE : luajit_edge(w, d);
		return moved == UNWIND_NATIVE ? luajit_try_next(w, d, is_jit, tried) : moved;
	}
	/*
	 * its own subroutines have their return address below; at a trace's exit there is much more
	 */
	in_vm = !is_jit && x - w->sp < 16;
	if (!luajit_is_slot(lua, state[0]))
		state[0] = luajit_base(w, d, lua, in_vm) - 8;
	if (unwind_read_far(w, &results, sizeof(results), x + 8))
		return luajit_refuse(w, UNWIND_END_RUNTIME_MEMORY);
	/* entered to run a C function: no frame belongs to it */
	if (results < 0)
		return luajit_done(w, x);
	if (is_jit && luajit_push_trace(w, lua->g))
		return UNWIND_ENDED;
	if (!in_vm || !unwind_register(w, ARCH_REG_SAVED, &pc))
		pc = 0;
	base = pc ? luajit_border(w, lua, x, pc) : 0;
	if (base) {
		state[0] = base - 8;
		state[1] = 0;
		return luajit_native(w, d);
	}
	state[1] =
		(pc & LUAJIT_PC) | (__u64)tried << LUAJIT_FAR_SHIFT | LUAJIT_ACTIVE | LUAJIT_FIRST;
	return UNWIND_AGAIN;
}

/*
 * Not inlined, for the stack of BPF programs. Returns as luajit_read_place(), which leaves in
 * w->piece what it has read.
 */
UNWIND_APART int luajit_read_frame(struct unwind_walk *w, __u64 address, __u32 place,
				   struct luajit_found *found)
{
	_Static_assert(sizeof(struct luajit_place) <= UNWIND_PIECE_BYTES, "room for what is read");
	if (!w || !found)
		return -1;
	return luajit_read_place(w, (struct luajit_place *)w->piece, address, place, found);
}

/* What was read is kept: by the time that names are asked for, the program may have freed it. */
UNWIND_APART int luajit_keep(struct unwind_walk *w, const struct luajit_found *found, __u64 key)
{
	const struct luajit_place *p;
	struct luajit_kept *kept;
	__u64 chunk;
	__u32 i;

	if (!w || !found)
		return 0;
	p = (const struct luajit_place *)w->piece;
	kept = unwind_keep(key);
	if (!kept)
		return 0;
	_Static_assert(sizeof(*kept) <= UNWIND_KEPT_BYTES, "room for what is kept");
	chunk = p->proto[LUAJIT_PROTO_CHUNKNAME] + LUAJIT_STRING_HEAD;
	/* without its end: it is not known how far the string goes */
	if (unwind_read_far(w, kept->chunk, sizeof(kept->chunk), chunk) &&
	    unwind_read_far(w, kept->chunk, LUAJIT_TEXT, chunk))
		kept->chunk[0] = 0;
	if (found->how == LUAJIT_CALLS_CONSTANT)
		for (i = 0; i < LUAJIT_TEXT / 8; i++)
			((__u64 *)kept->callee)[i] = p->text[2 + i];
	kept->first = found->first;
	kept->lines = p->proto[LUAJIT_PROTO_LINES] >> 32;
	kept->line = found->line;
	kept->op = found->op;
	kept->how = found->how;
	/* last: it may be looked at, or be made room of for another one, at any time */
	kept->key = key;
	return 0;
}

/*
 * Pushes the frame of a Lua function: pc is its byte code's begin, at where it is; 0: not known.
 * The function at the address to return to is its caller: if that lies elsewhere, one of them was
 * not what the walk took it for.
 */
static __always_inline int luajit_push(struct unwind_walk *w, __u64 pc, __u64 at, __u32 called)
{
	__u64 address = pc - LUAJIT_PROTO_SIZE, key, detail;
	struct luajit_found found;
	__u32 place = LUA_NO_PC;
	int failed;

	if (at > pc)
		place = (at - pc) / 4 <= LUA_NO_PC ? (at - pc) / 4 - 1 : LUA_NO_PC;
	else if (at && at != pc)
		return luajit_refuse(w, UNWIND_END_RUNTIME_STATE);
	/* a function that calls itself is looked at once */
	key = address << (64 - LUAJIT_ADDRESS_BITS) | place;
	detail = luajit_recall(w, key);
	if (!detail) {
		failed = luajit_read_frame(w, address, place, &found);
		if (failed)
			return luajit_refuse(w, failed == -1 ? UNWIND_END_RUNTIME_MEMORY
							     : UNWIND_END_RUNTIME_STATE);
		detail = found.check << LUA_PC_BITS | place;
		luajit_keep(w, &found, detail);
		luajit_remember(w, key, detail);
	}
	if (unwind_push_runtime(w, UNWIND_RUNTIME_WORD(UNWIND_RUNTIME_LUAJIT, called, address),
				detail))
		return UNWIND_ENDED;
	return UNWIND_AGAIN;
}

/* Where the register for the next instruction says that the interpreter is. */
enum luajit_stage {
	LUAJIT_INSIDE,
	LUAJIT_BETWEEN,
	LUAJIT_ELSEWHERE,
};

/*
 * While the interpreter enters or leaves a function, its frame is half done: the link to its caller
 * is not written yet, or results are where the function stood. The register then has what the link
 * should be. What calls C is in none of these, and may have put something else there. (object: the
 * words of what stands for the function, as far as they could be read.)
 */
static __always_inline enum luajit_stage luajit_stage(struct unwind_walk *w, const __u64 *object,
						      __u64 link, __u64 pc)
{
	__u64 head, code = object[4];
	__u32 instruction;

	if (luajit_is_lua(object) &&
	    !unwind_read_far(w, &head, sizeof(head), code - LUAJIT_PROTO_SIZE + 8) &&
	    pc - code <= 4 * (head >> 32))
		return LUAJIT_INSIDE;
	if (pc == (link & LUAJIT_PC))
		return LUAJIT_BETWEEN;
	return w->pc_exact && !(pc & 3) &&
			       !unwind_read_far(w, &instruction, sizeof(instruction), pc - 4) &&
			       (instruction & 0xff) - BC_CALLM <= BC_ITERN - BC_CALLM
		       ? LUAJIT_BETWEEN
		       : LUAJIT_ELSEWHERE;
}

static __always_inline __u32 luajit_type_of(__u64 link)
{
	return link & 3 ? link & 7 : LUAJIT_LINK_LUA;
}

/*
 * Where the link at slot leads from a function that is at pc: how many bytes down the next frame's
 * link is, and at which byte code that frame goes on, 0: at none. Returns 0, or why that cannot be
 * told.
 */
static __always_inline int luajit_follow(struct unwind_walk *w, __u64 slot, __u64 link, __u64 pc,
					 __u64 *down, __u64 *next)
{
	__u32 type = luajit_type_of(link), instruction;

	*next = 0;
	if (type == LUAJIT_LINK_LUA) {
		/* the call says from which register on its function's frame is */
		*next = link;
		if (unwind_read_far(w, &instruction, sizeof(instruction), link - 4))
			return UNWIND_END_RUNTIME_STATE;
		*down = 8 * (2 + (instruction >> 8 & 0xff));
		return 0;
	}
	*down = link & ~7ull;
	if (type == LUAJIT_LINK_CONT && unwind_read_down(w, next, sizeof(*next), slot - 16))
		return UNWIND_END_RUNTIME_MEMORY;
	/* the same function again, below its arguments */
	if (type == LUAJIT_LINK_VARG)
		*next = pc;
	return 0;
}

/* The frame whose link is at state[0]. */
static __always_inline int luajit_frame(struct unwind_walk *w, __u64 x)
{
	__u64 *state = w->state[UNWIND_RUNTIME_LUAJIT], slot = state[0], pc = state[1] & LUAJIT_PC;
	__u64 value[2], *object = w->piece, next, down;
	__u32 type, kind, is_between = 0;
	enum luajit_stage stage;
	long failed;
	int end;

	if (unwind_read_down(w, value, sizeof(value), slot - 8))
		return luajit_refuse(w, UNWIND_END_RUNTIME_MEMORY);
	failed = unwind_read_far(w, object, 40, value[0] & LUAJIT_POINTER);
	if (state[1] & LUAJIT_FIRST && pc) {
		stage = luajit_stage(w, object, value[1], pc);
		is_between = stage == LUAJIT_BETWEEN;
		if (stage == LUAJIT_ELSEWHERE)
			pc = 0;
	}
	state[1] &= ~LUAJIT_FIRST;
	if (is_between)
		value[1] = pc;
	else if (failed)
		return luajit_refuse(w, UNWIND_END_RUNTIME_STATE);
	end = luajit_follow(w, slot, value[1], pc, &down, &next);
	if (end)
		return luajit_refuse(w, (enum unwind_end)end);
	kind = object[1] >> 8 & 0xff;
	/* the lowest frame is lua_State's own */
	if (kind == LUAJIT_THREAD && !down && !is_between)
		return luajit_done(w, x);
	if ((kind != LUAJIT_FUNCTION && kind != LUAJIT_THREAD && !is_between) || !down ||
	    down > LUAJIT_DELTA_MAX)
		return luajit_refuse(w, UNWIND_END_RUNTIME_STATE);
	state[0] = slot - down;
	state[1] = (state[1] & ~LUAJIT_PC) | (next & LUAJIT_PC);
	type = luajit_type_of(value[1]);
	if (type == LUAJIT_LINK_C || type == LUAJIT_LINK_CP)
		state[1] = (state[1] & ~LUAJIT_ACTIVE) | LUAJIT_LAST;
	if (is_between || !luajit_is_lua(object) || type == LUAJIT_LINK_VARG)
		return UNWIND_AGAIN;
	return luajit_push(w, object[4], pc,
			   type == LUAJIT_LINK_LUA || type == LUAJIT_LINK_CONT ? LUA_CALLED_BY_LUA
									       : LUA_CALLED_BY_C);
}

static __always_inline int luajit_step(struct unwind_walk *w)
{
	__u64 *state = w->state[UNWIND_RUNTIME_LUAJIT], at = unwind_at(w), x;
	const struct luajit_data *d = unwind_data(w);
	int is_jit;

	if (!d)
		return UNWIND_NATIVE;
	is_jit = at - d->image >= d->image_size;
	if (!is_jit && at - d->vm >= d->vm_size)
		return UNWIND_NATIVE;
	/* compiled code is where a jump of 32 bits reaches it (lj_mcode.c) */
	if (is_jit && at - d->vm + (1ull << 31) >= 1ull << 32)
		return UNWIND_NATIVE;
	if (!unwind_is_live(w)) {
		unwind_miss(w, UNWIND_RUNTIME_LUAJIT);
		return is_jit ? luajit_refuse(w, UNWIND_END_RUNTIME_LATER) : luajit_native(w, d);
	}
	if (!(state[1] & (LUAJIT_ACTIVE | LUAJIT_LAST)))
		return luajit_begin(w, d, is_jit);
	x = luajit_place(w, LUAJIT_FAR(state[1]));
	if (!(state[1] & LUAJIT_ACTIVE))
		return luajit_done(w, x);
	return luajit_frame(w, x);
}

#endif
