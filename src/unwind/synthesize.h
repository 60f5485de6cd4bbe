/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNWIND_SYNTHESIZE_H
#define UNWIND_SYNTHESIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/unwind_abi.h"
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

/*
 * What stacks have led to. at: of an image with more such code than is read at once, the addresses
 * of what was left out.
 */
#define CODE_WANTED_MAX 8
struct code_wanted {
	uint64_t at[CODE_WANTED_MAX];
	unsigned int count;
	/*
	 * All such code may be left out at first, if this address, which a stack has led to, lies
	 * elsewhere: to read it takes most of the time, and most stacks never lead there. For
	 * unwind_table_of_file_with().
	 */
	bool may_leave_out;
	uint64_t leaf;
};

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
 * much code, what is wanted (null: nothing) is read first, and the rule of what is left out is
 * UNWIND_CFA_LATER, until there are CODE_WANTED_MAX; then it has none. The image's entry point has
 * no caller. 0 or -ENOMEM.
 */
int synthesize(struct elf_image *image, const struct code_gap *gaps, size_t count,
	       const struct code_wanted *wanted, struct guesses *guesses);

#endif
