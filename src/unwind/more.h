/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNWIND_MORE_H
#define UNWIND_MORE_H

#include <stdint.h>

#include "unwind/gaps.h"
#include "unwind/table.h"

/*
 * Reads code that a table has left out (UNWIND_CFA_LATER) when a stack leads there, a block at a
 * time: what was read before stays as it is, and the rest of the table, too. What is found in a
 * block does not depend on the order in which blocks are read.
 */

/* Stacks lead all over a large program: of larger blocks, most code would be read for nothing. */
#define MORE_BLOCK_BYTES (16u << 10)

/*
 * At most this many blocks of an image are read when stacks ask for them, and only as long as its
 * table takes no more than unwind_pool_share(): then the rest has no rule.
 */
#define MORE_BLOCKS_MAX 4096

/*
 * Where the image that was asked for last has code without unwind information: to look for that
 * takes longer than to read a block. All zero: none was.
 */
struct more {
	uint64_t of; /* 1 + its number */
	struct gaps gaps;
};

/*
 * Reads the block around address (of the image) from the file open at fd; number: no other image
 * has it before more_forget(). The table changes only if all went well, and its directory is
 * another one then: what shows it must be shown anew, and the old one is given back, as the pages
 * are that changed. 0; -ENOENT: nothing was left out there, or can be read; or another negative
 * errno.
 */
int more_read(struct more *more, uint64_t number, int fd, uint64_t address,
	      struct unwind_pool *pool, struct unwind_rules *rules,
	      const struct unwind_rule *rule_memory, struct unwind_table *table);

/* The image is gone. */
void more_forget(struct more *more, uint64_t number);
void more_free(struct more *more);

#endif
