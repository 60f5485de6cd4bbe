/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNWIND_DISASSEMBLER_H
#define UNWIND_DISASSEMBLER_H

#include <capstone/capstone.h>
#include <stdbool.h>
#include <stdint.h>

/* Reads x86-64 code of any origin, an instruction at a time, with details. */
struct disassembler {
	csh handle;
	cs_insn *insn; /* the one that was read last */
};

/* 0 or -ENOMEM; *d, all zero before, is to be closed after both. */
int disassembler_open(struct disassembler *d);
void disassembler_close(struct disassembler *d);

/*
 * Reads what begins at code, which has that many bytes, at an address. False: it is not an
 * instruction.
 */
bool disassembler_read(struct disassembler *d, const uint8_t *code, size_t size, uint64_t address);

/* Whether the instruction is a jump, taken or not; calls are none. */
bool insn_is_jump(const cs_insn *insn);

/* Where a jump or a call leads to; null: it is none, or does not say. */
const int64_t *insn_target(const cs_insn *insn);

#endif
