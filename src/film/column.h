/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_COLUMN_H
#define FILM_COLUMN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"

/*
 * Columns of unsigned 64-bit numbers, packed into one zstd frame with a checksum. What a block
 * holds is the business of its layout (layout.h); how numbers become few bytes is the business of
 * this file.
 *
 * A column starts with one byte, its encoding; all sums are modulo 2^64:
 *
 *	0 constant	varint value
 *	1 plain		varint base, u8 width, width planes of count bytes;
 *			value[i] = base + the number whose byte k is plane k's byte i
 *	2 delta		varint first, zigzag varint base, u8 width, width planes of count - 1 bytes;
 *			value[i] = value[i - 1] + base + the number from the planes
 *	3 dictionary	varint size, a column of size values, a column of count indices into them;
 *			neither of the two is itself a dictionary
 *
 * Numbers are cut into planes (all lowest bytes, then all second bytes …) because bytes of the same
 * meaning compress best together; within a zstd frame each long plane has its own entropy table.
 */
struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

/* Levels for what is written once and kept. */
enum {
	COLUMNS_SMALL = 9,
	COLUMNS_SMALLEST = 16, /* some 200 ms of CPU for a MB */
};

struct columns {
	struct buf plain, packed;
	vec(size_t) cuts; /* offsets in plain where a zstd block ends */
	vec(uint64_t) scratch;
	vec(uint64_t) gathered; /* of the layout of rows that are put: its columns */
	struct ZSTD_CCtx_s *zstd;
	bool failed;
	bool is_fast; /* of the block that was begun: time counts more than its last bytes */
	/*
	 * of all blocks, fast or not: the level of zstd; 0: one for what is written while a program
	 * is observed
	 */
	int level;
};

/* Forgets what was put, to begin a block. */
void columns_begin(struct columns *c);
/* Adds a column; count is at least 1. */
void columns_put(struct columns *c, const uint64_t *values, size_t count);
/* The same for numbers that hardly repeat, such as times: a dictionary is not even tried. */
void columns_put_numbers(struct columns *c, const uint64_t *values, size_t count);
/* The same for numbers that are all one. */
void columns_put_constant(struct columns *c, uint64_t value);
/* Adds bytes as they are; their number must be known from a column. */
void columns_put_bytes(struct columns *c, const void *bytes, size_t count);
/* Compresses what was put into c->packed. 0, or a negative errno. */
int columns_end(struct columns *c);
void columns_free(struct columns *c);

/* Takes blocks apart; one of these serves many blocks. All zero is empty. */
struct column_reader {
	struct bytes left; /* of the block at hand */
	uint8_t *plain;
	size_t room;
	vec(uint64_t) scratch;
	struct ZSTD_DCtx_s *zstd;
};

/*
 * Decompresses a block that holds at most columns columns of count numbers each and text bytes:
 * more is refused, so that a small block cannot ask for much memory. -EBADMSG: the data is not
 * valid; -ENOMEM.
 */
int column_reader_begin(struct column_reader *r, const void *data, size_t size, size_t count,
			unsigned int columns, size_t text);
/* Whether all numbers of the next column are the same; if so, which, and it is read. */
bool column_reader_constant(struct column_reader *r, uint64_t *value);
/* The next column. -EBADMSG if it is not valid. */
int column_reader_get(struct column_reader *r, uint64_t *values, size_t count);
/* The next count bytes, which live until the next block; null if there are fewer. */
const void *column_reader_bytes(struct column_reader *r, size_t count);
/* 0, or -EBADMSG if something is left after the last column. */
int column_reader_end(const struct column_reader *r);
void column_reader_free(struct column_reader *r);

#endif
