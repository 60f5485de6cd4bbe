/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNWIND_SYNTHESIZE_H
#define UNWIND_SYNTHESIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/unwind/abi.h"
#include "elf/image.h"

/*
 * Rules for code that has no unwind information: start-up code, assembler, libraries that were
 * built without any (musl's). Each function is read from its start on, and what its instructions do
 * to the stack pointer says where the return address is. That is a guess, and the rules say so.
 */

/* Code that no unwind information describes. */
struct code_gap {
	uint64_t start, size;
};

/* At most this many are read of an image. */
#define CODE_GAPS_MAX 65536

/* From address on this rule holds, up to the next one; its until is 0. The last says "none". */
struct guess {
	uint64_t address;
	struct unwind_rule rule;
};

struct guesses {
	struct guess *at;
	size_t count, room;
};

/*
 * Fills guesses, in the order of addresses, for the gaps (sorted, not overlapping). If they are too
 * much code, the rule of what is left out is UNWIND_CFA_LATER. The image's entry point has no
 * caller. 0 or -ENOMEM.
 */
int synthesize(struct elf_image *image, const struct code_gap *gaps, size_t count,
	       struct guesses *guesses);

/*
 * The same of the gaps' code in a part of the image, and of a little before and behind it, since
 * functions lie across its ends. What is guessed depends on nothing that was read before.
 */
int synthesize_part(struct elf_image *image, const struct code_gap *gaps, size_t count,
		    struct code_gap part, struct guesses *guesses);

#endif
