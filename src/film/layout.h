/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_LAYOUT_H
#define FILM_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "film/column.h"

/*
 * What the rows of a block consist of: a table of columns, and the loops over it. The kinds of
 * blocks of what was observed are in kinds.c, those of the catalogue in catalogue.c; doc/film.md
 * describes all of them.
 */

/* What the numbers of a column are ids of. */
enum layout_table {
	LAYOUT_NUMBER, /* of nothing: just numbers */
	LAYOUT_THREAD,
	LAYOUT_STACK,
	LAYOUT_FRAME,
	LAYOUT_IMAGE,
	LAYOUT_FUNCTION,
	LAYOUT_FILE,
	LAYOUT_TABLES,
};

/* How the numbers of a column stand in a block. Differences are modulo 2^64. */
enum layout_how {
	LAYOUT_AS_IS,
	/* as they are; hardly one is there twice, as with times, so a dictionary is not tried */
	LAYOUT_NOISE,
	LAYOUT_STEP, /* less the number of the row before; that of the first row as it is */
	LAYOUT_RISE, /* the same, and never 0 */
	/*
	 * ids of the table that the rows are of, each smaller than its row's: the row's id less it;
	 * 0: none
	 */
	LAYOUT_BACK,
};

struct layout_column {
	const char *name;
	uint16_t at;   /* where it lies in the struct of a row, */
	uint8_t size;  /* and its bytes there: 1, 2, 4 or 8 */
	uint16_t view; /* where the struct that has columns points to it, if there is one */
	enum layout_table id_of;
	enum layout_how how;
	bool needed; /* it is not 0 */
	/*
	 * the last ones: blocks of earlier versions, and those in which they are all 0, end before
	 * it, and it is 0 there
	 */
	bool later;
	uint32_t most; /* 0: what its bytes can hold */
};

/* A column of that name in struct row; the rest is as in struct layout_column. */
#define LAYOUT_COLUMN(row, member, ...)                                  \
	{                                                                \
		.name = #member, .at = offsetof(struct row, member),     \
		.size = sizeof(((struct row *)0)->member), ##__VA_ARGS__ \
	}

struct layout {
	const struct layout_column *columns;
	unsigned int count;
	size_t row_size;
	/*
	 * of the struct that has columns (of 8 bytes, else of 4), which begins with a size_t count;
	 * 0: there is none
	 */
	size_t view_size;
};

enum {
	LAYOUT_COLUMNS_MAX = 64
};

/* How many entries each table has, the unused one of id 0 included. */
struct layout_limits {
	uint64_t of[LAYOUT_TABLES];
};

/* The numbers of a column in memory. */
struct layout_cells {
	uint8_t *at;
	size_t stride;
	uint8_t size; /* bytes of each: 1, 2, 4 or 8 */
};

/* A number of that many bytes. */
static inline uint64_t layout_number(const void *at, uint8_t size)
{
	uint64_t number = 0;
	uint32_t word;
	uint16_t half;

	switch (size) {
	case sizeof(number):
		memcpy(&number, at, sizeof(number));
		return number;
	case sizeof(word):
		memcpy(&word, at, sizeof(word));
		return word;
	case sizeof(half):
		memcpy(&half, at, sizeof(half));
		return half;
	default:
		return *(const uint8_t *)at;
	}
}

/* What stands in a column of a row. */
static inline uint64_t layout_number_in(const struct layout_column *column, const void *row)
{
	return layout_number((const uint8_t *)row + column->at, column->size);
}

/* The numbers of all rows, into and out of cells. */
void layout_gather(const struct layout_cells *cells, uint64_t *numbers, size_t count);
void layout_scatter(const struct layout_cells *cells, const uint64_t *numbers, size_t count);

/* The cells of a column of rows. */
struct layout_cells layout_of_rows(const struct layout *layout, unsigned int column,
				   const void *rows);

/* Puts the columns of rows, the first of which has the id first in its table (for LAYOUT_BACK). */
void layout_put(struct columns *c, const struct layout *layout, uint64_t first, const void *rows,
		size_t count);

/*
 * Reads the same into cells, one entry for each column. -EBADMSG: a number is not what it may
 * be.
 */
int layout_read(struct column_reader *r, const struct layout *layout,
		const struct layout_limits *limits, uint64_t first,
		const struct layout_cells *cells, size_t count, uint64_t *scratch);

/* Packs a whole block of nothing else into c->packed. 0, or a negative errno. */
int layout_pack(struct columns *c, const struct layout *layout, uint64_t first, const void *rows,
		size_t count);

/* Takes such a block apart into rows; what the struct has besides the columns stays as it is. */
int layout_unpack(struct column_reader *r, const struct layout *layout,
		  const struct layout_limits *limits, uint64_t first, const void *data, size_t size,
		  void *rows, size_t count);

/* True if each id of the rows is in its table. */
bool layout_ids_ok(const struct layout *layout, const struct layout_limits *limits,
		   const void *rows, size_t count);

#endif
