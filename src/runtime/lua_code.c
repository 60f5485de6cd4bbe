// SPDX-License-Identifier: Apache-2.0
#include "runtime/lua_code.h"

#include <stdlib.h>

#include "runtime/runtime.h"
#include "unwind/functions.h"

#define FUNCTION_BYTES_MAX 65536

bool lua_code_open(csh *handle)
{
	if (cs_open(CS_ARCH_X86, CS_MODE_64, handle) != CS_ERR_OK)
		return false;
	cs_option(*handle, CS_OPT_DETAIL, CS_OPT_ON);
	cs_option(*handle, CS_OPT_SKIPDATA, CS_OPT_ON);
	return true;
}

struct found {
	struct lua_function *functions;
	size_t count, room;
};

static void take(void *context, size_t index, uint64_t start, uint64_t size)
{
	struct found *found = context;
	size_t i;

	(void)index;
	if (!size || size > FUNCTION_BYTES_MAX || found->count >= found->room)
		return;
	for (i = 0; i < found->count; i++)
		if (found->functions[i].start == start)
			return;
	found->functions[found->count++] = (struct lua_function){.start = start, .size = size};
}

static bool decode(csh handle, const struct image *image, struct lua_function *f)
{
	uint8_t *bytes = malloc(f->size);

	f->handle = handle;
	if (bytes && !runtime_read_image(image, bytes, f->size, f->start))
		f->count = cs_disasm(handle, bytes, f->size, f->start, 0, &f->insn);
	free(bytes);
	return f->count;
}

size_t lua_functions_at(csh handle, const struct image *image, const uint64_t *addresses,
			size_t count, struct lua_function *functions, size_t room)
{
	struct found found = {functions, 0, room};
	size_t i, kept = 0;

	if (image->memory)
		unwind_functions_of_memory(image->memory, image->memory_size, addresses, count,
					   take, &found, NULL);
	else
		unwind_functions_of_file(image->fd, addresses, count, take, &found, NULL);
	for (i = 0; i < found.count; i++)
		if (decode(handle, image, &functions[i]))
			functions[kept++] = functions[i];
	return kept;
}

void lua_function_free(struct lua_function *f)
{
	if (f->insn)
		cs_free(f->insn, f->count);
	*f = (struct lua_function){0};
}

static bool is_in_group(const cs_insn *insn, uint8_t group)
{
	uint8_t i;

	for (i = 0; insn->detail && i < insn->detail->groups_count; i++)
		if (insn->detail->groups[i] == group)
			return true;
	return false;
}

bool lua_is_call(const cs_insn *insn)
{
	return insn->id == X86_INS_CALL;
}

uint64_t lua_branch_target(const cs_insn *insn)
{
	if (!insn->detail || (!lua_is_call(insn) && !is_in_group(insn, X86_GRP_JUMP)))
		return 0;
	if (insn->detail->x86.op_count != 1 || insn->detail->x86.operands[0].type != X86_OP_IMM)
		return 0;
	return (uint64_t)insn->detail->x86.operands[0].imm;
}

static const cs_x86_op *operands(const cs_insn *insn)
{
	if (insn->id != X86_INS_MOV || !insn->detail || insn->detail->x86.op_count != 2 ||
	    insn->detail->x86.operands[0].size != 8)
		return NULL;
	return insn->detail->x86.operands;
}

bool lua_is_copy(const cs_insn *insn, x86_reg *to, x86_reg *from)
{
	const cs_x86_op *op = operands(insn);

	if (!op || op[0].type != X86_OP_REG || op[1].type != X86_OP_REG)
		return false;
	*to = op[0].reg;
	*from = op[1].reg;
	return true;
}

static bool is_plain_memory(const cs_x86_op *op)
{
	return op->type == X86_OP_MEM && op->mem.index == X86_REG_INVALID &&
	       op->mem.segment == X86_REG_INVALID;
}

bool lua_is_store(const cs_insn *insn, x86_reg *base, int64_t *disp, x86_reg *from)
{
	const cs_x86_op *op = operands(insn);

	if (!op || !is_plain_memory(&op[0]) || op[1].type != X86_OP_REG)
		return false;
	*base = op[0].mem.base;
	*disp = op[0].mem.disp;
	*from = op[1].reg;
	return true;
}

bool lua_is_load(const cs_insn *insn, x86_reg *to, x86_reg *base, int64_t *disp)
{
	const cs_x86_op *op = operands(insn);

	if (!op || !is_plain_memory(&op[1]) || op[0].type != X86_OP_REG)
		return false;
	*to = op[0].reg;
	*base = op[1].mem.base;
	*disp = op[1].mem.disp;
	return true;
}

static const struct {
	x86_reg whole, half;
	int dwarf;
} registers[] = {
	{X86_REG_RAX, X86_REG_EAX, 0},	 {X86_REG_RDX, X86_REG_EDX, 1},
	{X86_REG_RCX, X86_REG_ECX, 2},	 {X86_REG_RBX, X86_REG_EBX, 3},
	{X86_REG_RSI, X86_REG_ESI, 4},	 {X86_REG_RDI, X86_REG_EDI, 5},
	{X86_REG_RBP, X86_REG_EBP, 6},	 {X86_REG_RSP, X86_REG_ESP, 7},
	{X86_REG_R8, X86_REG_R8D, 8},	 {X86_REG_R9, X86_REG_R9D, 9},
	{X86_REG_R10, X86_REG_R10D, 10}, {X86_REG_R11, X86_REG_R11D, 11},
	{X86_REG_R12, X86_REG_R12D, 12}, {X86_REG_R13, X86_REG_R13D, 13},
	{X86_REG_R14, X86_REG_R14D, 14}, {X86_REG_R15, X86_REG_R15D, 15},
};

#define REGISTERS (sizeof(registers) / sizeof(registers[0]))

int lua_dwarf_register(x86_reg reg)
{
	size_t i;

	for (i = 0; i < REGISTERS; i++)
		if (registers[i].whole == reg)
			return registers[i].dwarf;
	return -1;
}

bool lua_writes(csh handle, const cs_insn *insn, x86_reg reg)
{
	cs_regs read, written;
	uint8_t reads, writes, i;
	x86_reg half = X86_REG_INVALID;
	size_t n;

	for (n = 0; n < REGISTERS; n++)
		if (registers[n].whole == reg)
			half = registers[n].half;
	if (!insn->detail || cs_regs_access(handle, insn, read, &reads, written, &writes))
		return false;
	for (i = 0; i < writes; i++)
		if (written[i] == reg || written[i] == half)
			return true;
	return false;
}
