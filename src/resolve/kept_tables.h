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

/* What has been tried for an image. */
struct image_table {
	enum unwind_mapping_kind kind; /* UNWIND_MAPPING_LATER: not tried yet */
	struct unwind_table table;
	bool asked_for_kept;	     /* whether its table is kept (below) */
	bool asked_for_jit;	     /* whether it has the variable that such a list begins at: */
	uint64_t jit_debug;	     /* its address in the image; 0: no */
	bool may_leave_out;	     /* code without unwind information, unless it is at leaf */
	uint64_t leaf;		     /* where a stack has led to, in the image */
	const struct image *put_off; /* it is to be read when there is time; null: it was */
};

/*
 * Tables of files that no process maps at the moment. The programs of builds and scripts run for a
 * moment, again and again. Their files are not kept open in between, since that would keep file
 * systems from being unmounted; so a table is known by what its file was.
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
 * Keeps a table, at most most bytes of all of them together: the oldest ones go, also this one if
 * need be. Their memory goes back to the pool.
 */
void kept_tables_put(struct kept_tables *kept, const struct image_identity *of,
		     const struct image_table *table, uint64_t most, struct unwind_pool *pool);

/* Takes out the table of that file, which is the caller's then. False: there is none. */
bool kept_tables_take(struct kept_tables *kept, const struct image_identity *of,
		      struct image_table *table);

/* Drops all of them. */
void kept_tables_drop(struct kept_tables *kept, struct unwind_pool *pool);

#endif
