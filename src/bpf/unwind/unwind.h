/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_UNWIND_UNWIND_H
#define BPF_UNWIND_UNWIND_H

/*
 * The unwinder: one step from a frame to its caller, over the tables of unwind/abi.h. This source
 * serves both sides. Kernel side: capture.h calls it from bpf_loop(). User space: unwind/walk.c
 * finishes stacks that the kernel side handed over, and tests run it on stored stacks.
 */

#include "bpf/opaque.h"
#include "bpf/unwind/restart.h"
#include "bpf/unwind/find.h"

static __always_inline int unwind_stop(struct unwind_walk *w, enum unwind_end end)
{
	w->end = end;
	return 1;
}

/*
 * Moves on to the caller. What is known of registers stays known for one step: some assembler code
 * finds its frame by one that the functions it calls are written to leave alone.
 *
 * A frame without a return address is the first one of its stack: nothing runs at 0. But only if
 * there is its return address, not where one was guessed to be.
 */
static __always_inline int unwind_return_to(struct unwind_walk *w, __u64 pc, __u64 sp, __u64 fp)
{
	if (!pc)
		return unwind_stop(w, w->guess ? UNWIND_END_NO_RULE : UNWIND_END_ROOT);
	if (sp == w->sp && pc == w->pc)
		return unwind_stop(w, UNWIND_END_STUCK);
	w->pc = pc;
	w->sp = sp;
	w->fp_first &= w->fp == fp;
	w->fp = fp;
	w->known &= -(__u32)w->pc_exact;
	w->pc_exact = 0;
	return 0;
}

/* Whether it is known that no call stands before the address that a function returns to. */
static __always_inline int unwind_is_not_called(const struct unwind_walk *w)
{
	__u64 code;

	return !w->pc_exact && !unwind_read_code(w, &code, sizeof(code), w->pc - 8) &&
	       !unwind_is_called(w, w->pc);
}

/*
 * No table covers the code: rbp, if it looks like a frame pointer, leads to the caller. That it is
 * zero alone says nothing: the outermost frame's is (System V ABI, 3.4.1), and so is that of any
 * code that needs a zero. Where programs and threads begin, rules say so. But a stack that a
 * runtime makes (Erlang's processes) begins with that zero beside an address which a function
 * returns to and no call stands before: nothing has called what is there.
 */
static __always_inline int unwind_by_frame_pointer(struct unwind_walk *w)
{
	__u64 saved[2];

	if (!w->fp_known)
		return unwind_stop(w, UNWIND_END_NO_RULE);
	w->leans |= w->fp_first;
	if (!w->fp && !w->fp_first && unwind_is_not_called(w))
		return unwind_stop(w, UNWIND_END_ROOT);
	if (w->fp < w->sp || w->fp & 7)
		return unwind_stop(w, UNWIND_END_NO_RULE);
	if (unwind_read(w, saved, sizeof(saved), w->fp))
		return unwind_stop(w, UNWIND_END_NO_RULE);
	w->guess = 1;
	w->saved_at = UNWIND_SAVED_UNKNOWN;
	return unwind_return_to(w, saved[1], w->fp + 16, saved[0]);
}

/* The kernel's signal frame has all registers. */
static __always_inline int unwind_signal_frame(struct unwind_walk *w)
{
	struct arch_signal_registers saved;

	if (unwind_read(w, &saved, sizeof(saved), w->sp + ARCH_SIGNAL_REGISTERS_AT))
		return unwind_stop(w, UNWIND_END_MEMORY);
	arch_signal_registers_read(&saved, w->registers);
	w->saved_at = UNWIND_SAVED_IN_REGISTER;
	w->fp_known = 1;
	w->guess = 0;
	if (unwind_return_to(w, ARCH_SIGNAL_PC(&saved), ARCH_SIGNAL_SP(&saved),
			     ARCH_SIGNAL_FP(&saved)))
		return 1;
	w->known = 0xffff;
	w->pc_exact = 1;
	return 0;
}

/* The value of a register in this frame. False: it is not known any more. */
static __always_inline int unwind_register(struct unwind_walk *w, __u32 number, __u64 *value)
{
	number &= ARCH_REGISTERS - 1;
	if (number == ARCH_REG_SP) {
		*value = w->sp;
		return 1;
	}
	if (number == ARCH_REG_FP) {
		w->leans |= w->fp_first;
		*value = w->fp;
		return w->fp_known;
	}
	if (number == ARCH_REG_SAVED && w->saved_at != UNWIND_SAVED_IN_REGISTER)
		return w->saved_at != UNWIND_SAVED_UNKNOWN &&
		       !unwind_read(w, value, sizeof(*value), w->saved_at);
	w->leans |= UNWIND_LEANS_ON_OTHERS;
	*value = w->registers[number];
	return (w->known | 1u << ARCH_REG_SAVED) >> number & 1;
}

/* Notes where the caller's ARCH_REG_SAVED is. */
static __always_inline void unwind_pass_saved(struct unwind_walk *w, const struct unwind_rule *rule,
					      __u64 cfa)
{
	__s64 slot = rule->saved;

	if (!slot)
		return;
	w->saved_at = slot == UNWIND_SAVED_LOST ? UNWIND_SAVED_UNKNOWN : cfa + slot * 8;
}

/* Reads ARCH_REG_SAVED, wherever it is: the memory below the stack pointer is not handed over. */
static __always_inline void unwind_settle_saved(struct unwind_walk *w)
{
	__u64 value;

	if (unwind_register(w, ARCH_REG_SAVED, &value)) {
		w->registers[ARCH_REG_SAVED] = value;
		w->saved_at = UNWIND_SAVED_IN_REGISTER;
	} else {
		w->saved_at = UNWIND_SAVED_UNKNOWN;
	}
}

/*
 * The CFA of a rule that names a register other than rsp and rbp, or memory. Returns 1 if it ends.
 */
static __always_inline int unwind_cfa_by_register(struct unwind_walk *w,
						  const struct unwind_rule *rule, __u64 *cfa)
{
	__u64 index;

	if (!unwind_register(w, rule->cfa_register, cfa))
		return unwind_stop(w, UNWIND_END_UNSUPPORTED);
	/* the function called from here may have changed it */
	w->guess |= !w->pc_exact && !(UNWIND_REGISTERS_KEPT >> (rule->cfa_register & 15) & 1);
	*cfa += (__s64)rule->cfa_offset;
	if (rule->cfa == UNWIND_CFA_REGISTER)
		return 0;
	if (rule->cfa == UNWIND_CFA_INDEXED) {
		if (!unwind_register(w, rule->cfa_register >> 4, &index))
			return unwind_stop(w, UNWIND_END_UNSUPPORTED);
		*cfa += index * 8;
	}
	if (unwind_read(w, cfa, sizeof(*cfa), *cfa))
		return unwind_stop(w, UNWIND_END_MEMORY);
	*cfa += (__s64)rule->deref_offset;
	return 0;
}

/* Applies a rule that says where the CFA is, or that there is no caller. */
static __always_inline int unwind_by_rule(struct unwind_walk *w, const struct unwind_rule *rule)
{
	__u64 cfa, fp = w->fp, saved[2];

	w->guess = rule->guess;
	switch (rule->cfa) {
	case UNWIND_CFA_END:
		return unwind_stop(w, UNWIND_END_ROOT);
	case UNWIND_CFA_SP:
		cfa = w->sp + (__s64)rule->cfa_offset;
		break;
	case UNWIND_CFA_FP:
		if (!w->fp_known)
			return unwind_stop(w, UNWIND_END_UNSUPPORTED);
		w->leans |= w->fp_first;
		cfa = w->fp + (__s64)rule->cfa_offset;
		break;
	case UNWIND_CFA_PLT:
		cfa = w->sp + ((w->pc & 15) >= (__u32)rule->cfa_offset ? 16 : 8);
		break;
	case UNWIND_CFA_REGISTER:
	case UNWIND_CFA_DEREF:
	case UNWIND_CFA_INDEXED:
		if (unwind_cfa_by_register(w, rule, &cfa))
			return 1;
		break;
	case UNWIND_CFA_IN_REGISTER:
		if (!w->pc_exact || !unwind_register(w, rule->cfa_register, &saved[1]))
			return unwind_stop(w, UNWIND_END_UNSUPPORTED);
		return unwind_return_to(w, saved[1], w->sp + (__s64)rule->cfa_offset, fp);
	default:
		return unwind_stop(w, UNWIND_END_UNSUPPORTED);
	}

	unwind_pass_saved(w, rule, cfa);
	/* rbp is often saved right below the return address: then one read gets both */
	if (rule->fp == UNWIND_FP_CFA && rule->fp_offset == -16 &&
	    !unwind_read(w, saved, sizeof(saved), cfa - 16)) {
		w->fp_known = 1;
		return unwind_return_to(w, saved[1], cfa, saved[0]);
	}
	if (unwind_read(w, &saved[1], sizeof(saved[1]), cfa - 8))
		return unwind_stop(w, UNWIND_END_MEMORY);
	if (rule->fp == UNWIND_FP_CFA) {
		__u64 slot = cfa + (__s64)rule->fp_offset;

		/*
		 * Behind the "pop" of rbp the rule still names the place where it was, now below
		 * the stack pointer. If nothing is there any more, rbp itself has the value.
		 */
		if (!unwind_read(w, &fp, sizeof(fp), slot))
			w->fp_known = 1;
		else if (slot >= w->sp)
			return unwind_stop(w, UNWIND_END_MEMORY);
		else
			fp = w->fp;
	} else if (rule->fp == UNWIND_FP_FP) {
		if (!w->fp_known)
			return unwind_stop(w, UNWIND_END_UNSUPPORTED);
		w->leans |= w->fp_first;
		if (unwind_read(w, &fp, sizeof(fp), w->fp + (__s64)rule->fp_offset))
			return unwind_stop(w, UNWIND_END_MEMORY);
	} else if (rule->fp == UNWIND_FP_LOST) {
		w->fp_known = 0;
	}
	return unwind_return_to(w, saved[1], cfa, fp);
}

/* The address of the frame at w->pc: inside the call, if it is one that has called. */
static __always_inline __u64 unwind_at(const struct unwind_walk *w)
{
	return w->pc_exact ? w->pc : w->pc - 1;
}

/* Appends a native frame. Returns 1: there is no room, and the walk has ended. */
static __always_inline int unwind_push(struct unwind_walk *w, __u64 at)
{
	__u64 *frames = unwind_frames(w);
	__u32 count = w->count;

	if (!frames || count >= UNWIND_FRAMES_MAX)
		return unwind_stop(w, UNWIND_END_FRAMES);
	OPAQUE(count);
	frames[count & (UNWIND_FRAMES_MAX - 1)] = w->guess ? at | UNWIND_GUESS : at;
	w->count = count + 1;
	return 0;
}

/*
 * Appends a frame of a runtime: UNWIND_RUNTIME_WORD() and what belongs to it. Returns as
 * unwind_push().
 */
static __always_inline int unwind_push_runtime(struct unwind_walk *w, __u64 word, __u64 detail)
{
	__u64 *frames = unwind_frames(w);
	__u32 count = w->count;

	if (!frames || count >= UNWIND_FRAMES_MAX - 1)
		return unwind_stop(w, UNWIND_END_FRAMES);
	OPAQUE(count);
	frames[count & (UNWIND_FRAMES_MAX - 1)] = word;
	frames[(count + 1) & (UNWIND_FRAMES_MAX - 1)] = detail;
	w->count = count + 2;
	w->has_runtime = 1;
	return 0;
}

/*
 * The current mapping's block of data for its runtime: UNWIND_DATA_BYTES can be read; null: there
 * is none.
 */
static __always_inline const void *unwind_data(const struct unwind_walk *w)
{
	__u32 reference = w->mapping.data, word = reference & (UNWIND_CHUNK_WORDS - 1);
	const __u32 *chunk;

	if (!reference || word > UNWIND_CHUNK_WORDS - UNWIND_DATA_WORDS)
		return 0;
	chunk = unwind_chunk(w, reference >> UNWIND_CHUNK_SHIFT);
	return chunk ? chunk + word : 0;
}

/*
 * Where a step keeps what it has found out about something that lives at least as long as the
 * frames of this stack: a function that calls itself is looked at once. If its key is not that, it
 * is something else, or free.
 */
static __always_inline struct unwind_memo *unwind_memo(struct unwind_walk *w, __u64 key)
{
	return &w->memo[key * 0x9e3779b97f4a7c15ull >> UNWIND_MEMO_SHIFT];
}

/* The walk cannot see this runtime's frames from here: the stack will say so. */
static __always_inline int unwind_miss(struct unwind_walk *w, enum unwind_runtime runtime)
{
	w->missed |= 1u << runtime;
	return UNWIND_NATIVE;
}

/*
 * The frame of the kernel's signal frame: no call stands before the address that a handler returns
 * to.
 */
static __always_inline int unwind_from_handler(struct unwind_walk *w)
{
	__u64 *frames = unwind_frames(w);

	if (frames)
		frames[(w->count - 1) & (UNWIND_FRAMES_MAX - 1)] = w->pc;
	return unwind_signal_frame(w);
}

/*
 * Writes the native frame at w->pc and moves to its caller; key: what its rule is remembered under,
 * which is another address where the runtime must be asked first; 0: it is w->rule.
 */
static __always_inline int unwind_native(struct unwind_walk *w, __u64 key)
{
	__u64 at = unwind_at(w);

	if (unwind_push(w, at))
		return 1;
	if (!key || (key != at && unwind_recall(w, key)))
		return unwind_by_rule(w, &w->rule);
	if (!unwind_find_rule_here(w, at)) {
		unwind_before_guess(w);
		return unwind_by_frame_pointer(w);
	}
	if (w->rule.cfa == UNWIND_CFA_LATER) {
		w->count--; /* user space begins with this frame */
		return unwind_stop(w, UNWIND_END_LATER);
	}
	if (w->rule.cfa == UNWIND_CFA_SIGNAL)
		return unwind_from_handler(w);
	unwind_remember(w, key);
	return unwind_by_rule(w, &w->rule);
}

/* What a walk assumes must be as near to each other as that: user space looks at one address. */
#define UNWIND_ASSUMED_SHIFT 16

/*
 * It is not known (any more) what is mapped at address `at`. A runtime that compiles maps memory
 * all the time, and user space hears that later: until then this is its code, and user space cuts
 * the stack if it turns out not to be.
 */
static __always_inline enum unwind_end unwind_assume(struct unwind_walk *w, __u64 at)
{
	if (!w->jit_runtime || (w->assumed && (w->assumed ^ at) >> UNWIND_ASSUMED_SHIFT))
		return UNWIND_END_LATER;
	w->assumed = at;
	w->mapping.start = at;
	w->mapping.end = at + 1;
	w->mapping.kind = UNWIND_MAPPING_NO_TABLE;
	w->mapping.runtime = w->jit_runtime;
	w->mapping.data = w->jit_data;
	return UNWIND_END_ROOT;
}

/* Finds the mapping of address `at`. UNWIND_END_ROOT, or why the walk cannot go on there. */
static __always_inline enum unwind_end unwind_enter(struct unwind_walk *w, __u64 at)
{
	if (!unwind_enter_mapping(w, at))
		return w->guess ? UNWIND_END_NO_RULE : unwind_assume(w, at);
	if (w->mapping.kind == UNWIND_MAPPING_LATER)
		return UNWIND_END_LATER;
	if (w->doubted && w->mapping.runtime && w->mapping.kind == UNWIND_MAPPING_NO_TABLE)
		return unwind_assume(w, at);
	return UNWIND_END_ROOT;
}

/* What one runtime's step has left behind is not what another one's looks for. */
static __always_inline void unwind_ask(struct unwind_walk *w)
{
	__u32 i;

	if (w->asked == w->mapping.runtime)
		return;
	w->asked = w->mapping.runtime;
	w->piece_at = 0;
	for (i = 0; i < UNWIND_MEMOS; i++)
		w->memo[i].key = 0;
}

static __always_inline int unwind_advance(struct unwind_walk *w)
{
	__u64 at = unwind_at(w), key;
	enum unwind_end end;
	int moved;

	if (!w->again) {
		/*
		 * what a runtime must be asked of is not remembered under its own address: not code
		 * that it has made
		 */
		if (!(w->mapping.runtime && w->mapping.kind == UNWIND_MAPPING_NO_TABLE &&
		      unwind_is_in_mapping(w, at)) &&
		    unwind_recall(w, at))
			return unwind_native_here(w, 0);
		if (w->pc - w->uprobes < UNWIND_UPROBES_BYTES)
			return !unwind_put_back_here(w) && unwind_stop(w, UNWIND_END_RETURN_PROBE);
		end = unwind_enter(w, at);
		if (end)
			return unwind_stop(w, end);
	}
	key = w->mapping.runtime ? at | UNWIND_IS_RUNTIME : at;
	if (w->mapping.runtime && !(w->finished >> w->mapping.runtime & 1)) {
		unwind_ask(w);
		moved = unwind_runtime(w);
		if (moved == UNWIND_ELSEWHERE)
			return 1;
		w->again = moved == UNWIND_AGAIN;
		if (moved == UNWIND_NEVER)
			key = at;
		else if (moved != UNWIND_NATIVE)
			return moved == UNWIND_ENDED;
		/* the runtime does not know this code: nothing else does */
		if (w->assumed == at)
			return unwind_stop(w, UNWIND_END_LATER);
	}
	return unwind_native_here(w, key);
}

/*
 * Writes the frame at w->pc and moves to its caller. Returns 1 when the walk has ended; w->end says
 * why.
 */
static __always_inline int unwind_step(struct unwind_walk *w)
{
	int ended;

	if (w->restart.why)
		return unwind_restart_here(w);
	ended = unwind_advance(w);
	if (w->wants)
		return 1;
	return ended || w->restart.guessed ? unwind_consider_restart(w, ended) : ended;
}

#endif
