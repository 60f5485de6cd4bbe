// SPDX-License-Identifier: Apache-2.0
#include "show/markup.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"

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

uint32_t markup_next(const char **s)
{
	uint32_t point;
	size_t length;

	if (!**s)
		return 0;
	/* no sequence is longer than four bytes, and none goes past the zero byte */
	length = text_utf8(*s, strnlen(*s, 4), &point);
	*s += length ? length : 1;
	return length && is_shown(point) ? point : MARKUP_REPLACED;
}

static void put_point(FILE *out, uint32_t p)
{
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
	if (p < 0x80) {
		fputc((int)p, out);
	} else if (p < 0x800) {
		fputc((int)(0xc0 | p >> 6), out);
		fputc((int)(0x80 | (p & 0x3f)), out);
	} else if (p < 0x10000) {
		fputc((int)(0xe0 | p >> 12), out);
		fputc((int)(0x80 | (p >> 6 & 0x3f)), out);
		fputc((int)(0x80 | (p & 0x3f)), out);
	} else {
		fputc((int)(0xf0 | p >> 18), out);
		fputc((int)(0x80 | (p >> 12 & 0x3f)), out);
		fputc((int)(0x80 | (p >> 6 & 0x3f)), out);
		fputc((int)(0x80 | (p & 0x3f)), out);
	}
}

void markup_text(FILE *out, const char *s)
{
	uint32_t point;

	while ((point = markup_next(&s)))
		put_point(out, point);
}

/* East Asian scripts and emoji take two columns; all of them lie above the Hangul letters. */
static size_t columns_of(uint32_t point)
{
	return point >= 0x1100 && point != MARKUP_REPLACED && !(point >= 0x2000 && point < 0x2e80)
		       ? 2
		       : 1;
}

size_t markup_columns(const char *s)
{
	uint32_t point;
	size_t columns = 0;

	while ((point = markup_next(&s)))
		columns += columns_of(point);
	return columns;
}

void markup_text_cut(FILE *out, const char *s, size_t columns)
{
	uint32_t point;
	size_t used = 0;

	if (markup_columns(s) <= columns) {
		markup_text(out, s);
		return;
	}
	/* one column is kept for the ellipsis */
	while ((point = markup_next(&s))) {
		used += columns_of(point);
		if (used >= columns)
			break;
		put_point(out, point);
	}
	fputs("\xe2\x80\xa6", out);
}
