/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNWIND_CODE_STARTS_H
#define UNWIND_CODE_STARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/*
 * Where functions begin in x86-64 code that no unwind information describes, by decoding it: behind
 * code that does not lead on and that nothing jumps over, where a call leads to, at a symbol, at a
 * compiler's prologue. That is a guess. A function that jumps into the middle of another one counts
 * as a part of that one.
 */

/* How much is decoded on each side of an address: functions are seldom longer. */
#define CODE_STARTS_REACH 16384

struct code_function {
	uint64_t start, size;
};

/* In the order of their starts, none twice. */
typedef vec(struct code_function) code_functions;

struct code_starts_of {
	const uint8_t *code; /* size bytes, from address on */
	size_t size;
	uint64_t address;
	bool is_aligned; /* functions of this image begin on borders of 16 bytes */
	/* a function begins at address; else what is before the first start found is unknown */
	bool is_start;
	bool is_end;	       /* and none goes on behind the code */
	const uint64_t *known; /* sorted addresses at which functions begin, as symbols say */
	size_t known_count;
};

/* Adds the functions that lie in the code as a whole. 0 or -ENOMEM. */
int code_starts_add(const struct code_starts_of *of, code_functions *functions);

/*
 * Does the code lead from its first byte to the instruction that holds the byte `to`, other than by
 * a jump forward that is always taken? (That may lead to another function.)
 */
bool code_leads_to(const uint8_t *code, size_t size, size_t to);

/*
 * The start of the function of compiled Lisp around an address (SBCL): its code lies in a file that
 * is not an ELF image, with data in between, which makes decoding from somewhere before useless.
 * Each function begins on a border of 16 bytes by popping the return address to where its frame has
 * it. code ends at the address. Returns the distance back to the start; 0: there is none.
 */
size_t code_starts_of_lisp(const uint8_t *code, size_t size, uint64_t address);

#endif
