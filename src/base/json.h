/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Writes one JSON value as a stream: it adds commas and quotes; the caller opens and closes
 * brackets. Strings may contain any bytes: invalid UTF-8 becomes U+FFFD, so that every parser
 * accepts the text; '<', '>' and '&' are escaped, so that it can be embedded in HTML; control
 * characters and marks that change the direction of text are escaped, so that it can be printed.
 * key is null for items of arrays and for the outermost value.
 */
struct json {
	FILE *out;
	bool follows; /* the present level already has a value, so a comma is needed */
	/*
	 * Optional buffer of room bytes, of which used are filled. Output collects there until the
	 * buffer is full or json_flush() writes it to out: several times faster for many short
	 * values.
	 */
	char *buffer;
	size_t room, used;
};

void json_flush(struct json *j);

void json_open(struct json *j, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json *j, char bracket);		       /* '}' or ']' */
void json_text(struct json *j, const char *key, const char *value);
/* The same for size bytes; zero bytes become U+FFFD, too. */
void json_bytes(struct json *j, const char *key, const char *value, size_t size);
void json_u64(struct json *j, const char *key, uint64_t value);
void json_i64(struct json *j, const char *key, int64_t value);
void json_thousandths(struct json *j, const char *key, int64_t value); /* 1500: 1.500 */
void json_double(struct json *j, const char *key, double value);       /* finite; else null */
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);

#endif
