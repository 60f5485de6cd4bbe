/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARCH_ISA_H
#define ARCH_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/x86_64/read.h"

/*
 * All that is particular to x86-64 where probes are set: what an instruction does to the stack
 * pointer and to registers, and what a probe on it costs.
 */

enum isa_cost {
	ISA_COST_REFUSED, /* the kernel puts no probe there (is_prefix_bad(), good_insns_64) */
	ISA_COST_STEPPED,
	ISA_COST_EMULATED,
	/*
	 * A nop of 5 bytes: since Linux 6.18 the kernel puts a call there, into a page of its own.
	 * A child of fork() has the call, but not that page, and dies of SIGSEGV (seen with
	 * 6.18.44): no probe may be there.
	 */
	ISA_COST_REPLACED,
};
enum isa_cost isa_cost(const struct isa_insn *insn);

/*
 * Whether a probe may stand behind it instead of before: it goes on at once, and does no work to
 * speak of.
 */
bool isa_is_light(const struct isa_insn *insn);

/*
 * A push keeps what it found on the stack: jumping to one from later in the function makes no
 * sense.
 */
bool isa_is_push(const struct isa_insn *insn);

/* The length of the mark that says that an indirect jump may lead here; 0: there is none. */
size_t isa_landing(const uint8_t *code, size_t left);

/* Does it do nothing? Where functions are padded, such stand behind them. */
bool isa_is_nop(const struct isa_insn *insn);

/*
 * How far the stack pointer, and rbp as a frame pointer, are below what the first was at the entry.
 */
struct isa_stack {
	int32_t sp, fp; /* bytes; ISA_STACK_UNKNOWN */
};
#define ISA_STACK_UNKNOWN INT32_MIN

void isa_stack_step(struct isa_stack *stack, const struct isa_insn *insn);

/*
 * The stack of a function none of whose addresses is known outside (x86_64/sealed.c), in bytes
 * below the place of its return address: of the stack pointer, and of the word that keeps its
 * caller's rbp, or 0. fp: what rbp is: such a distance, or one of the others.
 */
struct isa_sealed {
	int32_t sp, fp, saved;
};
#define ISA_SEALED_CALLERS -1 /* as at the entry */
#define ISA_SEALED_OTHER   -2 /* nothing that leads to the stack */
#define ISA_SEALED_UNKNOWN -3

/*
 * Goes on behind an instruction, which is read from code. False: it could get at the return
 * address, or let another one get there. Calls and jumps are the caller's to judge.
 */
bool isa_sealed_step(struct isa_sealed *stack, const struct isa_insn *insn, const uint8_t *code);

/*
 * Another way leads to the same place. False: the stack is not the same. *changes: less is known
 * now.
 */
bool isa_sealed_join(struct isa_sealed *stack, const struct isa_sealed *other, bool *changes);

/*
 * Where it stores something: below the stack or the frame pointer, *reg by its DWARF number. False:
 * elsewhere, or it does not.
 */
bool isa_stores_at(const struct isa_insn *insn, uint8_t *reg, int64_t *displacement);

/* Does it store a register into the innermost word of the stack? */
bool isa_stores_innermost(const struct isa_insn *insn);

/* Can it change a general register? Where that is not clear, it can. */
bool isa_may_write(const struct isa_insn *insn, uint8_t reg);

/* Does it only compare, or nothing at all? Behind it, all but the flags is as it was before. */
bool isa_only_compares(const struct isa_insn *insn);

/* Does it go on at once, with all general registers as they were? Where that is not clear, no. */
bool isa_is_only_on_memory(const struct isa_insn *insn);

/* Does it enter the kernel? */
bool isa_is_system_call(const struct isa_insn *insn);

/* What an indirect jump goes through. */
enum isa_through {
	ISA_THROUGH_REGISTER,
	ISA_THROUGH_MEMORY,
	ISA_THROUGH_TABLE, /* memory with an index */
};
enum isa_through isa_through(const struct isa_insn *insn, uint8_t *reg);

/*
 * The word that an indirect jump or call goes through, if the instruction itself says where it is:
 * at a distance from the next one, which begins at next. False: registers say it.
 */
bool isa_word(const struct isa_insn *insn, uint64_t next, uint64_t *word);

/* How the instruction makes what register reg holds behind it. */
enum isa_makes {
	ISA_MAKES_NOTHING,
	ISA_MAKES_SUM,	   /* add: of a table's base and one of its entries */
	ISA_MAKES_LOADED,  /* from memory */
	ISA_MAKES_INDEXED, /* from memory with an index */
	ISA_MAKES_OTHER,
};
enum isa_makes isa_makes(const struct isa_insn *insn, uint8_t reg);

/*
 * The length of the check at the beginning of a Go function for room on its stack, with the branch
 * behind it: when there is none, the function begins again on another stack. 0: there is no check.
 */
size_t isa_go_stack_check(const uint8_t *code, size_t left);
/*
 * Where that branch is: the registers are as at the beginning, but for r12. 0: there is no check.
 */
size_t isa_go_stack_jump(const uint8_t *code, size_t left);

#endif
