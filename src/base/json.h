/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Writes one JSON value as a stream: commas and quoting are done here, nesting is the caller's.
 * Strings may hold anything: what is not valid UTF-8 becomes U+FFFD, so that every parser takes it;
 * '<', '>' and '&' are escaped, so that the text can stand inside a page, and so are controls and
 * marks that change the direction of text, so that it can be printed.
 * A null key means: an item of an array, or the outermost value.
 */
struct json {
	FILE *out;
	bool follows; /* something stands before at this level */
	/*
	 * What is written gathers there, if there is a buffer, until it is full or json_flush()
	 * gives it to out: some times faster for many short values. used: bytes in it.
	 */
	char *buffer;
	size_t room, used;
};

void json_flush(struct json *j);

void json_open(struct json *j, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json *j, char bracket);		       /* '}' or ']' */
void json_text(struct json *j, const char *key, const char *value);
/* The same of size bytes; zero bytes become U+FFFD, too. */
void json_bytes(struct json *j, const char *key, const char *value, size_t size);
void json_u64(struct json *j, const char *key, uint64_t value);
void json_i64(struct json *j, const char *key, int64_t value);
void json_thousandths(struct json *j, const char *key, int64_t value); /* 1500: 1.500 */
void json_double(struct json *j, const char *key, double value);       /* finite; else null */
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);

#endif
