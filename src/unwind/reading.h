/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNWIND_READING_H
#define UNWIND_READING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/budget.h"
#include "base/map.h"
#include "base/vec.h"
#include "arch/insn.h"
#include "unwind/stack_effect.h"
#include "unwind/synthesize.h"

/*
 * Code that is read without unwind information (synthesize.c): its pieces in one buffer, what
 * is known of each place, and its instructions one at a time.
 */

/* What is known of a place where an instruction begins: its length, and these. */
#define LENGTH 0x0f
#define STARTS 0x10 /* a function starts here; known before the instruction is */
#define CALLS  0x20
#define LEAPS  0x40 /* jumps to where a register or memory says */

struct piece {
	uint64_t address;
	uint32_t at, size; /* in the buffer */
};

struct place {
	uint32_t at;
	uint16_t state;
};

struct reading {
	vec(struct piece) pieces; /* sorted by both address and place */
	uint8_t *code, *marks;
	uint16_t *states; /* of each place: 1 + index, 0: not visited */
	uint32_t size;
	vec(struct stack_state) seen;  /* all different states, the unknown one first */
	struct map index;	       /* hash of a state to 1 + its index */
	vec(struct place) ways;	       /* to be followed */
	vec(uint32_t) starts;	       /* of functions to be read */
	vec(struct code_gap) left_out; /* would be read if it was asked for */
	uint32_t tries; /* instructions that may still be looked at only to compare guesses */
	struct budget *budget; /* the image's */
	struct insn insn;      /* the one that was decoded last */
};

/*
 * Lays out the code of gaps, as far as there is room for; or their code in a part of the image, and
 * a little around it. 0 or -ENOMEM. What is there by then is freed by reading_close(), in any case.
 */
int reading_open(struct reading *r, const struct elf_image *image, const struct code_gap *gaps,
		 size_t count);
int reading_open_part(struct reading *r, const struct elf_image *image, const struct code_gap *gaps,
		      size_t count, struct code_gap part);
void reading_close(struct reading *r);

const struct piece *piece_at(const struct reading *r, uint32_t at);
/* The place of an address; false: it lies in none of the pieces. */
bool find_place(const struct reading *r, uint64_t address, uint32_t *at);

/* Decodes the instruction at a place of a piece into r->insn. False: it is none. */
bool decode(struct reading *r, const struct piece *p, uint32_t at);

/* Whether it is a jump, taken or not, that says where it leads to. */
bool jumps(const struct insn *insn);

/* The length of padding at a place: no-ops, traps, zeros. 0: it is none. */
uint32_t padding(struct reading *r, const struct piece *p, uint32_t at);

/*
 * Whether a function begins there, by its first instructions: it makes its frame pointer, saves
 * registers, or is a target of indirect calls (CET). Within a function they stand nowhere.
 */
bool looks_like_start(const struct reading *r, const struct piece *p, uint32_t at);

/*
 * What follows a place tells what must hold there (forward.c): true, with the state.
 */
bool read_forward(struct reading *r, const struct piece *p, uint32_t at, struct stack_state *state);

#endif
