/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARCH_X86_64_READ_H
#define ARCH_X86_64_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How long an instruction of x86-64 is, what it is made of, and where it leads to.
 *
 * A program has millions of instructions that must be looked at, but of which no more than this
 * matters: so they are read here, ten times as fast as by a disassembler, and with those that are
 * newer than it. (Intel SDM, volume 2, chapter 2 and appendix A.)
 */

/* The register of a function's first argument, as instructions number it: rdi. */
#define ISA_ARG1 7

struct isa_insn {
	uint8_t length;
	/* of opcodes: 1, 2 (0f), 3 (0f 38), 4 (0f 3a); others of VEX and EVEX by their number */
	uint8_t map;
	uint8_t opcode;
	bool vex; /* VEX, EVEX or XOP */
	bool has_modrm;
	uint8_t modrm, sib;
	uint8_t rex;	   /* with VEX and EVEX: the same bits, but not 0x40 */
	uint8_t vvvv;	   /* of these: the register of a third operand */
	uint16_t prefixes; /* enum isa_prefix */
	bool is_scaled;	   /* the displacement counts larger units, that of EVEX */
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

#endif
