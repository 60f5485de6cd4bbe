/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_UNWIND_H
#define BPF_UNWIND_H

/*
 * The unwinder: one step from a frame to its caller, over the tables of unwind_abi.h. This source
 * serves both sides. Kernel side: capture.h calls it from bpf_loop(). User space: unwind/walk.c
 * finishes stacks that the kernel side handed over, and tests run it on stored stacks.
 *
 * Whoever includes it defines before:
 *
 *	const __u32 *unwind_chunk(w, __u32 n)			chunk n of the pool, or null
 *	const struct unwind_rule *unwind_rules(w)		UNWIND_RULES_MAX rules, or null
 *	long unwind_read(w, void *to, __u32 size, __u64 address)	0: memory of the thread was read
 *
 * where w is the struct unwind_walk. Loops have constant bounds and every index is masked: the
 * verifier must see that no table, however wrong, leads outside of its map.
 */

#include "unwind_abi.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/* DWARF numbers of x86-64 registers, System V ABI figure 3.36 */
enum {
	UNWIND_REG_RBX = 3,
	UNWIND_REG_RBP = 6,
	UNWIND_REG_RSP = 7,
	UNWIND_REGISTERS = 16
};

/* Those that the walk follows from frame to frame. */
#define UNWIND_REGISTERS_KEPT (1u << UNWIND_REG_RBX | 1u << UNWIND_REG_RBP | 1u << UNWIND_REG_RSP)

/* Set in a frame's address when it was found by a frame pointer, or by a rule that is a guess. */
#define UNWIND_GUESS (1ull << 63)

struct unwind_walk;
static __always_inline const __u32 *unwind_chunk(const struct unwind_walk *w, __u32 n);
static __always_inline const struct unwind_rule *unwind_rules(const struct unwind_walk *w);
static __always_inline long unwind_read(const struct unwind_walk *w, void *to, __u32 size,
					__u64 address);

/* The state of a walk: where it is, and all that is known of the registers there. */
struct unwind_walk {
	__u64 pc, sp, fp;
	__u64 registers[UNWIND_REGISTERS]; /* by DWARF number, valid where `known` has the bit */
	/*
	 * Where this frame's rbx is saved, or one of enum unwind_rbx. A few functions find their frame
	 * by rbx (the dynamic linker's entry for lazy binding is one), and those that they call have
	 * saved it. So each frame's place is noted, but only read when a rule asks for it.
	 */
	__u64 rbx_at;
	__u32 known; /* without rbx */
	__u8 fp_known;
	__u8 pc_exact; /* pc is the place itself, not the address that a call returns to */
	__u8 guess;    /* the frame at pc was found by a guess */
	__u8 end;      /* enum unwind_end, once unwind_step() returned 1 */
	__u32 count;   /* frames written so far */
	__u32 mappings, mapping_count; /* struct unwind_space's */
	struct unwind_mapping mapping; /* the last one found: the next frame is often in it too */
};

/* The last of a process's mappings that begins at or before address `at`; null: there is none. */
static __always_inline const struct unwind_mapping *
unwind_mapping_before(const struct unwind_walk *w, __u32 mappings, __u32 count, __u64 at)
{
	const __u32 words = sizeof(struct unwind_mapping) / 4;
	const __u32 *chunk = unwind_chunk(w, mappings >> UNWIND_CHUNK_SHIFT);
	__u32 low = mappings, left = count, i, half, word;
	const struct unwind_mapping *m;

	if (!chunk || !count)
		return 0;
	for (i = 0; i < 16; i++) {
		if (left < 2)
			break;
		half = left >> 1;
		word = (low + half * words) & (UNWIND_CHUNK_WORDS - 1);
		if (word > UNWIND_CHUNK_WORDS - words)
			return 0;
		m = (const struct unwind_mapping *)(chunk + word);
		if (m->start <= at)
			low += half * words;
		left -= half;
	}
	word = low & (UNWIND_CHUNK_WORDS - 1);
	if (word > UNWIND_CHUNK_WORDS - words)
		return 0;
	m = (const struct unwind_mapping *)(chunk + word);
	return m->start <= at ? m : 0;
}

/* Finds the mapping of address `at` and leaves it in w->mapping. False: there is none. */
static __always_inline int unwind_find_mapping(struct unwind_walk *w, __u64 at)
{
	const struct unwind_mapping *m;

	if (at - w->mapping.start < w->mapping.end - w->mapping.start)
		return 1;
	m = unwind_mapping_before(w, w->mappings, w->mapping_count, at);
	if (!m || at >= m->end)
		return 0;
	w->mapping = *m;
	return 1;
}

/* The rule for virtual address `at` of w->mapping's image, or null. */
static __always_inline const struct unwind_rule *unwind_find_rule(const struct unwind_walk *w,
								  __u64 at)
{
	__u64 number = (at >> UNWIND_PAGE_SHIFT) - w->mapping.first_page;
	__u32 pc = at & ((1u << UNWIND_PAGE_SHIFT) - 1);
	__u32 word, low, left, half, i, rule;
	const struct unwind_rule *rules;
	const struct unwind_row *row;
	const __u32 *chunk;

	if (number >= w->mapping.pages)
		return 0;
	word = w->mapping.directory + (__u32)number * (sizeof(struct unwind_page) / 4);
	chunk = unwind_chunk(w, word >> UNWIND_CHUNK_SHIFT);
	if (!chunk)
		return 0;
	/* a directory begins at an even word and its entries are two words: none crosses the end */
	word &= UNWIND_CHUNK_WORDS - 2;
	low = chunk[word];
	left = chunk[word + 1];
	if (!low || !left)
		return 0;

	chunk = unwind_chunk(w, low >> UNWIND_CHUNK_SHIFT);
	if (!chunk)
		return 0;
	for (i = 0; i < 17; i++) {
		if (left < 2)
			break;
		half = left >> 1;
		word = (low + half) & (UNWIND_CHUNK_WORDS - 1);
		row = (const struct unwind_row *)(chunk + word);
		/* without a branch: all ones if row->pc <= pc; half of such branches are mispredicted */
		low += half & (__u32)((__s32)(row->pc - pc - 1) >> 31);
		left -= half;
	}
	row = (const struct unwind_row *)(chunk + (low & (UNWIND_CHUNK_WORDS - 1)));
	rules = unwind_rules(w);
	if (!rules)
		return 0;
	rule = row->rule;
	pc -= row->pc;
	for (i = 0; i < UNWIND_RUN_MAX - 1; i++) {
		__u32 until = rules[rule & (UNWIND_RULES_MAX - 1)].until;

		if (!until || pc < until)
			break;
		rule++;
	}
	return &rules[rule & (UNWIND_RULES_MAX - 1)];
}

static __always_inline int unwind_stop(struct unwind_walk *w, enum unwind_end end)
{
	w->end = end;
	return 1;
}

/*
 * Moves on to the caller. What is known of registers stays known for one step: some assembler code
 * finds its frame by one that the functions it calls are written to leave alone.
 */
static __always_inline int unwind_return_to(struct unwind_walk *w, __u64 pc, __u64 sp, __u64 fp)
{
	if (!pc)
		return unwind_stop(w, UNWIND_END_ROOT);
	if (sp == w->sp && pc == w->pc)
		return unwind_stop(w, UNWIND_END_STUCK);
	w->pc = pc;
	w->sp = sp;
	w->fp = fp;
	w->known &= -(__u32)w->pc_exact;
	w->pc_exact = 0;
	return 0;
}

/* No table covers the code: rbp, if it looks like a frame pointer, leads to the caller. */
static __always_inline int unwind_by_frame_pointer(struct unwind_walk *w)
{
	__u64 saved[2];

	if (!w->fp_known)
		return unwind_stop(w, UNWIND_END_NO_RULE);
	/* the outermost frame's rbp is zero: System V ABI, 3.4.1 */
	if (!w->fp)
		return unwind_stop(w, UNWIND_END_ROOT);
	if (w->fp < w->sp || w->fp & 7)
		return unwind_stop(w, UNWIND_END_NO_RULE);
	if (unwind_read(w, saved, sizeof(saved), w->fp))
		return unwind_stop(w, UNWIND_END_NO_RULE);
	w->guess = 1;
	w->rbx_at = UNWIND_RBX_UNKNOWN;
	return unwind_return_to(w, saved[1], w->fp + 16, saved[0]);
}

/*
 * The kernel's signal frame: the stack pointer is at a struct ucontext, whose general registers lie
 * 40 bytes in, in the order of struct sigcontext (asm/sigcontext.h).
 */
static __always_inline int unwind_signal_frame(struct unwind_walk *w)
{
	__u64 saved[17];

	if (unwind_read(w, saved, sizeof(saved), w->sp + 40))
		return unwind_stop(w, UNWIND_END_MEMORY);
	w->registers[8] = saved[0];
	w->registers[9] = saved[1];
	w->registers[10] = saved[2];
	w->registers[11] = saved[3];
	w->registers[12] = saved[4];
	w->registers[13] = saved[5];
	w->registers[14] = saved[6];
	w->registers[15] = saved[7];
	w->registers[5] = saved[8];
	w->registers[4] = saved[9];
	w->registers[3] = saved[11];
	w->registers[1] = saved[12];
	w->registers[0] = saved[13];
	w->registers[2] = saved[14];
	w->rbx_at = UNWIND_RBX_IN_REGISTER;
	w->fp_known = 1;
	w->guess = 0;
	if (unwind_return_to(w, saved[16], saved[15], saved[10]))
		return 1;
	w->known = 0xffff;
	w->pc_exact = 1;
	return 0;
}

/* The value of a register in this frame. False: it is not known any more. */
static __always_inline int unwind_register(const struct unwind_walk *w, __u32 number, __u64 *value)
{
	number &= UNWIND_REGISTERS - 1;
	if (number == UNWIND_REG_RSP) {
		*value = w->sp;
		return 1;
	}
	if (number == UNWIND_REG_RBP) {
		*value = w->fp;
		return w->fp_known;
	}
	if (number == UNWIND_REG_RBX && w->rbx_at != UNWIND_RBX_IN_REGISTER)
		return w->rbx_at != UNWIND_RBX_UNKNOWN &&
		       !unwind_read(w, value, sizeof(*value), w->rbx_at);
	*value = w->registers[number];
	return (w->known | 1u << UNWIND_REG_RBX) >> number & 1;
}

/* Notes where the caller's rbx is. */
static __always_inline void unwind_pass_rbx(struct unwind_walk *w, const struct unwind_rule *rule,
					    __u64 cfa)
{
	__s64 slot = rule->rbx;

	if (!slot)
		return;
	w->rbx_at = slot == UNWIND_RBX_LOST ? UNWIND_RBX_UNKNOWN : cfa + slot * 8;
}

/* Reads rbx, wherever it is: the memory below the stack pointer is not handed over. */
static __always_inline void unwind_settle_rbx(struct unwind_walk *w)
{
	__u64 value;

	if (unwind_register(w, UNWIND_REG_RBX, &value)) {
		w->registers[UNWIND_REG_RBX] = value;
		w->rbx_at = UNWIND_RBX_IN_REGISTER;
	} else {
		w->rbx_at = UNWIND_RBX_UNKNOWN;
	}
}

/* The CFA of a rule that names a register other than rsp and rbp, or memory. Returns 1 if it ends. */
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

/* Applies a rule that says where the CFA is. */
static __always_inline int unwind_by_rule(struct unwind_walk *w, const struct unwind_rule *rule)
{
	__u64 cfa, fp = w->fp, saved[2];

	w->guess = rule->guess;
	switch (rule->cfa) {
	case UNWIND_CFA_SP:
		cfa = w->sp + (__s64)rule->cfa_offset;
		break;
	case UNWIND_CFA_FP:
		if (!w->fp_known)
			return unwind_stop(w, UNWIND_END_UNSUPPORTED);
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

	unwind_pass_rbx(w, rule, cfa);
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
		 * Behind the "pop" of rbp the rule still names the place where it was, now below the stack
		 * pointer. If nothing is there any more, rbp itself has the value.
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
		if (unwind_read(w, &fp, sizeof(fp), w->fp + (__s64)rule->fp_offset))
			return unwind_stop(w, UNWIND_END_MEMORY);
	} else if (rule->fp == UNWIND_FP_LOST) {
		w->fp_known = 0;
	}
	return unwind_return_to(w, saved[1], cfa, fp);
}

/*
 * Writes the frame at w->pc to frames (UNWIND_FRAMES_MAX of them) and moves to its caller. Returns 1
 * when the walk has ended; w->end says why.
 */
static __always_inline int unwind_step(struct unwind_walk *w, __u64 *frames)
{
	__u64 at = w->pc_exact ? w->pc : w->pc - 1;
	const struct unwind_rule *rule;
	__u32 count = w->count;

	if (count >= UNWIND_FRAMES_MAX)
		return unwind_stop(w, UNWIND_END_FRAMES);
	if (!unwind_find_mapping(w, at))
		return unwind_stop(w, w->guess ? UNWIND_END_NO_RULE : UNWIND_END_LATER);
	if (w->mapping.kind == UNWIND_MAPPING_LATER)
		return unwind_stop(w, UNWIND_END_LATER);

	frames[count & (UNWIND_FRAMES_MAX - 1)] = w->guess ? at | UNWIND_GUESS : at;
	w->count = count + 1;

	rule = 0;
	if (w->mapping.kind == UNWIND_MAPPING_TABLE)
		rule = unwind_find_rule(w, at - w->mapping.bias);
	if (!rule || rule->cfa == UNWIND_CFA_NONE)
		return unwind_by_frame_pointer(w);
	if (rule->cfa == UNWIND_CFA_END)
		return unwind_stop(w, UNWIND_END_ROOT);
	if (rule->cfa == UNWIND_CFA_SIGNAL) {
		/* no call stands before the address that a handler returns to */
		frames[count & (UNWIND_FRAMES_MAX - 1)] = w->pc;
		return unwind_signal_frame(w);
	}
	return unwind_by_rule(w, rule);
}

#endif
