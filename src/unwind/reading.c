// SPDX-License-Identifier: Apache-2.0
#include "unwind/reading.h"

#include <errno.h>
#include <stdlib.h>

#include "base/search.h"

/* Bytes of code that are read of an image. */
#define CODE_MAX (1u << 20)

/* A longer gap is read in parts, so that one that is wanted costs no more than that. */
#define PART (CODE_MAX / CODE_WANTED_MAX)

/*
 * Of a gap that is longer only what is wanted is read, and where the program begins: of programs
 * without unwind information (browsers have 200 MB) stacks lead to little, and each build of the
 * table would read as much as CODE_MAX again. Of a shorter one (V8's built-in functions have 1.5
 * MB) the first CODE_MAX are much of what stacks lead to.
 */
#define UNASKED_MAX (8 * CODE_MAX)

static bool is_wanted(const struct code_wanted *wanted, uint64_t start, uint64_t size)
{
	for (unsigned int i = 0; wanted && i < wanted->count; i++) {
		if (wanted->at[i] - start < size)
			return true;
	}
	return false;
}

static int by_address(const void *a, const void *b)
{
	const struct piece *l = a, *r = b;

	return l->address < r->address ? -1 : l->address > r->address;
}

/*
 * Goes through the parts of all gaps: those that are wanted, or the others, as far as there is
 * room.
 */
static int choose_parts(struct reading *r, uint64_t entry, const struct code_gap *gaps,
			size_t count, const struct code_wanted *wanted, bool those)
{
	size_t parts = 0;

	for (size_t i = 0; i < count && i < CODE_GAPS_MAX; i++) {
		const bool unasked = those || gaps[i].size <= UNASKED_MAX;

		for (uint64_t at = 0; at < gaps[i].size; at += PART) {
			uint64_t left = gaps[i].size - at;
			struct code_gap part = {gaps[i].start + at, left < PART ? left : PART};

			/* a gap is as long as a file claims */
			if (parts++ == CODE_GAPS_MAX || !budget_step(r->budget, 1))
				return 0;
			if (is_wanted(wanted, part.start, part.size) != those)
				continue;
			if ((unasked || entry - part.start < part.size) &&
			    part.size <= CODE_MAX - r->size) {
				if (!vec_push(&r->pieces,
					      (struct piece){.address = part.start,
							     .size = (uint32_t)part.size}))
					return -ENOMEM;
				r->size += (uint32_t)part.size;
			} else if (!vec_push(&r->left_out, part)) {
				return -ENOMEM;
			}
		}
	}
	return 0;
}

int reading_open(struct reading *r, const struct elf_image *image, const struct code_gap *gaps,
		 size_t count, const struct code_wanted *wanted)
{
	uint32_t at = 0;
	size_t last = 0;
	int err;

	err = choose_parts(r, image->entry, gaps, count, wanted, true);
	if (!err)
		err = choose_parts(r, image->entry, gaps, count, wanted, false);
	if (err)
		return err;
	if (r->pieces.count)
		qsort(r->pieces.at, r->pieces.count, sizeof(*r->pieces.at), by_address);
	for (size_t i = 1; i < r->pieces.count; i++) { /* parts of a gap belong together */
		struct piece *before = &r->pieces.at[last];

		if (before->address + before->size == r->pieces.at[i].address)
			before->size += r->pieces.at[i].size;
		else
			r->pieces.at[++last] = r->pieces.at[i];
	}
	r->pieces.count = r->pieces.count ? last + 1 : 0;
	r->code = calloc(r->size + 1, 1);
	r->marks = calloc(r->size + 1, 1);
	r->states = calloc(r->size + 1, sizeof(*r->states));
	if (!r->code || !r->marks || !r->states)
		return -ENOMEM;
	vec_foreach (&r->pieces, p) { /* what can't be read stays zero: no code */
		p->at = at;
		at += p->size;
		elf_image_read_code(image, p->address, r->code + p->at, p->size);
	}
	return 0;
}

void reading_close(struct reading *r)
{
	vec_free(&r->pieces);
	vec_free(&r->left_out);
	free(r->code);
	free(r->marks);
	free(r->states);
	vec_free(&r->seen);
	map_free(&r->index);
	vec_free(&r->ways);
	vec_free(&r->starts);
}

const struct piece *piece_at(const struct reading *r, uint32_t at)
{
	size_t count = search_first(r->pieces.count, i, r->pieces.at[i].at <= at);

	return &r->pieces.at[count ? count - 1 : 0];
}

bool find_place(const struct reading *r, uint64_t address, uint32_t *at)
{
	size_t count = search_first(r->pieces.count, i, r->pieces.at[i].address <= address);
	const struct piece *p = &r->pieces.at[count ? count - 1 : 0];

	if (address < p->address || address - p->address >= p->size)
		return false;
	*at = p->at + (uint32_t)(address - p->address);
	return true;
}

bool decode(struct reading *r, const struct piece *p, uint32_t at)
{
	return budget_step(r->budget, 1) &&
	       insn_read(&r->insn, r->code + at, p->at + p->size - at, p->address + (at - p->at));
}

bool is_end(const struct insn *insn)
{
	return insn->kind == INSN_JUMP || insn->kind == INSN_RETURN || insn->kind == INSN_STOP;
}

bool jumps(const struct insn *insn)
{
	return insn->has_target && insn->kind != INSN_CALL;
}

uint32_t padding(struct reading *r, const struct piece *p, uint32_t at)
{
	uint32_t end = p->at + p->size, n = 0;

	while (at + n < end && !r->states[at + n] && !(r->marks[at + n] & STARTS) &&
	       (r->code[at + n] == 0xcc || r->code[at + n] == 0))
		n++;
	if (n)
		return n;
	/* 90, 66…, 0f 1f…, and cs: in between */
	if (r->code[at] != 0x90 && r->code[at] != 0x66 && r->code[at] != 0x0f &&
	    r->code[at] != 0x2e)
		return 0;
	return decode(r, p, at) && r->insn.kind == INSN_NOP ? r->insn.size : 0;
}
