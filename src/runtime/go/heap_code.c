// SPDX-License-Identifier: Apache-2.0
/*
 * src/runtime/mprof.go and malloc.go, as the compiler has put them into code from 1.19 to 1.27:
 *
 *	mProf_FlushLocked() loads one variable of 64 bits, mbuckets; stkbucket() takes its address
 *	profilealloc() loads two, mcache0 and MemProfileRate; mallocinit() uses the first alone
 */
#include "runtime/go/heap_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/disassembler.h"
#include "unwind/go_pclntab.h"

#define CODE_MAX (16u << 10) /* bytes of a function; these have up to 1.5 KB */
#define USES_MAX 64	     /* variables that one names */

/* Variables of a function: of 64 bits that it loads; whose addresses it takes; all that it uses. */
struct uses {
	struct variables {
		uint64_t at[USES_MAX];
		size_t count;
	} loads, addresses, all;
};

enum user {
	FLUSH,
	BUCKET,
	PROFILE,
	INIT,
	USERS,
};

static const char *const names[USERS] = {
	[FLUSH] = "runtime.mProf_FlushLocked",
	[BUCKET] = "runtime.stkbucket",
	[PROFILE] = "runtime.profilealloc",
	[INIT] = "runtime.mallocinit",
};

static bool has(const struct variables *variables, uint64_t address)
{
	for (size_t i = 0; i < variables->count; i++)
		if (variables->at[i] == address)
			return true;
	return false;
}

static void keep(struct variables *variables, uint64_t address)
{
	if (!has(variables, address) && variables->count < USES_MAX)
		variables->at[variables->count++] = address;
}

/* "mov mbuckets(%rip), %rax", or "lea mbuckets(%rip), %rcx" */
static void take_insn(struct uses *uses, const cs_insn *insn)
{
	const cs_x86 *x86 = &insn->detail->x86;

	for (uint8_t i = 0; i < x86->op_count; i++) {
		const cs_x86_op *op = &x86->operands[i];
		uint64_t address;

		if (op->type != X86_OP_MEM || op->mem.base != X86_REG_RIP)
			continue;
		address = insn->address + insn->size + (uint64_t)op->mem.disp;
		keep(&uses->all, address);
		if (i != 1 || x86->operands[0].type != X86_OP_REG || x86->operands[0].size != 8)
			continue;
		if (insn->id == X86_INS_MOV)
			keep(&uses->loads, address);
		else if (insn->id == X86_INS_LEA)
			keep(&uses->addresses, address);
	}
}

static int read_function(struct elf_image *elf, const struct go_function *f, struct uses *uses,
			 struct fail *why)
{
	struct disassembler dis = {0};
	uint64_t size = f->end - f->start;
	uint8_t *code = size && size <= CODE_MAX ? malloc(size) : NULL;
	int err = code ? disassembler_open(&dis) : -ENOENT;

	if (!err && !budget_step(&elf->budget, size))
		err = budget_refuse(&elf->budget, why, "the code of Go's functions");
	if (!err && !elf_image_read(elf, f->start, code, size))
		err = -ENOENT;
	for (uint64_t at = 0; !err && at < size; at += dis.insn->size) {
		/* what is behind the function's end fills up */
		if (!disassembler_read(&dis, code + at, size - at, f->start + at))
			break;
		take_insn(uses, dis.insn);
	}
	disassembler_close(&dis);
	free(code);
	return err;
}

static int read_users(struct elf_image *elf, struct uses *users, struct fail *why)
{
	struct go_table table;
	struct go_table_walk walk = {&table, &elf->budget, 0};
	struct go_function f;
	const char *name;
	int err = go_table_open(&table, elf);

	while (!err && go_table_next(&walk, &f, &name))
		for (size_t n = 0; !err && n < USERS; n++)
			if (!strcmp(name, names[n]))
				err = read_function(elf, &f, &users[n], why);
	return err || !elf->budget.spent
		       ? err
		       : budget_refuse(&elf->budget, why, "the table of Go's functions");
}

/* Of several candidates, or none, none is taken. */
static int choose(struct go_heap *heap, const struct uses *users)
{
	const struct variables *flushed = &users[FLUSH].loads, *loads = &users[PROFILE].loads;
	size_t rates = 0;

	if (flushed->count != 1 || !has(&users[BUCKET].addresses, flushed->at[0]))
		return -ENOENT;
	heap->buckets = flushed->at[0];
	for (size_t i = 0; i < loads->count; i++) {
		if (has(&users[INIT].all, loads->at[i]))
			continue;
		heap->rate = loads->at[i];
		rates++;
	}
	return rates == 1 && loads->count == 2 ? 0 : -ENOENT;
}

int go_heap_in_code(struct go_heap *heap, const struct image *image, struct fail *why)
{
	struct uses *users = calloc(USERS, sizeof(*users));
	struct elf_image elf;
	int err;

	if (!users)
		return fail_errno(why, -ENOMEM, NULL, "cannot read the code of a program of Go");
	err = elf_image_open_bare(&elf, image->fd, image->memory, image->memory_size, why);
	if (!err)
		err = read_users(&elf, users, why);
	if (!err)
		err = choose(heap, users);
	elf_image_close(&elf);
	free(users);
	return err;
}
