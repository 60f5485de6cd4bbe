// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"

/* Controls, what means something to a page, and marks that turn the text around them. */
static bool is_escaped(uint32_t point)
{
	return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == '<' || point == '>' ||
	       point == '&' || point == 0x200e || point == 0x200f ||
	       (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
}

/* What stands for itself, and is most of names: printable ASCII without "\\<>&. */
static const bool
	is_plain[256] =
		{
			[' '] = true,	       ['!'] = true, ['#' ... '%'] = true,
			['\'' ... ';'] = true, ['='] = true, ['?' ... '['] = true,
			[']' ... '~'] = true,
};

/* How many bytes at s stand for themselves. */
static size_t plain_length(const char *s, size_t left)
{
	size_t length = 0;

	while (length < left && is_plain[(unsigned char)s[length]])
		length++;
	return length;
}

void json_flush(struct json *j)
{
	if (j->used)
		fwrite_unlocked(j->buffer, 1, j->used, j->out);
	j->used = 0;
}

static void put(struct json *j, const char *bytes, size_t size)
{
	if (size > j->room - j->used)
		json_flush(j);
	if (size > j->room || !j->buffer) {
		fwrite_unlocked(bytes, 1, size, j->out);
		return;
	}
	memcpy(j->buffer + j->used, bytes, size);
	j->used += size;
}

static void put_char(struct json *j, char c)
{
	if (j->used == j->room)
		json_flush(j);
	if (j->room)
		j->buffer[j->used++] = c;
	else
		fputc_unlocked(c, j->out);
}

static void put_words(struct json *j, const char *words)
{
	put(j, words, strlen(words));
}

static void write_string(struct json *j, const char *s, size_t left)
{
	char escaped[16];

	put_char(j, '"');
	while (left) {
		uint32_t point;
		size_t length = plain_length(s, left);

		if (length) {
			put(j, s, length);
			s += length;
			left -= length;
			continue;
		}
		length = *s ? text_utf8(s, left, &point) : 0;
		if (!length) {
			put_words(j, "\xef\xbf\xbd");
		} else if (point == '"' || point == '\\') {
			put_char(j, '\\');
			put_char(j, (char)point);
		} else if (is_escaped(point)) {
			snprintf(escaped, sizeof(escaped), "\\u%04" PRIx32, point);
			put_words(j, escaped);
		} else {
			put(j, s, length);
		}
		s += length ? length : 1;
		left -= length ? length : 1;
	}
	put_char(j, '"');
}

static void begin(struct json *j, const char *key)
{
	if (j->follows)
		put_char(j, ',');
	j->follows = true;
	if (!key)
		return;
	write_string(j, key, strlen(key));
	put_char(j, ':');
}

void json_open(struct json *j, const char *key, char bracket)
{
	begin(j, key);
	put_char(j, bracket);
	j->follows = false;
}

void json_close(struct json *j, char bracket)
{
	put_char(j, bracket);
	j->follows = true;
}

void json_text(struct json *j, const char *key, const char *value)
{
	json_bytes(j, key, value, strlen(value));
}

void json_bytes(struct json *j, const char *key, const char *value, size_t size)
{
	begin(j, key);
	write_string(j, value, size);
}

/* Most of what is written: some times faster than fprintf(). */
static void write_number(struct json *j, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	put(j, digits + at, sizeof(digits) - at);
}

void json_u64(struct json *j, const char *key, uint64_t value)
{
	begin(j, key);
	write_number(j, value);
}

void json_i64(struct json *j, const char *key, int64_t value)
{
	begin(j, key);
	if (value < 0)
		put_char(j, '-');
	write_number(j, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void json_thousandths(struct json *j, const char *key, int64_t value)
{
	uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;
	char text[32];

	begin(j, key);
	snprintf(text, sizeof(text), "%s%" PRIu64 ".%03u", value < 0 ? "-" : "", size / 1000,
		 (unsigned int)(size % 1000));
	put_words(j, text);
}

void json_double(struct json *j, const char *key, double value)
{
	char text[32];

	begin(j, key);
	snprintf(text, sizeof(text), "%.9g", value);
	put_words(j, isfinite(value) ? text : "null");
}

void json_bool(struct json *j, const char *key, bool value)
{
	begin(j, key);
	put_words(j, value ? "true" : "false");
}

void json_null(struct json *j, const char *key)
{
	begin(j, key);
	put_words(j, "null");
}
