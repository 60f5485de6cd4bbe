/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_KEPT_TABLES_H
#define RESOLVE_KEPT_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "bpf/unwind/abi.h"
#include "process/image.h"
#include "unwind/table.h"

/* The unwind table of an image, and what was tried to get it. */
struct image_table {
	enum unwind_mapping_kind kind; /* UNWIND_MAPPING_LATER: not tried yet */
	struct unwind_table table;
	bool asked_for_kept;	     /* the cache (below) was searched */
	bool asked_for_jit;	     /* the variable that lists JIT code was searched: */
	uint64_t jit_debug;	     /* its address in the image; 0: none */
	bool may_leave_out;	     /* code may lack unwind information, except at leaf */
	uint64_t leaf;		     /* address in the image at which a stack ended */
	const struct image *put_off; /* read this image when there is time; null: it was read */
};

/*
 * A cache of tables of files that no process maps at present, for short programs that builds and
 * scripts run again and again. Their files are not kept open, because that would prevent unmounting
 * file systems; a table is found by the identity of its file.
 */
struct kept_table {
	struct image_identity of;
	struct image_table table;
};

/* All zero is empty. */
struct kept_tables {
	vec(struct kept_table) all; /* the oldest first */
	uint64_t bytes;
};

/*
 * Adds a table. Evicts the oldest tables, and this one if needed, so that all together have at most
 * `most` bytes. Evicted memory returns to the pool.
 */
void kept_tables_put(struct kept_tables *kept, const struct image_identity *of,
		     const struct image_table *table, uint64_t most, struct unwind_pool *pool);

/* Moves the table of a file to the caller, who owns it then. False: none. */
bool kept_tables_steal(struct kept_tables *kept, const struct image_identity *of,
		       struct image_table *table);

/* Drops all tables. */
void kept_tables_drop(struct kept_tables *kept, struct unwind_pool *pool);

#endif
