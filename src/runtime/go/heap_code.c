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

#include "arch/insn.h"
#include "arch/isa.h"
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

/*
 * "mov mbuckets(%rip), %rax", or "lea mbuckets(%rip), %rcx", at an address. Returns its length; 0:
 * it cannot be read.
 */
static size_t take_insn(struct uses *uses, const uint8_t *code, size_t left, uint64_t address)
{
	struct isa_insn isa;
	struct insn insn;
	uint64_t word;

	if (!isa_read(&isa, code, left) || !insn_read(&insn, code, left, address))
		return 0;
	if (!isa_word(&isa, address + isa.length, &word))
		return insn.size;
	keep(&uses->all, word);
	if (insn.to.where != INSN_REGISTER || insn.to.size != 8)
		return insn.size;
	if (insn.kind == INSN_MOVE)
		keep(&uses->loads, word);
	else if (insn.kind == INSN_LEA)
		keep(&uses->addresses, word);
	return insn.size;
}

static int read_function(struct elf_image *elf, const struct go_function *f, struct uses *uses,
			 struct fail *why)
{
	uint64_t size = f->end - f->start;
	uint8_t *code = size && size <= CODE_MAX ? malloc(size) : NULL;
	int err = code ? 0 : -ENOENT;
	size_t length = 0;

	if (!err && !budget_step(&elf->budget, size))
		err = budget_refuse(&elf->budget, why, "the code of Go's functions");
	if (!err && !elf_image_read(elf, f->start, code, size))
		err = -ENOENT;
	for (uint64_t at = 0; !err && at < size; at += length) {
		length = take_insn(uses, code + at, size - at, f->start + at);
		/* what is behind the function's end fills up */
		if (!length)
			break;
	}
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
