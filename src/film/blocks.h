/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_BLOCKS_H
#define FILM_BLOCKS_H

#include "film/batch.h"
#include "film/calls.h"
#include "film/column.h"

/* What was observed, on its way from a batch to rows of the table block. All zero is empty. */
struct film_blocks {
	struct columns columns;
	struct calls_packer calls;
	struct buf row;
};

/*
 * Packs rows (at least one, at most FILM_BLOCK_MAX, in the order of their kind) into
 * b->columns.packed, and says in *span what they are; t0 and t1 of FILM_SPAN_GIVEN are there
 * already. 0, or a negative errno.
 */
int film_block_pack(struct film_blocks *b, const struct film_kind *kind, const void *rows,
		    size_t count, struct film_span *span);

/*
 * Makes blocks of all that batch has piled up and hands each to write() as one operation of
 * film_put_row(). Returns SQLITE_OK, SQLITE_NOMEM, or what write() returned that was not SQLITE_OK.
 */
int film_blocks_write(struct film_blocks *b, struct film_batch *batch,
		      int (*write)(void *context, const struct buf *row), void *context);
void film_blocks_free(struct film_blocks *b);

#endif
