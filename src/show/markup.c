// SPDX-License-Identifier: Apache-2.0
#include "show/markup.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"

/* The code point of a hostile text that stands for one that must not be shown. */
#define REPLACED 0xfffdu

static bool is_shown(uint32_t point)
{
	if (point < 0x20 || (point >= 0x7f && point < 0xa0))
		return false;
	/* marks of direction and line: they could make one name look like another */
	if (point == 0x200e || point == 0x200f || (point >= 0x2028 && point <= 0x202e) ||
	    (point >= 0x2066 && point <= 0x2069))
		return false;
	/* the Char production of XML 1.0, section 2.2 */
	return point != 0xfffe && point != 0xffff;
}

/*
 * Reads one code point of *s and moves *s on; 0 at the end. Invalid UTF-8, control characters,
 * marks that reorder the text around them, and what XML 1.0 forbids all come back as REPLACED.
 */
static uint32_t next_point(const char **s)
{
	uint32_t point;
	size_t length;

	if (!**s)
		return 0;
	/* no sequence is longer than four bytes, and none goes past the zero byte */
	length = text_utf8(*s, strnlen(*s, 4), &point);
	*s += length ? length : 1;
	return length && is_shown(point) ? point : REPLACED;
}

static void put_point(FILE *out, uint32_t p)
{
	char utf8[4];

	switch (p) {
	case '<':
		fputs("&lt;", out);
		return;
	case '>':
		fputs("&gt;", out);
		return;
	case '&':
		fputs("&amp;", out);
		return;
	case '"':
		fputs("&quot;", out);
		return;
	case '\'':
		fputs("&#39;", out);
		return;
	}
	fwrite(utf8, 1, text_put_utf8(utf8, p), out);
}

void markup_text(FILE *out, const char *s)
{
	uint32_t point;

	while ((point = next_point(&s)))
		put_point(out, point);
}

/* East Asian scripts and emoji take two columns; all of them lie above the Hangul letters. */
static size_t columns_of(uint32_t point)
{
	return point >= 0x1100 && point != REPLACED && !(point >= 0x2000 && point < 0x2e80) ? 2 : 1;
}

/* The number of columns s takes in a fixed-width font, as it is shown by markup_text(). */
static size_t all_columns(const char *s)
{
	uint32_t point;
	size_t columns = 0;

	while ((point = next_point(&s)))
		columns += columns_of(point);
	return columns;
}

void markup_text_cut(FILE *out, const char *s, size_t columns)
{
	uint32_t point;
	size_t used = 0;

	if (all_columns(s) <= columns) {
		markup_text(out, s);
		return;
	}
	/* one column is kept for the ellipsis */
	while ((point = next_point(&s))) {
		used += columns_of(point);
		if (used >= columns)
			break;
		put_point(out, point);
	}
	fputs("\xe2\x80\xa6", out);
}
