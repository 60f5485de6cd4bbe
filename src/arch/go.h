/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARCH_GO_H
#define ARCH_GO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What Go's compiler and its runtime's assembler do to the frame pointer and the stack pointer. */

enum arch_go_move {
	ARCH_GO_SAVES_FP, /* stores it on the stack */
	ARCH_GO_LOADS_FP, /* from there */
	ARCH_GO_MAKES_FP, /* the address of its place */
};

/*
 * An instruction at code that does so at a distance from the stack pointer: its length. 0: it is
 * another one.
 */
size_t arch_go_moves_fp(const uint8_t *code, size_t left, enum arch_go_move move,
			int32_t *distance);

/* Whether the instruction before code pushes the frame pointer. */
bool arch_go_pushed_fp(const uint8_t *code);
/* Whether what follows makes the stack pointer the frame pointer. */
bool arch_go_sets_fp(const uint8_t *code, size_t left);

/* Whether an instruction at code, of which 4 bytes are there, loads the stack pointer. */
bool arch_go_switches_stack(const uint8_t code[4]);

#endif
