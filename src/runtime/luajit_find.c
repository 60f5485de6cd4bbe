// SPDX-License-Identifier: Apache-2.0
/*
 * Where LuaJIT's interpreter is, and the offset of cur_L in its global_State, from the code of functions that every
 * LuaJIT exports:
 *
 *	lua_call() enters the interpreter: one piece of assembler code, much larger than other functions, with one
 *	entry in the unwind information;
 *	lua_close() takes global_State from lua_State, at 16 if references have 64 bits (GC64), and sets its cur_L
 *	to null.
 */
#include <errno.h>
#include <stdlib.h>

#include "runtime/lua_code.h"
#include "runtime/luajit_internal.h"

#define LEVELS	      3
#define FUNCTIONS_MAX 64
#define VM_BYTES_MIN  10000

/* Calls and jumps out of the functions. Lets go of them. */
static size_t targets_of(struct lua_function *functions, size_t count, uint64_t *targets,
			 size_t room)
{
	size_t i, n, used = 0;

	for (n = 0; n < count; n++) {
		for (i = 0; i < functions[n].count && used < room; i++) {
			uint64_t target = lua_branch_target(&functions[n].insn[i]);

			if (target && target - functions[n].start >= functions[n].size)
				targets[used++] = target;
		}
		lua_function_free(&functions[n]);
	}
	return used;
}

static bool find_vm(csh handle, const struct image *image, uint64_t call,
		    struct luajit_facts *facts)
{
	struct lua_function functions[FUNCTIONS_MAX];
	uint64_t targets[FUNCTIONS_MAX] = {call};
	size_t count = 1, found, i;
	int level;

	for (level = 0; level < LEVELS && count && !facts->vm; level++) {
		found = lua_functions_at(handle, image, targets, count, functions, FUNCTIONS_MAX);
		for (i = 0; level && i < found; i++) {
			if (functions[i].size < VM_BYTES_MIN || functions[i].size < facts->vm_size)
				continue;
			facts->vm = functions[i].start;
			facts->vm_size = (uint32_t)functions[i].size;
		}
		count = targets_of(functions, found, targets, FUNCTIONS_MAX);
	}
	return facts->vm;
}

/* "mov g, [rdi + 16]" … "mov qword [g + cur_L], 0" */
static bool read_close(const struct lua_function *f, struct luajit_facts *facts)
{
	x86_reg g = X86_REG_INVALID, to, base;
	int64_t disp;
	size_t i;

	for (i = 0; i < f->count; i++) {
		const cs_insn *insn = &f->insn[i];
		const cs_x86_op *op = insn->detail ? insn->detail->x86.operands : NULL;

		if (g == X86_REG_INVALID && lua_is_load(insn, &to, &base, &disp) &&
		    base == X86_REG_RDI && disp == 16)
			g = to;
		if (insn->id != X86_INS_MOV || !op || op[0].type != X86_OP_MEM || op[0].size != 8 ||
		    op[0].mem.base != g || op[1].type != X86_OP_IMM || op[1].imm ||
		    op[0].mem.disp <= 0 || op[0].mem.disp > 4096)
			continue;
		facts->cur_l = (uint32_t)op[0].mem.disp;
		return g != X86_REG_INVALID;
	}
	return false;
}

int luajit_find(const struct image *image, struct luajit_facts *facts, struct fail *why)
{
	struct runtime_symbol symbols[] = {{.name = "lua_call"}, {.name = "lua_close"}};
	const char *words = "its interpreter was not found in its code";
	struct lua_function close;
	csh handle;

	if (runtime_find_symbols(image, symbols, 2) != 2 || !lua_code_open(&handle))
		goto refused;
	if (find_vm(handle, image, symbols[0].address, facts)) {
		words = "its references do not have 64 bits, or it is of an unknown kind";
		if (lua_functions_at(handle, image, &symbols[1].address, 1, &close, 1)) {
			if (read_close(&close, facts))
				words = NULL;
			lua_function_free(&close);
		}
	}
	cs_close(&handle);
	if (!words)
		return 0;
refused:
	return fail(why, -ENOTSUP, NULL, "LuaJIT of %s: %s", image->path, words);
}
