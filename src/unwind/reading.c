// SPDX-License-Identifier: Apache-2.0
#include "unwind/reading.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/isa.h"
#include "arch/shapes.h"
#include "base/search.h"

/* Bytes of code that are read of an image before stacks lead there. */
#define CODE_MAX (1u << 20)

/* Compilers align functions that are larger than that. */
#define FUNCTION_ALIGNMENT 16

/* A longer gap is read in parts. */
#define PART (CODE_MAX / 8)

/*
 * What is read before and behind a part that a stack has led to: most functions that lie across its
 * ends are then read from their beginning on.
 */
#define AROUND (8u << 10)

/*
 * Of a gap that is longer only what stacks lead to is read, and where the program begins: of
 * programs without unwind information (browsers have 200 MB) they lead to little. Of a shorter one
 * (V8's built-in functions have 1.5 MB) the first CODE_MAX are much of what stacks lead to.
 */
#define UNASKED_MAX (8 * CODE_MAX)

static int by_address(const void *a, const void *b)
{
	const struct piece *l = a, *r = b;

	return l->address < r->address ? -1 : l->address > r->address;
}

static int add_piece(struct reading *r, uint64_t address, uint64_t size)
{
	if (!vec_push(&r->pieces, (struct piece){.address = address, .size = (uint32_t)size}))
		return -ENOMEM;
	r->size += (uint32_t)size;
	return 0;
}

/* Goes through the parts of all gaps, and takes them as far as there is room. */
static int choose_parts(struct reading *r, uint64_t entry, const struct code_gap *gaps,
			size_t count)
{
	size_t parts = 0;
	int err = 0;

	for (size_t i = 0; i < count && i < CODE_GAPS_MAX; i++) {
		const bool unasked = gaps[i].size <= UNASKED_MAX;

		for (uint64_t at = 0; !err && at < gaps[i].size; at += PART) {
			uint64_t left = gaps[i].size - at;
			struct code_gap part = {gaps[i].start + at, left < PART ? left : PART};

			/* a gap is as long as a file claims */
			if (parts++ == CODE_GAPS_MAX || !budget_step(r->budget, 1))
				return 0;
			if ((unasked || entry - part.start < part.size) &&
			    part.size <= CODE_MAX - r->size)
				err = add_piece(r, part.start, part.size);
			else if (!vec_push(&r->left_out, part))
				err = -ENOMEM;
		}
	}
	return err;
}

/* Reads the code of all pieces; those that touch become one. */
static int lay_out(struct reading *r, const struct elf_image *image)
{
	uint32_t at = 0;
	size_t last = 0;

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

int reading_open(struct reading *r, const struct elf_image *image, const struct code_gap *gaps,
		 size_t count)
{
	int err = choose_parts(r, image->entry, gaps, count);

	return err ? err : lay_out(r, image);
}

int reading_open_part(struct reading *r, const struct elf_image *image, const struct code_gap *gaps,
		      size_t count, struct code_gap part)
{
	const uint64_t from = part.start < AROUND ? 0 : part.start - AROUND;
	const uint64_t to = part.start + part.size + AROUND;
	int err = 0;

	for (size_t i = 0; !err && i < count && gaps[i].start < to; i++) {
		uint64_t start = gaps[i].start > from ? gaps[i].start : from;
		uint64_t end = gaps[i].start + gaps[i].size;

		if (end > to)
			end = to;
		if (start < end)
			err = add_piece(r, start, end - start);
	}
	return err ? err : lay_out(r, image);
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

bool jumps(const struct insn *insn)
{
	return insn->has_target && insn->kind != INSN_CALL;
}

uint32_t padding(struct reading *r, const struct piece *p, uint32_t at)
{
	uint32_t end = p->at + p->size, n = 0;

	while (at + n < end && !r->states[at + n] && !(r->marks[at + n] & STARTS) &&
	       shape_fills(r->code[at + n]))
		n++;
	if (n)
		return n;
	if (!shape_may_pad(r->code[at]))
		return 0;
	return decode(r, p, at) && r->insn.kind == INSN_NOP ? r->insn.size : 0;
}

bool looks_like_start(const struct reading *r, const struct piece *p, uint32_t at)
{
	const uint8_t *code = r->code + at;
	const size_t size = p->at + p->size - at;

	if (shape_makes_frame(code, size))
		return true;
	/* functions are aligned; a landing mark also stands behind setjmp() */
	return (p->address + (at - p->at)) % FUNCTION_ALIGNMENT == 0 &&
	       (isa_landing(code, size) || shape_saves_registers(code, size));
}
