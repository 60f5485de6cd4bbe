// SPDX-License-Identifier: Apache-2.0
/*
 * Where LuaJIT's interpreter is, and the offset of cur_L in its global_State, from the code of
 * functions that every LuaJIT exports:
 *
 *	lua_call() enters the interpreter: one piece of assembler code, much larger than other
 *	functions, with one entry in the unwind information;
 *	lua_close() takes global_State from lua_State, at 16 if references have 64 bits (GC64), and
 *	sets its cur_L to null.
 */
#include <errno.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "runtime/lua/code.h"
#include "runtime/luajit/internal.h"

#define LEVELS	      3
#define FUNCTIONS_MAX 64
#define VM_BYTES_MIN  10000

/* Where calls and jumps out of functions lead. */
struct targets {
	uint64_t at[FUNCTIONS_MAX];
	size_t count;
	const struct lua_function *f; /* the one at hand */
};

static bool add_target(void *context, const struct lua_insn *insn)
{
	struct targets *targets = context;
	uint64_t target = lua_branch_target(insn);

	if (target && target - targets->f->start >= targets->f->size)
		targets->at[targets->count++] = target;
	return targets->count < FUNCTIONS_MAX;
}

static bool find_vm(struct lua_reader *reader, uint64_t call, struct luajit_facts *facts)
{
	struct lua_function functions[FUNCTIONS_MAX];
	struct targets targets = {.at = {call}, .count = 1};
	size_t found, i;
	int level;

	for (level = 0; level < LEVELS && targets.count && !facts->vm; level++) {
		found = lua_functions_at(reader, targets.at, targets.count, functions,
					 FUNCTIONS_MAX);
		for (i = 0; level && i < found; i++) {
			if (functions[i].size < VM_BYTES_MIN || functions[i].size < facts->vm_size)
				continue;
			facts->vm = functions[i].start;
			facts->vm_size = (uint32_t)functions[i].size;
		}
		targets.count = 0;
		for (i = 0; i < found && !facts->vm && targets.count < FUNCTIONS_MAX; i++) {
			targets.f = &functions[i];
			lua_function_each(reader, targets.f, add_target, &targets);
		}
	}
	return facts->vm;
}

/* "mov g, [rdi + 16]" … "mov qword [g + cur_L], 0" */
static bool read_close(const struct lua_function *f, struct luajit_facts *facts)
{
	int g = -1, to, base;
	int64_t disp;
	size_t i;

	for (i = 0; i < f->count; i++) {
		const struct lua_insn *insn = &f->insn[i];
		const struct insn_operand *at = &insn->insn.to, *value = &insn->insn.from;

		if (g < 0 && lua_is_load(insn, &to, &base, &disp) && base == ARCH_REG_ARG1 &&
		    disp == 16)
			g = to;
		if (insn->insn.kind != INSN_MOVE || at->where != INSN_MEMORY || at->size != 8 ||
		    at->reg != g || g < 0 || value->where != INSN_NUMBER || value->number ||
		    at->number <= 0 || at->number > 4096)
			continue;
		facts->cur_l = (uint32_t)at->number;
		return true;
	}
	return false;
}

int luajit_find(const struct image *image, struct luajit_facts *facts, struct budget *budget,
		struct fail *why)
{
	struct runtime_symbol symbols[] = {{.name = "lua_call"}, {.name = "lua_close"}};
	const char *words = "its interpreter was not found in its code";
	struct lua_function close = {0};
	struct lua_reader reader;

	if (runtime_find_symbols(image, budget, symbols, 2) != 2)
		return fail(why, -ENOTSUP, NULL, "LuaJIT of %s: %s", image->path, words);
	if (lua_reader_open(&reader, image, budget) &&
	    find_vm(&reader, symbols[0].address, facts)) {
		words = "its references do not have 64 bits, or it is of an unknown kind";
		if (lua_functions_at(&reader, &symbols[1].address, 1, &close, 1) &&
		    lua_function_decode(&reader, &close) && read_close(&close, facts))
			words = NULL;
		lua_function_free(&reader, &close);
	}
	lua_reader_close(&reader);
	if (!words)
		return 0;
	if (budget->spent)
		return budget_refuse(budget, why, "the code of its interpreter");
	return fail(why, -ENOTSUP, NULL, "LuaJIT of %s: %s", image->path, words);
}
