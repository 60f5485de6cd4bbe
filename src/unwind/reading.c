// SPDX-License-Identifier: Apache-2.0
#include "unwind/reading.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"

/* Bytes of code that are read of an image; each takes about 0.1 us to be disassembled. */
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

static int lay_out(struct reading *r, const struct elf_image *image, const struct code_gap *gaps,
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

int reading_open(struct reading *r, const struct elf_image *image, const struct code_gap *gaps,
		 size_t count, const struct code_wanted *wanted)
{
	int err = lay_out(r, image, gaps, count, wanted);

	if (err || !r->size)
		return err;
	return disassembler_open(&r->dis);
}

void reading_close(struct reading *r)
{
	disassembler_close(&r->dis);
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

/* Bytes of a ModRM byte and what belongs to it. */
static uint32_t operand_size(const uint8_t *code, uint32_t left)
{
	uint8_t mod, rm;

	if (left < 2)
		return 16;
	mod = code[0] >> 6;
	rm = code[0] & 7;
	if (mod == 3)
		return 1;
	if (rm == 4)
		return 2 + (mod == 1 ? 1 : mod == 2 || (code[1] & 7) == 5 ? 4 : 0);
	return 1 + (mod == 1 ? 1 : mod == 2 || rm == 5 ? 4 : 0);
}

/*
 * Whether an instruction of that map with a VEX or EVEX prefix only reads and writes vectors, masks
 * and memory.
 */
static bool is_vector_only(unsigned int map, uint8_t opcode)
{
	switch (map) {
	case 1:
		switch (opcode) {
		case 0x2c: /* conversions to integers, */
		case 0x2d:
		case 0x50: /* vmovmskps, */
		case 0x78:
		case 0x79:
		case 0x7e: /* vmovd, */
		case 0x93: /* kmov, */
		case 0xc5: /* vpextrw, */
		case 0xd7: /* vpmovmskb */
			return false;
		default:
			return true;
		}
	case 2:
		return opcode < 0xf0; /* behind it: andn, bzhi, shlx */
	case 3:
		return (opcode < 0x14 || opcode > 0x17) && opcode != 0xf0; /* vpextr, rorx */
	default:
		return false;
	}
}

static bool has_immediate(unsigned int map, uint8_t opcode)
{
	return map == 3 || (map == 1 && ((opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 ||
					 opcode == 0xc4 || opcode == 0xc6));
}

/*
 * The size of an instruction with a VEX or EVEX prefix (Intel's manual, volume 2, 2.3 and 2.7) that
 * only works on vectors; 0: it is another one.
 */
static uint32_t vector_size(const uint8_t *code, uint32_t left)
{
	unsigned int map;
	uint32_t prefix, size;

	if (left < 6)
		return 0;
	switch (code[0]) {
	case 0xc5:
		prefix = 2;
		map = 1;
		break;
	case 0xc4:
		prefix = 3;
		map = code[1] & 31;
		break;
	case 0x62:
		prefix = 4;
		map = code[1] & 7;
		break;
	default:
		return 0;
	}
	if (prefix == 2 && code[2] == 0x77) /* vzeroupper has no operands */
		return 3;
	if (!is_vector_only(map, code[prefix]))
		return 0;
	size = prefix + 1 + operand_size(code + prefix + 1, left - prefix - 1) +
	       has_immediate(map, code[prefix]);
	return size <= LENGTH && size <= left ? size : 0;
}

bool decode(struct reading *r, const struct piece *p, uint32_t at)
{
	const uint8_t *code = r->code + at;
	uint32_t size = vector_size(code, p->at + p->size - at);
	uint64_t address = p->address + (at - p->at);
	size_t left = p->at + p->size - at;

	if (!budget_step(r->budget, 1))
		return false;
	if (size) {
		r->dis.insn->id = X86_INS_VZEROALL;
		r->dis.insn->address = address;
		r->dis.insn->size = (uint16_t)size;
		memset(r->dis.insn->detail, 0, sizeof(*r->dis.insn->detail));
		return true;
	}
	return disassembler_read(&r->dis, code, left, address) && r->dis.insn->size <= LENGTH;
}

bool is_end(const cs_insn *insn)
{
	switch (insn->id) {
	case X86_INS_JMP:
	case X86_INS_LJMP:
	case X86_INS_RET:
	case X86_INS_RETF:
	case X86_INS_RETFQ:
	case X86_INS_IRET:
	case X86_INS_IRETD:
	case X86_INS_IRETQ:
	case X86_INS_HLT:
	case X86_INS_UD2:
	case X86_INS_INT3:
		return true;
	default:
		return false;
	}
}

const int64_t *jumps_to(const cs_insn *insn)
{
	return insn->id == X86_INS_CALL ? NULL : insn_target(insn);
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
	return decode(r, p, at) && r->dis.insn->id == X86_INS_NOP ? r->dis.insn->size : 0;
}
