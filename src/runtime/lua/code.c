// SPDX-License-Identifier: Apache-2.0
#include "runtime/lua/code.h"

#include <stdlib.h>

#include "runtime/runtime.h"
#include "unwind/functions.h"

#define FUNCTION_BYTES_MAX 65536

/* Instructions that are kept of a function: an interpreter has some thousand. */
#define INSTRUCTIONS_MAX 32768

/* What it costs to find the code of a function, in steps. */
#define FUNCTION_STEPS 512

bool lua_reader_open(struct lua_reader *reader, const struct image *image, struct budget *budget)
{
	*reader = (struct lua_reader){.image = image, .budget = budget};
	if (disassembler_open(&reader->dis))
		return false;
	cs_option(reader->dis.handle, CS_OPT_SKIPDATA, CS_OPT_ON);
	reader->bytes = budget_malloc(budget, FUNCTION_BYTES_MAX);
	return reader->bytes != NULL;
}

void lua_reader_close(struct lua_reader *reader)
{
	budget_free(reader->budget, reader->bytes, FUNCTION_BYTES_MAX);
	disassembler_close(&reader->dis);
}

struct found {
	struct lua_function *functions;
	size_t count, room;
};

static void take_function(void *context, size_t index, uint64_t start, uint64_t size)
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

size_t lua_functions_at(struct lua_reader *reader, const uint64_t *addresses, size_t count,
			struct lua_function *functions, size_t room)
{
	const struct image *image = reader->image;
	struct found found = {functions, 0, room};

	if (image->memory)
		unwind_functions_of_memory(image->memory, image->memory_size, addresses, count,
					   take_function, &found, NULL);
	else
		unwind_functions_of_file(image->fd, addresses, count, take_function, &found, NULL);
	return found.count;
}

static bool is_in_group(const cs_insn *insn, uint8_t group)
{
	uint8_t i;

	for (i = 0; i < insn->detail->groups_count; i++)
		if (insn->detail->groups[i] == group)
			return true;
	return false;
}

/*
 * What is not an instruction (id 0) has no details, but those of the one before may still stand
 * there.
 */
static struct lua_insn shorten(const cs_insn *insn)
{
	struct lua_insn to = {
		.address = insn->address,
		.id = insn->id,
		.size = (uint8_t)insn->size,
	};
	const cs_x86 *x86;

	if (insn->id == X86_INS_INVALID || !insn->detail)
		return to;
	x86 = &insn->detail->x86;
	to.operands = x86->op_count;
	to.jumps = is_in_group(insn, X86_GRP_JUMP);
	to.op[0] = x86->operands[0];
	to.op[1] = x86->operands[1];
	return to;
}

bool lua_function_each(struct lua_reader *reader, const struct lua_function *f,
		       bool (*take)(void *context, const struct lua_insn *insn), void *context)
{
	const uint8_t *at = reader->bytes;
	uint64_t address = f->start;
	size_t left = f->size;
	bool more = true;

	if (f->size > FUNCTION_BYTES_MAX || !budget_step(reader->budget, FUNCTION_STEPS) ||
	    !budget_read(reader->budget, f->size) ||
	    runtime_read_image(reader->image, reader->bytes, f->size, f->start))
		return false;
	while (more && left) {
		struct lua_insn insn;

		if (!budget_step(reader->budget, 1))
			return false;
		if (!disassembler_read(&reader->dis, at, left, address))
			break;
		at += reader->dis.insn->size;
		address += reader->dis.insn->size;
		left -= reader->dis.insn->size;
		insn = shorten(reader->dis.insn);
		more = take(context, &insn);
	}
	return true;
}

struct keeping {
	struct lua_reader *reader;
	struct lua_function *f;
	size_t room;
};

static uint16_t registers_written(const struct lua_reader *reader);

static bool keep(void *context, const struct lua_insn *insn)
{
	struct keeping *keeping = context;
	struct lua_function *f = keeping->f;

	if (f->count == keeping->room)
		return false;
	f->insn[f->count] = *insn;
	f->insn[f->count].writes = insn->operands ? registers_written(keeping->reader) : 0;
	f->count++;
	return true;
}

static size_t room_for(const struct lua_function *f)
{
	return f->size < INSTRUCTIONS_MAX ? f->size : INSTRUCTIONS_MAX;
}

bool lua_function_decode(struct lua_reader *reader, struct lua_function *f)
{
	struct keeping keeping = {reader, f, room_for(f)};

	f->count = 0;
	f->insn = budget_malloc(reader->budget, keeping.room * sizeof(*f->insn));
	if (f->insn && lua_function_each(reader, f, keep, &keeping) && f->count)
		return true;
	lua_function_free(reader, f);
	return false;
}

void lua_function_free(struct lua_reader *reader, struct lua_function *f)
{
	budget_free(reader->budget, f->insn, room_for(f) * sizeof(*f->insn));
	f->insn = NULL;
	f->count = 0;
}

bool lua_is_call(const struct lua_insn *insn)
{
	return insn->id == X86_INS_CALL;
}

uint64_t lua_branch_target(const struct lua_insn *insn)
{
	if (!lua_is_call(insn) && !insn->jumps)
		return 0;
	if (insn->operands != 1 || insn->op[0].type != X86_OP_IMM)
		return 0;
	return (uint64_t)insn->op[0].imm;
}

static const cs_x86_op *operands(const struct lua_insn *insn)
{
	if (insn->id != X86_INS_MOV || insn->operands != 2 || insn->op[0].size != 8)
		return NULL;
	return insn->op;
}

bool lua_is_copy(const struct lua_insn *insn, x86_reg *to, x86_reg *from)
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

bool lua_is_store(const struct lua_insn *insn, x86_reg *base, int64_t *disp, x86_reg *from)
{
	const cs_x86_op *op = operands(insn);

	if (!op || !is_plain_memory(&op[0]) || op[1].type != X86_OP_REG)
		return false;
	*base = op[0].mem.base;
	*disp = op[0].mem.disp;
	*from = op[1].reg;
	return true;
}

bool lua_is_load(const struct lua_insn *insn, x86_reg *to, x86_reg *base, int64_t *disp)
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

/* All that the instruction at hand writes, also where it does not name it. */
static uint16_t registers_written(const struct lua_reader *reader)
{
	cs_regs read, written;
	uint8_t reads, writes, i;
	uint16_t found = 0;
	size_t n;

	if (cs_regs_access(reader->dis.handle, reader->dis.insn, read, &reads, written, &writes))
		return 0;
	for (i = 0; i < writes; i++)
		for (n = 0; n < REGISTERS; n++)
			if (written[i] == registers[n].whole || written[i] == registers[n].half)
				found |= (uint16_t)(1u << registers[n].dwarf);
	return found;
}

bool lua_writes(const struct lua_insn *insn, x86_reg reg)
{
	int dwarf = lua_dwarf_register(reg);

	return dwarf >= 0 && insn->writes >> dwarf & 1;
}
