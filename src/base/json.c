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

/* How many bytes at s stand for themselves: those of most names. */
static size_t plain_length(const char *s)
{
	const char *at = s;

	while (*at >= 0x20 && *at < 0x7f && !strchr("\"\\<>&", *at))
		at++;
	return (size_t)(at - s);
}

static void write_string(FILE *out, const char *s)
{
	size_t left = strlen(s);

	fputc_unlocked('"', out);
	while (left) {
		uint32_t point;
		size_t length = plain_length(s);

		if (length) {
			fwrite_unlocked(s, 1, length, out);
			s += length;
			left -= length;
			continue;
		}
		length = text_utf8(s, left, &point);
		if (!length)
			fputs_unlocked("\xef\xbf\xbd", out);
		else if (point == '"' || point == '\\')
			fprintf(out, "\\%c", (int)point);
		else if (is_escaped(point))
			fprintf(out, "\\u%04" PRIx32, point);
		else
			fwrite_unlocked(s, 1, length, out);
		s += length ? length : 1;
		left -= length ? length : 1;
	}
	fputc_unlocked('"', out);
}

static void begin(struct json *j, const char *key)
{
	if (j->follows)
		fputc_unlocked(',', j->out);
	j->follows = true;
	if (!key)
		return;
	write_string(j->out, key);
	fputc_unlocked(':', j->out);
}

void json_open(struct json *j, const char *key, char bracket)
{
	begin(j, key);
	fputc_unlocked(bracket, j->out);
	j->follows = false;
}

void json_close(struct json *j, char bracket)
{
	fputc_unlocked(bracket, j->out);
	j->follows = true;
}

void json_text(struct json *j, const char *key, const char *value)
{
	begin(j, key);
	write_string(j->out, value);
}

/* Most of what is written: some times faster than fprintf(). */
static void write_number(FILE *out, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	fwrite_unlocked(digits + at, 1, sizeof(digits) - at, out);
}

void json_u64(struct json *j, const char *key, uint64_t value)
{
	begin(j, key);
	write_number(j->out, value);
}

void json_i64(struct json *j, const char *key, int64_t value)
{
	begin(j, key);
	if (value < 0)
		fputc_unlocked('-', j->out);
	write_number(j->out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void json_thousandths(struct json *j, const char *key, int64_t value)
{
	uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;

	begin(j, key);
	fprintf(j->out, "%s%" PRIu64 ".%03u", value < 0 ? "-" : "", size / 1000,
		(unsigned int)(size % 1000));
}

void json_double(struct json *j, const char *key, double value)
{
	begin(j, key);
	if (isfinite(value))
		fprintf(j->out, "%.9g", value);
	else
		fputs_unlocked("null", j->out);
}

void json_bool(struct json *j, const char *key, bool value)
{
	begin(j, key);
	fputs_unlocked(value ? "true" : "false", j->out);
}

void json_null(struct json *j, const char *key)
{
	begin(j, key);
	fputs_unlocked("null", j->out);
}
