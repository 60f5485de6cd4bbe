/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_ROW_H
#define FILM_ROW_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include "film/arena.h"

/*
 * A row of a table of a film, which may hold anything. What is wrong with it sets err, to -EBADMSG
 * or -ENOMEM, and is taken as 0 or "".
 */
struct film_row {
	sqlite3_stmt *at;
	int err;
	struct arena *texts; /* where texts are kept */
	uint64_t *text_left; /* bytes of them that may still come */
	void *context;	     /* of who takes it */
};

/* A number from 0 to max. SQLite keeps any type in any column, so the type is checked too. */
uint64_t row_number(struct film_row *r, int column, uint64_t max);
uint32_t row_number32(struct film_row *r, int column, uint64_t max);

/* An id of a table that holds count entries, the unused one of id 0 included. */
uint32_t row_id(struct film_row *r, int column, size_t count);

/* Checks that the ids of a table are 1, 2, 3 …, at most max: count is the next one. */
void row_check_id(struct film_row *r, size_t count, uint64_t max);

const char *row_text(struct film_row *r, int column);

/* Live until the next row. */
const void *row_bytes(struct film_row *r, int column, size_t *size);

#endif
