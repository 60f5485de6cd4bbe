/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_CATALOGUE_BLOCKS_H
#define FILM_CATALOGUE_BLOCKS_H

#include "film/batch.h"
#include "film/column.h"

/*
 * The catalogue (functions, frames, stacks …), on its way from a batch to rows of its tables. All
 * zero is empty.
 */
struct film_catalogue {
	struct columns columns;
	struct buf row;
};

/*
 * Makes blocks of what is new in batch and hands each to write() as one operation of
 * film_put_row(). Returns SQLITE_OK, SQLITE_NOMEM, or what write() returned that was not SQLITE_OK.
 */
int film_catalogue_write(struct film_catalogue *c, struct film_batch *batch,
			 int (*write)(void *context, const struct buf *row), void *context);
void film_catalogue_free(struct film_catalogue *c);

#endif
