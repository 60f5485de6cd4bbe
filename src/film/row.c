// SPDX-License-Identifier: Apache-2.0
#include "film/row.h"

#include <errno.h>
#include <string.h>

#include "film/schema.h"

uint64_t row_number(struct film_row *r, int column, uint64_t max)
{
	uint64_t value = (uint64_t)sqlite3_column_int64(r->at, column);

	if (sqlite3_column_type(r->at, column) == SQLITE_INTEGER && value <= max)
		return value;
	r->err = -EBADMSG;
	return 0;
}

uint32_t row_number32(struct film_row *r, int column, uint64_t max)
{
	return (uint32_t)row_number(r, column, max);
}

uint32_t row_id(struct film_row *r, int column, size_t count)
{
	return row_number32(r, column, count - 1);
}

void row_check_id(struct film_row *r, size_t count, uint64_t max)
{
	if (row_number(r, 0, max) != count)
		r->err = -EBADMSG;
}

const char *row_text(struct film_row *r, int column)
{
	const char *s = NULL;
	size_t size;

	if (sqlite3_column_type(r->at, column) == SQLITE_TEXT)
		s = (const char *)sqlite3_column_text(r->at, column);
	size = s ? (size_t)sqlite3_column_bytes(r->at, column) : 0;
	if (!s || size > FILM_TEXT_MAX || size > *r->text_left || memchr(s, 0, size)) {
		r->err = -EBADMSG;
		return "";
	}
	if (!size)
		return "";
	*r->text_left -= size;
	s = arena_text(r->texts, s, size);
	if (!s)
		r->err = -ENOMEM;
	return s ? s : "";
}

const void *row_bytes(struct film_row *r, int column, size_t *size)
{
	const void *at;

	if (sqlite3_column_type(r->at, column) != SQLITE_BLOB)
		r->err = -EBADMSG;
	at = sqlite3_column_blob(r->at, column);
	*size = at ? (size_t)sqlite3_column_bytes(r->at, column) : 0;
	return at;
}
