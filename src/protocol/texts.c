// SPDX-License-Identifier: Apache-2.0
#include "protocol/protocol.h"

#include <ctype.h>
#include <string.h>

/* One of hexadecimal digits alone. */
#define HEX_LEAST 8

bool protocol_put_text(char *to, size_t size, const void *text, size_t bytes)
{
	const unsigned char *from = text;
	size_t used = 0;

	for (; bytes && used + 1 < size && *from; bytes--, from++)
		to[used++] = (char)(*from < ' ' || *from == 0x7f ? '?' : *from);
	to[used] = 0;
	return !bytes;
}

/* What stands in a path for one of many things. */
static bool is_id(const char *word, size_t length)
{
	size_t digits = 0, hex = 0, others = 0;

	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)word[i];

		if (isdigit(c))
			digits++;
		else if (isxdigit(c) || c == '-')
			hex++;
		else if (c >= 0x80 || c == '%')
			return true;
		else
			others++;
	}
	if (digits && !others && (!hex || length >= HEX_LEAST))
		return true;
	return protocol_is_random(word, length);
}

/* The length of a word without the number at its end, "user" of "user12"; of a version all. */
static size_t without_number(const char *word, size_t length)
{
	size_t kept = length;

	while (kept && isdigit((unsigned char)word[kept - 1]))
		kept--;
	return kept == 1 && (*word == 'v' || *word == 'V') ? length : kept;
}

static size_t put_word(char *to, size_t size, size_t length, const char *word, size_t bytes,
		       size_t kept)
{
	for (size_t i = 0; i < kept && length + 1 < size; i++)
		to[length++] = word[i];
	if (kept < bytes && length + 1 < size)
		to[length++] = '*';
	return length;
}

/* "5f0c9d1e-6b1a-4c3e-beef-0a1b2c3d4e5f": some of its parts are no ids by themselves. */
#define UUID_BYTES 36

static bool is_uuid(const char *text, size_t bytes)
{
	if (bytes < UUID_BYTES || (bytes > UUID_BYTES && isalnum((unsigned char)text[UUID_BYTES])))
		return false;
	for (size_t i = 0; i < UUID_BYTES; i++)
		if (i == 8 || i == 13 || i == 18 || i == 23 ? text[i] != '-'
							    : !isxdigit((unsigned char)text[i]))
			return false;
	return true;
}

/* numbered: a word with a number at its end is one of many, too. */
static size_t put_words(char *to, size_t size, size_t length, const char *text, size_t bytes,
			const char *separators, bool numbered)
{
	size_t at = 0;

	while (at < bytes) {
		size_t word = 0, kept;

		if (is_uuid(text + at, bytes - at))
			word = UUID_BYTES;
		while (at + word < bytes &&
		       (!text[at + word] || !strchr(separators, text[at + word])))
			word++;
		kept = is_id(text + at, word) || is_uuid(text + at, word) ? 0
		       : numbered ? without_number(text + at, word)
				  : word;
		length = put_word(to, size, length, text + at, word, kept);
		at += word;
		if (at < bytes && length + 1 < size)
			to[length++] = text[at];
		at++;
	}
	to[length] = 0;
	for (char *c = to; c < to + length; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return length;
}

size_t protocol_put_path(char *to, size_t size, size_t length, const char *path, size_t bytes)
{
	size_t end = 0;

	while (end < bytes && path[end] && !strchr("?#;", path[end]))
		end++;
	return put_words(to, size, length, path, end, "/", false);
}

size_t protocol_put_key(char *to, size_t size, size_t length, const char *key, size_t bytes)
{
	return put_words(to, size, length, key, bytes, " :/.-_{}|,", true);
}

struct sql {
	const char *at, *end;
	char *to;
	size_t used, size;
};

static void put(struct sql *sql, char c)
{
	if (sql->used + 1 < sql->size)
		sql->to[sql->used++] = c;
}

static char before(const struct sql *sql)
{
	return sql->used ? sql->to[sql->used - 1] : ' ';
}

/* A string up to its quote; a quote that is doubled belongs to the string. */
static void skip_string(struct sql *sql)
{
	char quote = *sql->at++;

	while (sql->at < sql->end) {
		char c = *sql->at++;

		if (c == '\\' && sql->at < sql->end)
			sql->at++;
		else if (c == quote && (sql->at == sql->end || *sql->at++ != quote)) {
			sql->at -= sql->at < sql->end || sql->at[-1] != quote;
			return;
		}
	}
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

static bool skip_comment(struct sql *sql)
{
	if (sql->end - sql->at < 2)
		return false;
	if (sql->at[0] == '-' && sql->at[1] == '-') {
		while (sql->at < sql->end && *sql->at != '\n')
			sql->at++;
		return true;
	}
	if (sql->at[0] != '/' || sql->at[1] != '*')
		return false;
	for (sql->at += 2; sql->at < sql->end; sql->at++)
		if (sql->at[-1] == '*' && *sql->at == '/')
			break;
	sql->at += sql->at < sql->end;
	return true;
}

/* A list of values is one: "IN (?, ?, ?)" and "(?), (?)" say no more than "(?)". */
static void put_value(struct sql *sql)
{
	/* a sign behind an operator is a part of the value */
	if (sql->used >= 2 && before(sql) == '-' && !is_word(sql->to[sql->used - 2]) &&
	    sql->to[sql->used - 2] != ')')
		sql->used--;
	if (sql->used >= 3 && !memcmp(sql->to + sql->used - 3, "?, ", 3)) {
		sql->used -= 2;
		return;
	}
	if (sql->used >= 2 && !memcmp(sql->to + sql->used - 2, "?,", 2)) {
		sql->used -= 1;
		return;
	}
	put(sql, '?');
}

void protocol_put_sql_of(char *to, size_t size, const char *text, size_t bytes, const char *quotes)
{
	struct sql sql = {.at = text, .end = text + bytes, .to = to, .size = size};

	while (sql.at < sql.end && *sql.at) {
		unsigned char c = (unsigned char)*sql.at;

		if (skip_comment(&sql))
			c = ' ';
		else if (strchr(quotes, c))
			skip_string(&sql), put_value(&sql), c = 0;
		else if (isdigit(c) && !is_word(before(&sql))) {
			while (sql.at < sql.end && (is_word(*sql.at) || *sql.at == '.'))
				sql.at++;
			put_value(&sql), c = 0;
		} else {
			sql.at++;
		}
		if (!c)
			continue;
		if (isspace(c) || c < ' ' || c == 0x7f) {
			if (sql.used && before(&sql) != ' ')
				put(&sql, ' ');
		} else {
			put(&sql, (char)c);
		}
	}
	while (sql.used && (before(&sql) == ' ' || before(&sql) == ';'))
		sql.used--;
	to[sql.used] = 0;
}

void protocol_put_sql(char *to, size_t size, const char *text, size_t bytes)
{
	protocol_put_sql_of(to, size, text, bytes, "'");
}
