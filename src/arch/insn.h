/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARCH_INSN_H
#define ARCH_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What an instruction of x86-64 does, as far as the place of the return address may depend on it:
 * which general registers it writes, and how. Registers have their DWARF numbers (System V ABI,
 * figure 3.36).
 */

enum insn_kind {
	INSN_OTHER,
	INSN_PUSH, /* also of flags, numbers and memory */
	INSN_POP,
	INSN_LEAVE,
	INSN_MOVE,
	INSN_LEA,
	INSN_ADD, /* and the next six: of registers, memory and numbers */
	INSN_SUB,
	INSN_AND,
	INSN_XOR,
	INSN_OR,
	INSN_COMPARE, /* writes nothing but flags, as the next one */
	INSN_TEST,
	INSN_SYSTEM_CALL,
	INSN_CALL,
	INSN_RETURN,
	INSN_JUMP,
	INSN_BRANCH, /* a jump that may not be taken */
	INSN_STOP,   /* nothing follows */
	INSN_NOP,
};

enum insn_where {
	INSN_NOWHERE, /* or in a register of another kind */
	INSN_REGISTER,
	INSN_MEMORY,
	INSN_NUMBER,
};

/* The base of memory at a distance from the next instruction. */
#define INSN_BASE_NEXT 16

struct insn_operand {
	uint8_t where; /* enum insn_where */
	uint8_t size;  /* bytes */
	/*
	 * the register, or the base of memory; -1: another one, or more than a base and a distance
	 */
	int8_t reg;
	int8_t base;	/* of memory, also with more: a register, INSN_BASE_NEXT; -1: none */
	bool has_index; /* of memory: or it is that far away in units that are not known */
	int64_t number; /* or the distance from the base */
};

struct insn {
	uint8_t size;
	uint8_t kind;	 /* enum insn_kind */
	bool is_short;	 /* push, pop: of two bytes */
	bool has_target; /* of a jump, a branch or a call */
	bool calls_next; /* a call of what follows: it only asks where it is */
	uint16_t writes; /* bits of general registers; not rsp of a push, a pop or a call */
	uint64_t target;
	struct insn_operand to, from; /* of the kinds from push to test */
};

/*
 * Reads what begins at code, which has that many bytes, at an address. False: a program cannot
 * execute it.
 */
bool insn_read(struct insn *insn, const uint8_t *code, size_t left, uint64_t address);

/*
 * The memory that the instruction at code, which was read, may write: what ModRM says, with all
 * bytes that it may have. Nowhere: it writes none, or another way (push, strings).
 */
struct insn_operand insn_stores(const uint8_t *code, size_t left);

/*
 * The bytes of an rt_sigreturn() at code, which has that many bytes: one of the two ways in which C
 * libraries end a signal handler. Nothing leads on behind it. 0: there is none.
 */
size_t insn_sigreturn(const uint8_t *code, size_t left);

/* Whether what follows it is only reached from elsewhere. */
static inline bool insn_ends(const struct insn *insn)
{
	return insn->kind == INSN_JUMP || insn->kind == INSN_RETURN || insn->kind == INSN_STOP;
}

#endif
