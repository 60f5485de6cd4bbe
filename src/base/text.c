// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

size_t text_utf8(const char *s, size_t left, uint32_t *point)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *u = (const unsigned char *)s;
	size_t length, i;
	uint32_t p;

	if (left == 0)
		return 0;
	if (u[0] < 0x80) {
		*point = u[0];
		return 1;
	}
	length = u[0] >= 0xf0 ? 4 : u[0] >= 0xe0 ? 3 : 2;
	if (u[0] < 0xc2 || u[0] > 0xf4 || length > left)
		return 0;
	p = u[0] & (0xff >> (length + 1));
	for (i = 1; i < length; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 0;
		p = p << 6 | (u[i] & 0x3f);
	}
	if (p < smallest[length] || p > 0x10ffff || (p >= 0xd800 && p <= 0xdfff))
		return 0;
	*point = p;
	return length;
}

static bool is_harmless(uint32_t point)
{
	if (point < 0x20 || (point >= 0x7f && point < 0xa0))
		return false;
	/* marks that reorder the text around them could make one name look like another */
	return !((point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069) ||
		 point == 0x200e || point == 0x200f || point == 0x2028 || point == 0x2029);
}

/* The next piece of s as it may be printed: piece holds at most 16 bytes. Returns bytes eaten. */
static size_t next_safe_piece(const char *s, size_t left, char piece[static 24])
{
	uint32_t point;
	size_t length = text_utf8(s, left, &point), i;

	if (length && is_harmless(point)) {
		memcpy(piece, s, length);
		piece[length] = 0;
		return length;
	}
	if (!length)
		length = 1;
	for (i = 0; i < length; i++)
		snprintf(piece + i * 4, 5, "\\x%02x", (unsigned char)s[i]);
	return length;
}

void text_print_safe(FILE *out, const char *s)
{
	size_t left = strlen(s);
	char piece[24];

	while (left) {
		size_t eaten = next_safe_piece(s, left, piece);

		fputs(piece, out);
		s += eaten;
		left -= eaten;
	}
}

size_t text_make_safe(char *to, size_t size, const char *s)
{
	size_t left = strlen(s), wanted = 0;
	bool full = size == 0;
	char piece[24];

	if (size)
		to[0] = 0;
	while (left) {
		size_t eaten = next_safe_piece(s, left, piece), length = strlen(piece);

		if (!full && wanted + length < size)
			memcpy(to + wanted, piece, length + 1);
		else
			full = true;
		wanted += length;
		s += eaten;
		left -= eaten;
	}
	return wanted;
}

void text_duration(char *to, size_t size, uint64_t ns)
{
	if (ns < 1000)
		snprintf(to, size, "%" PRIu64 " ns", ns);
	else if (ns < 1000000)
		snprintf(to, size, "%.3f us", (double)ns / 1e3);
	else if (ns < 1000000000)
		snprintf(to, size, "%.3f ms", (double)ns / 1e6);
	else
		snprintf(to, size, "%.3f s", (double)ns / 1e9);
}

void text_bytes(char *to, size_t size, uint64_t bytes)
{
	static const char *const units[] = {"kB", "MB", "GB", "TB"};
	double value = (double)bytes / 1000;
	size_t unit = 0;

	if (bytes < 1000) {
		snprintf(to, size, "%" PRIu64 " B", bytes);
		return;
	}
	while (value >= 999.95 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1000;
		unit++;
	}
	snprintf(to, size, "%.1f %s", value, units[unit]);
}

void text_count(char *to, size_t size, uint64_t n)
{
	char digits[24];
	size_t length, i, used = 0;

	length = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n);
	if (size)
		to[0] = 0;
	for (i = 0; i < length && used + 3 < size; i++) {
		to[used++] = digits[i];
		if ((length - i) % 3 == 1 && i + 1 < length)
			to[used++] = ',';
		to[used] = 0;
	}
}

int text_parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *value)
{
	unsigned long long v;
	char *end;

	if (*s < '0' || *s > '9')
		return -EINVAL;
	errno = 0;
	v = strtoull(s, &end, 10);
	if (errno || *end || v < min || v > max)
		return -EINVAL;
	*value = v;
	return 0;
}
