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
	reader->bytes = budget_malloc(budget, FUNCTION_BYTES_MAX);
	return reader->bytes != NULL;
}

void lua_reader_close(struct lua_reader *reader)
{
	budget_free(reader->budget, reader->bytes, FUNCTION_BYTES_MAX);
}

struct found {
	struct lua_function *functions;
	size_t count, room;
};

static void add_function(void *context, size_t index, uint64_t start, uint64_t size)
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
					   add_function, &found, NULL);
	else
		unwind_functions_of_file(image->fd, addresses, count, add_function, &found, NULL);
	return found.count;
}

/* Bytes that begin none are passed over, one at a time. */
static struct lua_insn read_insn(const uint8_t *code, size_t left, uint64_t address)
{
	struct lua_insn to = {.address = address};

	to.is_known = insn_read(&to.insn, code, left, address);
	if (to.is_known)
		to.stores = insn_stores(code, left);
	else
		to.insn = (struct insn){.size = 1, .kind = INSN_OTHER};
	return to;
}

bool lua_function_each(struct lua_reader *reader, const struct lua_function *f,
		       bool (*emit)(void *context, const struct lua_insn *insn), void *context)
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
		insn = read_insn(at, left, address);
		at += insn.insn.size;
		address += insn.insn.size;
		left -= insn.insn.size;
		more = emit(context, &insn);
	}
	return true;
}

struct keeping {
	struct lua_function *f;
	size_t room;
};

static bool keep(void *context, const struct lua_insn *insn)
{
	struct keeping *keeping = context;
	struct lua_function *f = keeping->f;

	if (f->count == keeping->room)
		return false;
	f->insn[f->count++] = *insn;
	return true;
}

static size_t room_for(const struct lua_function *f)
{
	return f->size < INSTRUCTIONS_MAX ? f->size : INSTRUCTIONS_MAX;
}

bool lua_function_decode(struct lua_reader *reader, struct lua_function *f)
{
	struct keeping keeping = {f, room_for(f)};

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
	return insn->insn.kind == INSN_CALL;
}

uint64_t lua_branch_target(const struct lua_insn *insn)
{
	return insn->insn.has_target ? insn->insn.target : 0;
}

static bool is_move(const struct lua_insn *insn)
{
	return insn->insn.kind == INSN_MOVE && insn->insn.to.size == 8;
}

bool lua_is_copy(const struct lua_insn *insn, int *to, int *from)
{
	if (!is_move(insn) || insn->insn.to.where != INSN_REGISTER ||
	    insn->insn.from.where != INSN_REGISTER)
		return false;
	*to = insn->insn.to.reg;
	*from = insn->insn.from.reg;
	return true;
}

static bool is_plain_memory(const struct insn_operand *o)
{
	return o->where == INSN_MEMORY && o->reg >= 0;
}

bool lua_is_store(const struct lua_insn *insn, int *base, int64_t *disp, int *from)
{
	if (!is_move(insn) || !is_plain_memory(&insn->insn.to) ||
	    insn->insn.from.where != INSN_REGISTER)
		return false;
	*base = insn->insn.to.reg;
	*disp = insn->insn.to.number;
	*from = insn->insn.from.reg;
	return true;
}

bool lua_is_load(const struct lua_insn *insn, int *to, int *base, int64_t *disp)
{
	if (!is_move(insn) || !is_plain_memory(&insn->insn.from) ||
	    insn->insn.to.where != INSN_REGISTER)
		return false;
	*to = insn->insn.to.reg;
	*base = insn->insn.from.reg;
	*disp = insn->insn.from.number;
	return true;
}

bool lua_writes(const struct lua_insn *insn, int reg)
{
	return reg >= 0 && insn->insn.writes >> reg & 1;
}
