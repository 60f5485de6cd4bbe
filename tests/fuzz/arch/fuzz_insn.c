// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as code of x86-64. What is read of an instruction depends on its own bytes alone, and
 * needs all of them. Each stands right before a page that cannot be read, as nothing behind it may
 * be looked at.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "../check.h"
#include "arch/insn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INSN_MOST 15
#define PAGE	  ((size_t)4096)
#define ADDRESS	  0x7ffffffffff0ull /* a distance may lead beyond either end */

static void check_operand(const struct insn_operand *o)
{
	check(o->where <= INSN_NUMBER);
	check(o->reg >= -1 && o->reg < 16);
	if (o->where == INSN_NOWHERE)
		return;
	check(o->base >= -1 && o->base <= INSN_BASE_NEXT);
	check(o->where == INSN_MEMORY || (o->base == -1 && !o->has_index));
	check(o->where != INSN_MEMORY || o->reg == -1 || o->reg == o->base);
	check(o->size == 1 || o->size == 2 || o->size == 4 || o->size == 8);
	check(o->where != INSN_REGISTER || o->reg >= 0);
	check(o->where != INSN_NUMBER || o->reg == -1);
	check(o->where != INSN_MEMORY || (o->number >= INT32_MIN && o->number <= INT32_MAX));
}

static void check_flow(const struct insn *insn)
{
	bool jumps = insn->kind == INSN_JUMP || insn->kind == INSN_BRANCH;

	check(!insn->has_target || jumps || insn->kind == INSN_CALL);
	check(insn->kind != INSN_BRANCH || insn->has_target);
	check(!insn->calls_next || (insn->kind == INSN_CALL && insn->has_target &&
				    insn->target == ADDRESS + insn->size));
	check(insn->has_target || !insn->target);
	check(!insn_ends(insn) || !insn->to.where);
}

static bool is_same(const struct insn_operand *a, const struct insn_operand *b)
{
	return a->where == b->where && a->size == b->size && a->reg == b->reg &&
	       a->number == b->number;
}

/* Reads what has just these bytes. */
static bool read_alone(struct insn *insn, const uint8_t *code, size_t size)
{
	static uint8_t *end;

	if (!end) {
		end = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			   0);
		check(end != MAP_FAILED && !mprotect(end + PAGE, PAGE, PROT_NONE));
		end += PAGE;
	}
	size = size < PAGE ? size : PAGE;
	memcpy(end - size, code, size);
	return insn_read(insn, end - size, size, ADDRESS);
}

/* Returns how many bytes it has. */
static size_t check_one(const uint8_t *code, size_t left)
{
	struct insn_operand stores;
	struct insn insn, alone;

	if (!read_alone(&insn, code, left))
		return 1;
	check(insn.size && insn.size <= INSN_MOST && insn.size <= left);
	check(insn.kind <= INSN_NOP);
	check_operand(&insn.to);
	check_operand(&insn.from);
	check_flow(&insn);
	stores = insn_stores(code, left);
	check(stores.where == INSN_NOWHERE || stores.where == INSN_MEMORY);
	check(read_alone(&alone, code, insn.size));
	check(alone.size == insn.size && alone.kind == insn.kind && alone.writes == insn.writes &&
	      alone.is_short == insn.is_short && alone.has_target == insn.has_target &&
	      alone.calls_next == insn.calls_next && alone.target == insn.target &&
	      is_same(&alone.to, &insn.to) && is_same(&alone.from, &insn.from));
	for (size_t size = 0; size < insn.size; size++)
		check(!read_alone(&alone, code, size));
	return insn.size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* as a program has them; and where prefixes or the middle of one may be jumped to */
	for (size_t at = 0; at < size; at += check_one(data + at, size - at))
		;
	if (size <= INSN_MOST * 4)
		for (size_t at = 1; at < size; at++)
			check_one(data + at, size - at);
	return 0;
}
