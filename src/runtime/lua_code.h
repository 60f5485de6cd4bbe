/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_LUA_CODE_H
#define RUNTIME_LUA_CODE_H

#include <capstone/capstone.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/image.h"

/*
 * Functions of an image, disassembled: facts that no symbol and no table tells are read from the code that uses
 * them. Where functions begin and end is known by the unwind information.
 */

struct lua_function {
	uint64_t start, size;
	csh handle; /* that it was decoded with */
	cs_insn *insn;
	size_t count;
};

/* Opens the disassembler, with details. False: it cannot be had. */
bool lua_code_open(csh *handle);

/*
 * Decodes the functions that the addresses lie in, each once, at most `room` of them and none larger than
 * 64 KiB. Returns how many there are in functions, to be freed each with lua_function_free().
 */
size_t lua_functions_at(csh handle, const struct image *image, const uint64_t *addresses,
			size_t count, struct lua_function *functions, size_t room);
void lua_function_free(struct lua_function *f);

/* Where a direct call or jump goes; 0: it is none. */
uint64_t lua_branch_target(const cs_insn *insn);
bool lua_is_call(const cs_insn *insn);

/* Whether it is a mov between two 64-bit registers. */
bool lua_is_copy(const cs_insn *insn, x86_reg *to, x86_reg *from);
/* Whether it is a mov of a 64-bit register to or from memory, base + disp without index. */
bool lua_is_store(const cs_insn *insn, x86_reg *base, int64_t *disp, x86_reg *from);
bool lua_is_load(const cs_insn *insn, x86_reg *to, x86_reg *base, int64_t *disp);
/* Whether the instruction writes the register (capstone's number of 64 bits). */
bool lua_writes(csh handle, const cs_insn *insn, x86_reg reg);

/* The DWARF number of a 64-bit register, or -1. */
int lua_dwarf_register(x86_reg reg);

#endif
