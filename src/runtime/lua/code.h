/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_LUA_CODE_H
#define RUNTIME_LUA_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/insn.h"
#include "base/budget.h"
#include "process/image.h"

/*
 * Functions of an image, disassembled: facts that no symbol and no table tells are read from the
 * code that uses them. Where functions begin and end is known by the unwind information.
 */

struct lua_insn {
	uint64_t address;
	bool is_known; /* else it is a byte that begins no instruction */
	struct insn insn;
	struct insn_operand stores; /* insn_stores() */
};

struct lua_function {
	uint64_t start, size;
	struct lua_insn *insn; /* lua_function_decode() */
	size_t count;
};

/* Reads functions of one image, within a budget, an instruction at a time. */
struct lua_reader {
	const struct image *image;
	struct budget *budget;
	uint8_t *bytes;
};

/* False: there is no memory. To be closed after both. */
bool lua_reader_open(struct lua_reader *reader, const struct image *image, struct budget *budget);
void lua_reader_close(struct lua_reader *reader);

/*
 * Finds the functions that the addresses lie in, each once, at most `room` of them and none larger
 * than 64 KiB. Returns how many there are in functions; they are not decoded, and need no clean-up.
 */
size_t lua_functions_at(struct lua_reader *reader, const uint64_t *addresses, size_t count,
			struct lua_function *functions, size_t room);

/*
 * Calls emit() with each instruction until it returns false. False: the code, or the budget for it,
 * is not there.
 */
bool lua_function_each(struct lua_reader *reader, const struct lua_function *f,
		       bool (*emit)(void *context, const struct lua_insn *insn), void *context);

/*
 * Keeps all instructions in f, to be freed with lua_function_free(). False as above.
 */
bool lua_function_decode(struct lua_reader *reader, struct lua_function *f);
void lua_function_free(struct lua_reader *reader, struct lua_function *f);

/* Where a direct call or jump goes; 0: it is none. */
uint64_t lua_branch_target(const struct lua_insn *insn);
bool lua_is_call(const struct lua_insn *insn);

/* Registers have their DWARF numbers. */

/* Whether it moves 8 bytes between two registers. */
bool lua_is_copy(const struct lua_insn *insn, int *to, int *from);
/* Whether it moves 8 bytes of a register to or from memory, base + disp without index. */
bool lua_is_store(const struct lua_insn *insn, int *base, int64_t *disp, int *from);
bool lua_is_load(const struct lua_insn *insn, int *to, int *base, int64_t *disp);
bool lua_writes(const struct lua_insn *insn, int reg);

#endif
