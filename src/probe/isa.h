/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_ISA_H
#define PROBE_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * All that is particular to x86-64: how long an instruction is, where it leads to, what it does to
 * the stack pointer, and what a probe on it costs.
 *
 * A program of 50,000 functions has some million instructions, each of which must be looked at, but
 * of which no more than this matters: so they are read here, ten times as fast as by a
 * disassembler, and with those that are newer than it. (Intel SDM, volume 2, chapter 2 and appendix
 * A.)
 */

struct isa_insn {
	uint8_t length;
	/* of opcodes: 1, 2 (0f), 3 (0f 38), 4 (0f 3a); others of VEX and EVEX by their number */
	uint8_t map;
	uint8_t opcode;
	bool vex; /* VEX, EVEX or XOP */
	bool has_modrm;
	uint8_t modrm, sib, rex;
	uint16_t prefixes; /* enum isa_prefix */
	int32_t displacement;
	int64_t immediate;
};

enum isa_prefix {
	ISA_PREFIX_66 = 1,
	ISA_PREFIX_67 = 2,
	ISA_PREFIX_F2 = 4,
	ISA_PREFIX_F3 = 8,
	ISA_PREFIX_LOCK = 16,
	ISA_PREFIX_CS_DS_ES_SS = 32,
	ISA_PREFIX_FS_GS = 64,
	ISA_PREFIX_DS = 128, /* besides: "notrack" of an indirect jump */
};

/* Reads the instruction at code; false: it is none that a program can execute, or is cut off. */
bool isa_read(struct isa_insn *insn, const uint8_t *code, size_t left);

enum isa_flow {
	ISA_FLOW_NEXT,
	ISA_FLOW_CALL,
	ISA_FLOW_CALL_INDIRECT,
	ISA_FLOW_JUMP,
	ISA_FLOW_JUMP_INDIRECT,
	ISA_FLOW_BRANCH, /* there or to the next one */
	ISA_FLOW_RETURN,
	ISA_FLOW_STOP, /* ud2, hlt, int3: nothing follows */
};
enum isa_flow isa_flow(const struct isa_insn *insn);

/* A near "ret", with any prefix. */
bool isa_is_plain_return(const struct isa_insn *insn);

/* Where a direct call, jump or branch at address leads to. */
uint64_t isa_target(const struct isa_insn *insn, uint64_t address);

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

/*
 * How far the stack pointer, and rbp as a frame pointer, are below what the first was at the entry.
 */
struct isa_stack {
	int32_t sp, fp; /* bytes; ISA_STACK_UNKNOWN */
};
#define ISA_STACK_UNKNOWN INT32_MIN

void isa_stack_step(struct isa_stack *stack, const struct isa_insn *insn);

/* Does it name the place of the return address in memory, as far as the stack is known? */
bool isa_names_return(const struct isa_stack *stack, const struct isa_insn *insn);

/* Can it change a general register? Where that is not clear, it can. */
bool isa_may_write(const struct isa_insn *insn, uint8_t reg);

/* Does it only compare, or nothing at all? Behind it, all but the flags is as it was before. */
bool isa_only_compares(const struct isa_insn *insn);

/* Does it enter the kernel? */
bool isa_is_system_call(const struct isa_insn *insn);

/* What an indirect jump goes through. */
enum isa_through {
	ISA_THROUGH_REGISTER,
	ISA_THROUGH_MEMORY,
	ISA_THROUGH_TABLE, /* memory with an index */
};
enum isa_through isa_through(const struct isa_insn *insn, uint8_t *reg);

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
