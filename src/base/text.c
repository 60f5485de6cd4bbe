// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

size_t text_put_utf8(char to[4], uint32_t point)
{
	static const uint8_t first[] = {0, 0, 0xc0, 0xe0, 0xf0};
	size_t length = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4, i;

	if (length == 1) {
		to[0] = (char)point;
		return 1;
	}
	for (i = length - 1; i; i--, point >>= 6)
		to[i] = (char)(0x80 | (point & 0x3f));
	to[0] = (char)(first[length] | point);
	return length;
}

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

void text_print_quoted(FILE *out, const char *s)
{
	size_t left = strlen(s);
	char piece[24];

	putc('"', out);
	while (left) {
		size_t eaten = next_safe_piece(s, left, piece);

		if (*s == '"' || *s == '\\')
			putc('\\', out);
		fputs(piece, out);
		s += eaten;
		left -= eaten;
	}
	putc('"', out);
}

char *text_hex(char *to, size_t size, const void *bytes, size_t count)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *from = bytes;
	size_t i;

	for (i = 0; i < count && 2 * i + 2 < size; i++) {
		to[2 * i] = digits[from[i] >> 4];
		to[2 * i + 1] = digits[from[i] & 15];
	}
	if (size)
		to[2 * i] = 0;
	return to;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

bool text_parse_hex(const char *digits, size_t count, uint8_t *to)
{
	for (size_t i = 0; i + 1 < count; i += 2) {
		int high = hex_digit(digits[i]), low = hex_digit(digits[i + 1]);

		if (high < 0 || low < 0)
			return false;
		to[i / 2] = (uint8_t)(high << 4 | low);
	}
	return count % 2 == 0;
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

void text_quantile(char *to, size_t size, uint64_t ns, uint64_t most)
{
	static const struct {
		const char *name;
		uint64_t size;
	} units[] = {{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}};
	uint64_t power = 1, step, rounded;
	size_t unit = 0;
	int digits = 0;

	if (ns < 32 || ns >= most) {
		text_duration(to, size, ns < most ? ns : most);
		return;
	}
	while (ns / power >= 10)
		power *= 10;
	/* a third digit of 1.04 says something, one of 9.36 does not */
	step = power / (ns / power < 3 ? 100 : 10);
	step = step ? step : 1;
	rounded = (ns + step / 2) / step * step;
	if (rounded > most)
		rounded -= step;
	while (rounded < units[unit].size)
		unit++;
	for (uint64_t last = step; last < units[unit].size; last *= 10)
		digits++;
	snprintf(to, size, "%.*f %s", digits, (double)rounded / (double)units[unit].size,
		 units[unit].name);
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

struct unit {
	const char *name;
	double value;
};

/* A number of the first unit whose name stands behind it, up to 1e18. */
static int parse_quantity(const char *s, const struct unit *units, size_t count, uint64_t *result)
{
	char *end;
	double value;

	/* strtod() takes much more: signs, hexadecimal, "inf" */
	if (*s < '0' || *s > '9' || (s[strspn(s, "0123456789")] | 0x20) == 'x')
		return -EINVAL;
	value = strtod(s, &end);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(end, units[i].name))
			continue;
		value = value * units[i].value + 0.5;
		if (!(value <= 1e18))
			return -EINVAL;
		*result = (uint64_t)value;
		return 0;
	}
	return -EINVAL;
}

int text_parse_time(const char *s, uint64_t unit, uint64_t *ns)
{
	const struct unit units[] = {
		{"", (double)unit}, {"ns", 1},	 {"us", 1e3},	{"ms", 1e6},
		{"s", 1e9},	    {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9},
	};

	return parse_quantity(s, units, sizeof(units) / sizeof(units[0]), ns);
}

int text_parse_bytes(const char *s, uint64_t *bytes)
{
	static const struct unit units[] = {
		{"", 1},      {"B", 1},	    {"kB", 1e3},   {"KB", 1e3},	      {"MB", 1e6},
		{"GB", 1e9},  {"TB", 1e12}, {"KiB", 1024}, {"MiB", 1048576},  {"GiB", 1073741824},
		{" MB", 1e6}, {" GB", 1e9}, {" TB", 1e12}, {" MiB", 1048576}, {" GiB", 1073741824},
	};

	return parse_quantity(s, units, sizeof(units) / sizeof(units[0]), bytes);
}

void text_signal(int number, char *to, size_t size)
{
	const char *name = sigabbrev_np(number);

	if (name)
		snprintf(to, size, "SIG%s", name);
	else
		snprintf(to, size, "signal %d", number);
}

static void put_safe(struct buf *b, const char *s, const char *these)
{
	size_t wanted = text_make_safe(NULL, 0, s) + 1;
	char *safe = malloc(wanted);

	if (!safe) {
		b->failed = true;
		return;
	}
	text_make_safe(safe, wanted, s);
	for (const char *at = safe; *at; at++)
		if (strchr(these, *at))
			buf_printf(b, "\\x%02x", (unsigned char)*at);
		else
			buf_put_u8(b, (uint8_t)*at);
	free(safe);
}

char *text_safe(const char *s, const char *these)
{
	struct buf b = {0};

	put_safe(&b, s, these);
	return buf_steal_text(&b);
}

char *text_place(const char *name, const char *file, uint32_t line, const char *these)
{
	struct buf b = {0};

	put_safe(&b, name, these);
	if (*file) {
		buf_put_u8(&b, ' ');
		put_safe(&b, file, these);
		buf_printf(&b, ":%" PRIu32, line);
	}
	return buf_steal_text(&b);
}
