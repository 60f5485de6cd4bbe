/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_HOTSPOT_INTERPRETER_H
#define BPF_RUNTIME_HOTSPOT_INTERPRETER_H

/*
 * Frames of HotSpot's interpreter: which method one runs, and the way to its caller; see hotspot.h.
 * A method is a Method and the ConstMethod it leads to (share/oops/method.hpp, constMethod.hpp).
 */

#include "bpf/runtime/hotspot/frame.h"

/*
 * Bytes of arguments that a method handle may have taken off the stack of its interpreted caller.
 */
#define HOTSPOT_POPPED 64

/* The word of a ConstMethod's beginning that byte `at` lies in. */
static __always_inline __u32 hotspot_word(const __u32 *words, __u32 at)
{
	return words[at >> 2 & (HOTSPOT_CONST_METHOD / 4 - 1)];
}

/* So much of w->piece is for methods. */
#define HOTSPOT_NEAR_BYTES 432

/*
 * Has size bytes from `address` on in w->piece, if they can be read together with what lies before
 * them, or were already. Returns the word that they begin at; negative: they are not there.
 *
 * Mostly a ConstMethod lies right before its Method, and those of a class one behind the other
 * (Method::allocate): one read serves several.
 */
static __always_inline int hotspot_near(struct unwind_walk *w, __u64 address, __u32 size, int read)
{
	__u64 page = address & ~4095ull, from = address + size - HOTSPOT_NEAR_BYTES;

	if (address & 7)
		return -1;
	if (!w->piece_at || address - w->piece_at > HOTSPOT_NEAR_BYTES - size) {
		if (!read)
			return -1;
		if (from < page && address + size <= page + HOTSPOT_NEAR_BYTES)
			from = page;
		w->piece_at = 0;
		if (unwind_read_code(w, w->piece, HOTSPOT_NEAR_BYTES, from))
			return -1;
		w->piece_at = from;
	}
	return (address - w->piece_at) >> 3;
}

/* Reads where a Method's ConstMethod is, and its beginning. 0: that was done. */
static __always_inline int hotspot_read_method(struct unwind_walk *w, const struct hotspot_data *d,
					       __u64 method, __u64 *address,
					       __u32 words[HOTSPOT_CONST_METHOD / 4])
{
	int at = hotspot_near(w, method + d->const_method, 8, 1), i;

	if (at >= 0)
		*address = w->piece[at & (UNWIND_PIECE_BYTES / 8 - 1)];
	else if (unwind_read_code(w, address, 8, method + d->const_method))
		return -1;
	at = hotspot_near(w, *address, HOTSPOT_CONST_METHOD, 0);
	if (at < 0)
		return unwind_read_code(w, words, HOTSPOT_CONST_METHOD, *address) ? -1 : 0;
#ifdef __clang__
#pragma unroll
#endif
	for (i = 0; i < HOTSPOT_CONST_METHOD / 8; i++) {
		__u64 word = w->piece[(at + i) & (UNWIND_PIECE_BYTES / 8 - 1)];

		words[2 * i] = (__u32)word;
		words[2 * i + 1] = word >> 32;
	}
	return 0;
}

/* A sum of what a method and its class are called. 0: it could not be read. */
UNWIND_APART int hotspot_read_names(struct unwind_walk *w, const struct hotspot_data *d,
				    __u64 constants, __u32 name, __u64 *sum)
{
	struct hotspot_symbol *s;
	__u64 symbol, holder;

	if (!w || !d || !sum)
		return 0;
	s = (struct hotspot_symbol *)(w->piece + HOTSPOT_NEAR_BYTES / 8);
	*sum = 0;
	/* the lowest bit of a constant is a mark */
	if (unwind_read_code(w, &symbol, sizeof(symbol), constants + d->pool_size + name * 8) ||
	    unwind_read_code(w, s, sizeof(*s), symbol & ~1ull))
		return 0;
	*sum = hotspot_add_symbol(1, s, d->symbol_length, d->symbol_body);
	if (!unwind_read_code(w, &holder, sizeof(holder), constants + d->pool_holder) &&
	    !unwind_read_code(w, &symbol, sizeof(symbol), holder + d->class_name) &&
	    !unwind_read_code(w, s, sizeof(*s), symbol))
		*sum = hotspot_add_symbol(*sum, s, d->symbol_length, d->symbol_body);
	return 0;
}

/* What must be known of a method. */
enum hotspot_method_word {
	HOTSPOT_METHOD_CONST, /* the address of its ConstMethod */
	HOTSPOT_METHOD_SUM,
	HOTSPOT_METHOD_CODE, /* bytes of bytecode */
};

/* Finds that out. Null: it cannot be read. */
static __always_inline const struct unwind_memo *
hotspot_know_method(struct unwind_walk *w, const struct hotspot_data *d, __u64 method)
{
	struct unwind_memo *memo = unwind_memo(w, method);
	/* not on the stack, which is short; behind what hotspot_framed() has read */
	__u32 *words = (__u32 *)(w->aside + 10);
	__u64 address, constants, names = 0;
	__u16 code_size, name;

	if (method && memo->key == method)
		return memo;
	if (hotspot_read_method(w, d, method, &address, words))
		return 0;
	constants = hotspot_word(words, d->constants) | (__u64)hotspot_word(words, d->constants + 4)
								<< 32;
	code_size = hotspot_word(words, d->code_size) >> (d->code_size & 3) * 8;
	name = hotspot_word(words, d->name_index) >> (d->name_index & 3) * 8;
	hotspot_read_names(w, d, constants, name, &names);
	memo->key = method;
	memo->words[HOTSPOT_METHOD_CONST] = address;
	memo->words[HOTSPOT_METHOD_SUM] =
		hotspot_checksum(address, constants, code_size, name, names);
	memo->words[HOTSPOT_METHOD_CODE] = code_size;
	return memo;
}

/* Appends an interpreted function. Returns 1: the walk has ended. */
static __always_inline int hotspot_push_method(struct unwind_walk *w, const struct hotspot_data *d,
					       __u64 method, __u64 bcp)
{
	const struct unwind_memo *known = hotspot_know_method(w, d, method);
	__u64 bci, sum = 0;

	/*
	 * a frame that a deoptimization is just filling has none yet: it cannot be named, but
	 * passed
	 */
	if (known) {
		bci = bcp - known->words[HOTSPOT_METHOD_CONST] - d->const_method_size;
		/* native methods have no bytecode; at the entry, there is no place in it yet */
		if (bci >= known->words[HOTSPOT_METHOD_CODE])
			bci = 0;
		sum = known->words[HOTSPOT_METHOD_SUM] << 16 | bci;
	}
	return unwind_push_runtime(
		w,
		hotspot_guess(w) |
			UNWIND_RUNTIME_WORD(UNWIND_RUNTIME_HOTSPOT, HOTSPOT_INTERPRETED, method),
		sum);
}

/*
 * The entry of the interpreter that offset lies in, before its frame has its method; null: it is in
 * none.
 */
static __always_inline const struct hotspot_entry *hotspot_find_entry(const struct hotspot_data *d,
								      __u64 offset)
{
	__u32 i;

	for (i = 0; i < HOTSPOT_ENTRIES_MAX; i++)
		if (offset - d->entries[i].start < d->entries[i].framed - d->entries[i].start)
			return &d->entries[i];
	return 0;
}

/*
 * Interrupted where a frame of the interpreter is made, with the Method* in rbx and the caller's
 * stack pointer in r13 (TemplateInterpreterGenerator::generate_normal_entry and
 * generate_fixed_frame).
 */
static __always_inline int hotspot_entering(struct unwind_walk *w, const struct hotspot_data *d,
					    __u64 offset, __u64 enter, __u64 pop)
{
	__u64 pair[2], sender = w->registers[13], pc = w->registers[0], fp = w->fp;

	if (hotspot_push_method(w, d, w->registers[ARCH_REG_SAVED], 0))
		return UNWIND_ENDED;
	if (offset > pop && offset < enter)
		goto have;
	if (unwind_read(w, pair, sizeof(pair), offset > enter + 1 ? w->fp : w->sp))
		return hotspot_end(w, UNWIND_END_MEMORY);
	pc = pair[0];
	if (offset > enter) {
		pc = pair[1];
		fp = pair[0];
	}
	/* "lea r13" may have put the place in the bytecode there already, when rbp - 8 has it */
	if (offset > enter + 1 && w->sp < w->fp &&
	    unwind_read(w, &sender, sizeof(sender), w->fp - 8))
		return hotspot_end(w, UNWIND_END_MEMORY);
have:
	if (!hotspot_is_code(d, pc) || sender + HOTSPOT_POPPED - w->sp > HOTSPOT_FRAME_MAX)
		return hotspot_end(w, UNWIND_END_RUNTIME_STATE);
	return hotspot_return(w, pc, sender > w->sp ? sender : w->sp, fp, 0);
}

/* The value of a register by its number in code. */
static __always_inline __u64 hotspot_register(const struct unwind_walk *w, __u32 number)
{
	/* rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi have others in DWARF */
	if (number < 8)
		number = 0x54673120u >> number * 4;
	/* the compiler knows that it is small, but old verifiers do not follow */
	asm volatile("" : "+r"(number));
	return w->registers[number & (ARCH_REGISTERS - 1)];
}

/*
 * Interrupted where the interpreter leaves a function: behind "leave", when rbp is the caller's
 * again. The code is
 *
 *	[mov byte [r15 + n], 0]	since JDK 24
 *	pop A; mov rsp, B
 *	[cmp rsp, [r15 + n]; jb; mov qword [r15 + n], 0]	since JDK 20
 *	jmp A
 *
 * where A is the return address and B the caller's stack pointer
 * (InterpreterMacroAssembler::remove_activation and those that call it). False: it is not there.
 */
static __always_inline int hotspot_leaving(const struct unwind_walk *w,
					   const struct hotspot_data *d, __u64 *pc, __u64 *sp)
{
	__u8 code[28]; /* from two bytes before on */
	__u32 at = 2, last;

	if (unwind_read_code(w, code, sizeof(code), w->pc - 2))
		return 0;
	if (code[2] == 0x41 && code[3] == 0xc6 && code[4] == 0x87 && code[9] == 0)
		at = 10;
	last = at + (code[at] == 0x41);
	if ((code[last] & 0xf8) == 0x58 && (code[last + 1] & 0xfe) == 0x48 &&
	    code[last + 2] == 0x8b && (code[last + 3] & 0xf8) == 0xe0) {
		*sp = hotspot_register(w, (code[last + 1] & 1) * 8 + (code[last + 3] & 7));
		return !unwind_read(w, pc, sizeof(*pc), w->sp) && hotspot_is_code(d, *pc);
	}
	if ((code[2] & 0xfe) == 0x48 && code[3] == 0x8b && (code[4] & 0xf8) == 0xe0 &&
	    (code[1] & 0xf8) == 0x58) {
		*sp = hotspot_register(w, (code[2] & 1) * 8 + (code[4] & 7));
		*pc = hotspot_register(w, (code[0] == 0x41) * 8 + (code[1] & 7));
		return hotspot_is_code(d, *pc);
	}
	at = code[2] == 0x49 && code[3] == 0x3b && code[4] == 0xa7   ? 22
	     : code[2] == 0x72 && code[4] == 0x49 && code[5] == 0xc7 ? 15
	     : code[2] == 0x49 && code[3] == 0xc7 && code[4] == 0x87 ? 13
								     : 2;
	last = at + (code[at] == 0x41);
	if (code[last] != 0xff || (code[last + 1] & 0xf8) != 0xe0)
		return 0;
	*sp = w->sp;
	*pc = hotspot_register(w, (code[at] == 0x41) * 8 + (code[last + 1] & 7));
	return hotspot_is_code(d, *pc);
}

/* A frame of the interpreter, by rbp. */
static __always_inline int hotspot_framed(struct unwind_walk *w, const struct hotspot_data *d)
{
	__u64 *frame = w->aside, bcp; /* from rbp - 64 on */

	if (!w->fp_known || w->fp & 7 || w->fp < w->sp || w->fp - w->sp > HOTSPOT_FRAME_MAX)
		return hotspot_end(w, UNWIND_END_RUNTIME_STATE);
	if (unwind_read(w, frame, 80, w->fp - 64))
		return hotspot_end(w, UNWIND_END_MEMORY);
	bcp = d->bcp_slot == 7 ? frame[1] : frame[0];
	/* in r13, while the interpreter runs it; stored when it calls */
	if (w->pc_exact)
		bcp = w->registers[13];
	if (hotspot_push_method(w, d, frame[5], bcp))
		return UNWIND_ENDED;
	if (!hotspot_is_code(d, frame[9]) || frame[7] + HOTSPOT_POPPED - w->fp > HOTSPOT_FRAME_MAX)
		return hotspot_end(w, UNWIND_END_RUNTIME_STATE);
	return hotspot_return(w, frame[9], frame[7] > w->fp + 16 ? frame[7] : w->fp + 16, frame[8],
			      0);
}

HOTSPOT_APART int hotspot_interpreted(struct unwind_walk *w, const struct hotspot_data *d)
{
	__u64 offset = unwind_at(w) - d->interpreter_start, pc, sp;
	const struct hotspot_entry *entry;

	if (!w->pc_exact)
		return hotspot_framed(w, d);
	entry = hotspot_find_entry(d, offset);
	if (entry)
		return hotspot_entering(w, d, offset, entry->enter, entry->pop);
	if (hotspot_leaving(w, d, &pc, &sp) && sp - w->sp < HOTSPOT_FRAME_MAX)
		return hotspot_return(w, pc, sp, w->fp, 0);
	return hotspot_framed(w, d);
}

#endif
