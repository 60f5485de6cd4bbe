/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_HOTSPOT_HOTSPOT_H
#define BPF_RUNTIME_HOTSPOT_HOTSPOT_H

/*
 * Frames of HotSpot (see runtimes.h). All of its code lies in the code cache: blobs, found by a map
 * of segments (share/memory/heap.cpp, CodeHeap::find_block_for). A blob (share/code/codeBlob.hpp)
 * says what its frames look like on x86-64 (cpu/x86/frame_x86.hpp):
 *
 *	nmethod		compiled Java, or the wrapper of a native method. frame_size words; the
 *			uppermost are the saved rbp and the return address. rbp is a register like
 *			any other
 *	interpreter	one blob. rbp is the frame pointer, the Method* at rbp - 24; the caller's
 *			stack pointer at rbp - 8, since an interpreted function extends the
 *			arguments of its caller
 *	runtime stubs	frame_size words, as compiled code
 *	others		(StubRoutines, adapters between compiled and interpreted calls, vtable
 *			stubs) no frame, so that the return address is at the stack pointer, or one
 *			by the frame pointer
 *
 * Only a frame that was interrupted, at the leaf or below a signal handler, can be in a prologue or
 * an epilogue. All others are at a call, where frames are what their blob says. A frame of compiled
 * code that is deoptimized while it waits for a call has its return address replaced by that of a
 * handler; the original one is on its stack.
 *
 * A return address must lie in the code cache; only the call stub, by which native code calls Java,
 * returns to elsewhere.
 */

#include "bpf/runtime/hotspot/interpreter.h"
#include "bpf/runtime/hotspot/seen.h"

/* How far above the stack pointer of a stub its return address is looked for, in words. */
#define HOTSPOT_STUB_PUSHES 9

/*
 * Whether a call stands before pc: call rel32; call reg; call [reg + disp8]; call [reg + disp32].
 */
static __always_inline int hotspot_is_called(const struct unwind_walk *w, __u64 pc)
{
	__u64 before;

	if (unwind_read_code(w, &before, sizeof(before), pc - 8))
		return 0;
	return (before >> 24 & 0xff) == 0xe8 || (before >> 48 & 0xf8ff) == 0xd0ff ||
	       (before >> 40 & 0xf8ff) == 0x50ff || (before >> 16 & 0xf8ff) == 0x90ff;
}

/*
 * A return address that a call has left behind, or the interpreter, which jumps and pushes by
 * itself.
 */
UNWIND_APART int hotspot_is_return(const struct unwind_walk *w, const struct hotspot_data *d,
				   __u64 pc)
{
	if (!w || !d || !hotspot_is_code(d, pc))
		return 0;
	return pc - d->interpreter_start < d->interpreter_end - d->interpreter_start ||
	       hotspot_is_called(w, pc);
}

/* Where a frame was interrupted: which part is on the stack. */
enum hotspot_place {
	HOTSPOT_WHOLE,	 /* the whole frame */
	HOTSPOT_UNSAVED, /* all, but rbp was not stored yet */
	HOTSPOT_PUSHED,	 /* rbp, and above it the return address */
	HOTSPOT_BARE,	 /* the return address */
};

/*
 * In a prologue, the frame is made by "sub rsp"; "push rbp" stands before it, or "mov [rsp + n],
 * rbp" behind (MachPrologNode in cpu/x86/x86_64.ad, C1_MacroAssembler::build_frame). What follows
 * up to the end of the prologue (the barrier of nmethods) has at most 40 bytes.
 */
static __always_inline enum hotspot_place hotspot_in_prologue(const __u8 *code, __u32 left)
{
	__u64 found = 0;
	__u32 i;

	if (left > 40)
		return HOTSPOT_BARE;
	/* 48 81 ec, 48 83 ec; without a branch: the verifier goes both ways at each */
	for (i = 0; i < 40; i++) {
		__u32 other = (code[1 + i] ^ 0x48) | (((code[2 + i] & 0xfd) ^ 0x81) << 8) |
			      ((code[3 + i] ^ 0xec) << 16);

		found |= (__u64)((other - 1) >> 31) << i;
	}
	found &= (1ull << left) - 1;
	if (found)
		return found & 1 && code[0] == 0x55 ? HOTSPOT_PUSHED : HOTSPOT_BARE;
	/* mov [rsp + n], rbp */
	if (code[1] == 0x48 && code[2] == 0x89 && (code[3] == 0x6c || code[3] == 0xac) &&
	    code[4] == 0x24)
		return HOTSPOT_UNSAVED;
	return HOTSPOT_WHOLE;
}

/*
 * In an epilogue: "add rsp; pop rbp", then the poll for safepoints, then "ret". The poll is a test
 * of memory, or since JDK 16 a comparison of rsp with a jump (MachEpilogNode).
 */
static __always_inline enum hotspot_place hotspot_in_epilogue(const __u8 *at)
{
	if (at[0] == 0x5d)
		return HOTSPOT_PUSHED;
	if (at[0] == 0xc3 || at[0] == 0xc2)
		return HOTSPOT_BARE;
	if (at[0] == 0x49 && at[1] == 0x3b && at[2] == 0xa7 && at[7] == 0x0f && at[8] == 0x87)
		return HOTSPOT_BARE;
	if (at[0] == 0x0f && at[1] == 0x87 && at[6] == 0xc3)
		return HOTSPOT_BARE;
	if (at[0] == 0x85 && at[1] == 0x05 && at[6] == 0xc3)
		return HOTSPOT_BARE;
	if (at[0] == 0x41 && at[1] == 0x85 && at[2] == 0x02 && at[3] == 0xc3)
		return HOTSPOT_BARE;
	if (at[0] == 0x4d && at[1] == 0x8b && at[2] == 0x97 && at[7] == 0x41 && at[8] == 0x85 &&
	    at[10] == 0xc3)
		return HOTSPOT_BARE;
	return HOTSPOT_WHOLE;
}

UNWIND_APART int hotspot_interrupted(const struct unwind_walk *w, const struct hotspot_blob *b)
{
	__s64 offset;
	__u8 code[48];

	if (!w || !b)
		return HOTSPOT_WHOLE;
	offset = w->pc - b->code;
	if (unwind_read_code(w, code, sizeof(code), w->pc - 1))
		return HOTSPOT_WHOLE;
	if (b->complete > 0 && offset < b->complete)
		return hotspot_in_prologue(code, b->complete - offset);
	return hotspot_in_epilogue(code + 1);
}

/* A search for a return address on the stack, upwards. */
struct hotspot_search {
	struct unwind_walk *walk;
	const struct hotspot_data *data;
	__u64 sp;	    /* of what is looked at next, then of the one that was found */
	__u64 below, value; /* the word before, and the one there */
	int end;	    /* 0: it was found; or why not */
};

/* For unwind_repeat(). */
static long hotspot_look(__u32 i, void *context)
{
	struct hotspot_search *search = context;

	(void)i;
	search->below = search->value;
	if (unwind_read(search->walk, &search->value, 8, search->sp)) {
		search->end = UNWIND_END_MEMORY;
		return 1;
	}
	if (hotspot_is_return(search->walk, search->data, search->value)) {
		search->end = 0;
		return 1;
	}
	search->sp += 8;
	return 0;
}

/*
 * The frame does not end in a return address: some intrinsics push, or leave early. Looks for one
 * at the stack pointer, and near the end of the frame.
 */
static __always_inline int hotspot_search(struct unwind_walk *w, const struct hotspot_data *d,
					  const struct hotspot_blob *b)
{
	struct hotspot_search search = {w, d, w->sp, 0, 0, UNWIND_END_RUNTIME_CODE};

	hotspot_look(0, &search);
	if (!search.end)
		return hotspot_return(w, search.value, w->sp + 8, w->fp, 1);
	search.sp = w->sp + b->frame_size - 8;
	unwind_read(w, &search.value, 8, search.sp);
	search.sp += 8;
	unwind_repeat(5, hotspot_look, &search);
	if (search.end)
		return hotspot_end(w, UNWIND_END_RUNTIME_CODE);
	return hotspot_return(w, search.value, search.sp + 8, search.below, 1);
}

/* Moves from a frame of known size, at a call or interrupted, to its caller. */
static __always_inline int hotspot_by_size(struct unwind_walk *w, const struct hotspot_data *d,
					   const struct hotspot_blob *b)
{
	int place = w->pc_exact ? hotspot_interrupted(w, b) : HOTSPOT_WHOLE;
	__u64 pair[2] = {}, end = w->sp + b->frame_size;

	if (place == HOTSPOT_BARE)
		end = w->sp + 8;
	else if (place == HOTSPOT_PUSHED)
		end = w->sp + 16;
	if (place == HOTSPOT_BARE ? unwind_read(w, &pair[1], 8, end - 8)
				  : unwind_read(w, pair, sizeof(pair), end - 16))
		return hotspot_end(w, UNWIND_END_MEMORY);
	if (!hotspot_is_code(d, pair[1]))
		return hotspot_search(w, d, b);
	if (place == HOTSPOT_WHOLE || place == HOTSPOT_PUSHED) {
		w->fp_known = 1;
		return hotspot_return(w, pair[1], end, pair[0], 0);
	}
	return hotspot_return(w, pair[1], end, w->fp, 0);
}

HOTSPOT_APART int hotspot_compiled(struct unwind_walk *w, const struct hotspot_data *d,
				   const struct hotspot_blob *b)
{
	__u32 variant = b->level == 0 ? HOTSPOT_NATIVE : b->level == 4 ? HOTSPOT_C2 : HOTSPOT_C1;
	int is_deoptimized =
		!w->pc_exact && (w->pc == b->deopt || w->pc == b->deopt_mh) && b->original_pc;
	__u64 at = unwind_at(w), original, detail;

	if (is_deoptimized) {
		if (unwind_read(w, &original, sizeof(original), w->sp + b->original_pc))
			return hotspot_end(w, UNWIND_END_MEMORY);
		at = original - 1;
	}
	if (!b->frame_size || at < b->code)
		return hotspot_end(w, UNWIND_END_RUNTIME_STATE);
	detail = (__u64)b->compile_id << 32 | (__u32)(at - b->code);
	if (!w->pc_exact && !is_deoptimized && b->compile_id)
		hotspot_remember(w, d, at, b, variant, detail);
	if (unwind_push_runtime(w,
				hotspot_guess(w) |
					UNWIND_RUNTIME_WORD(UNWIND_RUNTIME_HOTSPOT, variant, b->at),
				detail))
		return UNWIND_ENDED;
	return hotspot_by_size(w, d, b);
}

/*
 * The same, of a place that has called and was seen before. UNWIND_NATIVE: it must be looked at as
 * a new one.
 */
HOTSPOT_APART int hotspot_again(struct unwind_walk *w, const struct hotspot_data *d, __u64 at)
{
	struct hotspot_seen seen = hotspot_recall(w, at);
	__u64 pair[2], end = w->sp + seen.frame_size;

	if (!seen.frame_size || !hotspot_is_still(w, d, seen.blob, seen.detail >> 32) ||
	    unwind_read(w, pair, sizeof(pair), end - 16) || !hotspot_is_code(d, pair[1]))
		return UNWIND_NATIVE;
	if (unwind_push_runtime(w,
				hotspot_guess(w) | UNWIND_RUNTIME_WORD(UNWIND_RUNTIME_HOTSPOT,
								       seen.variant, seen.blob),
				seen.detail))
		return UNWIND_ENDED;
	w->fp_known = 1;
	return hotspot_return(w, pair[1], end, pair[0], 0);
}

/*
 * A frame with rbp as its frame pointer. Java may have been called from anywhere, by the call stub.
 */
static __always_inline int hotspot_by_frame_pointer(struct unwind_walk *w,
						    const struct hotspot_data *d)
{
	__u64 saved[2];

	if (!w->fp_known || w->fp & 7 || w->fp < w->sp || w->fp - w->sp > HOTSPOT_FRAME_MAX ||
	    unwind_read(w, saved, sizeof(saved), w->fp) || !saved[1])
		return hotspot_end(w, UNWIND_END_RUNTIME_CODE);
	return hotspot_return(w, saved[1], w->fp + 16, saved[0],
			      w->pc != d->call_stub && !hotspot_is_code(d, saved[1]));
}

/* Whether code begins with "push rbp; mov rbp, rsp". */
static __always_inline int hotspot_enters(const struct unwind_walk *w, __u64 code)
{
	__u32 begin;

	return !unwind_read_code(w, &begin, sizeof(begin), code) &&
	       (begin == 0xec8b4855 || begin == 0xe5894855);
}

/*
 * Code without a frame of known size, or interrupted while it makes one. What nmethods call on
 * entry pushes -1 and then makes a frame by rbp. Elsewhere the return address is at the stack
 * pointer, or a few words above it, since some push registers; or rbp leads to it; or it is in rax,
 * where adapters keep it while they move the arguments. The JVM itself calls a few: then the return
 * address lies outside of the code cache.
 */
static __always_inline int hotspot_frameless(struct unwind_walk *w, const struct hotspot_data *d,
					     const struct hotspot_blob *b)
{
	__u64 pair[2] = {}, saved[2] = {}, sender = w->registers[13], sp = w->sp;
	struct hotspot_search search = {w, d, sp, 0, 0, UNWIND_END_RUNTIME_CODE};
	__u32 near = w->fp_known && w->fp >= sp && w->fp - sp < HOTSPOT_FRAME_MAX && !(w->fp & 7);

	near = near && !unwind_read(w, saved, sizeof(saved), w->fp);
	if (near && saved[1] == ~0ull && !unwind_read(w, pair, 8, w->fp + 16) &&
	    hotspot_is_return(w, d, pair[0]))
		return hotspot_return(w, pair[0], w->fp + 24, saved[0], 0);
	near = near && hotspot_is_return(w, d, saved[1]);
	/* a blob of one piece: rbp is what its beginning says, up to the "ret" behind "leave" */
	if (near && b->is_piece) {
		near = w->pc - b->code >= 4 && hotspot_enters(w, b->code);
		if (near && !unwind_read_code(w, pair, 1, w->pc) && (pair[0] & 0xff) != 0xc3)
			return hotspot_return(w, saved[1], w->fp + 16, saved[0], 0);
	}
	if (unwind_read(w, pair, 8, sp))
		return hotspot_end(w, UNWIND_END_MEMORY);
	if (!hotspot_is_return(w, d, pair[0]) && w->pc_exact && hotspot_is_called(w, pair[0]) &&
	    unwind_enter_mapping(w, pair[0]))
		return hotspot_return(w, pair[0], sp + 8, w->fp, 0);
	unwind_repeat(HOTSPOT_STUB_PUSHES, hotspot_look, &search);
	if (search.end == UNWIND_END_MEMORY)
		return hotspot_end(w, UNWIND_END_MEMORY);
	/* right above the rbp that was pushed */
	if (!search.end)
		return hotspot_return(w, search.value, search.sp + 8,
				      search.sp > sp && search.sp - 8 == w->fp ? search.below
									       : w->fp,
				      search.sp > sp + 8);
	if (near)
		return hotspot_return(w, saved[1], w->fp + 16, saved[0], !w->pc_exact);
	if (w->pc_exact && hotspot_is_return(w, d, w->registers[0]))
		return hotspot_return(w, w->registers[0],
				      sender - w->sp < HOTSPOT_FRAME_MAX ? sender : w->sp, w->fp,
				      0);
	return hotspot_by_frame_pointer(w, d);
}

HOTSPOT_APART int hotspot_stub(struct unwind_walk *w, const struct hotspot_data *d,
			       const struct hotspot_blob *b)
{
	__u64 offset = (__u32)(unwind_at(w) - b->code);

	if (unwind_push_runtime(w,
				hotspot_guess(w) | UNWIND_RUNTIME_WORD(UNWIND_RUNTIME_HOTSPOT,
								       HOTSPOT_STUB, b->at),
				b->name << 32 | offset))
		return UNWIND_ENDED;
	if (w->pc == d->call_stub) {
		/* for hotspot_restart() */
		w->state[UNWIND_RUNTIME_HOTSPOT][0] = w->fp;
		return hotspot_by_frame_pointer(w, d);
	}
	if (!b->frame_size ||
	    (w->pc_exact && (b->complete < 0 || (__s64)(w->pc - b->code) < b->complete)))
		return hotspot_frameless(w, d, b);
	return hotspot_by_size(w, d, b);
}

/*
 * A virtual thread that was suspended gets back only its innermost frames; the return address of
 * the last of them is a barrier, which fetches more (runtime/continuationFreezeThaw.cpp). Its other
 * frames are in the heap: one frame stands for all of them. Below lies the frame of
 * Continuation.enterSpecial, then those of the carrier thread.
 */
static __always_inline int hotspot_barrier(struct unwind_walk *w, const struct hotspot_data *d)
{
	if (unwind_push_runtime(w,
				hotspot_guess(w) |
					UNWIND_RUNTIME_WORD(UNWIND_RUNTIME_HOTSPOT, HOTSPOT_STUB,
							    d->return_barrier),
				0))
		return UNWIND_ENDED;
	return hotspot_return(w, d->entry_return, w->sp, w->fp, 0);
}

static __always_inline int hotspot_step(struct unwind_walk *w)
{
	const struct hotspot_data *d = unwind_data(w);
	int moved = UNWIND_NATIVE, end;
	struct hotspot_blob b = {};
	__u64 at = unwind_at(w);

	if (!d || (w->assumed == at && !hotspot_is_code(d, at)))
		return UNWIND_NATIVE;
	if (w->pc - d->interpreter_start < d->interpreter_end - d->interpreter_start)
		return hotspot_interpreted(w, d);
	if (w->pc == d->return_barrier && d->entry_return && !w->pc_exact)
		return hotspot_barrier(w, d);
	if (!w->pc_exact)
		moved = hotspot_again(w, d, at);
	if (moved != UNWIND_NATIVE)
		return moved;
	/*
	 * where its blob was, if that is still there, its block is the one that this address is in
	 */
	b.at = hotspot_recall(w, at).blob;
	if (!b.at || hotspot_read_blob(w, d, &b, 1) || at < b.code || at >= b.block_end) {
		end = hotspot_find(w, d, at, &b.at);
		if (!end)
			end = hotspot_read_blob(w, d, &b, 0);
		if (end)
			return hotspot_end(w, end);
		hotspot_remember(w, d, at, &b, 0, 0);
	}
	return b.is_nmethod ? hotspot_compiled(w, d, &b) : hotspot_stub(w, d, &b);
}

#endif
