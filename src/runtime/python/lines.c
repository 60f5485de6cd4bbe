// SPDX-License-Identifier: Apache-2.0
/*
 * CPython's tables of lines, which changed twice:
 *
 *	3.8, 3.9	co_lnotab: pairs of {bytes of code, signed lines} to add
 *			(Objects/lnotab_notes.txt)
 *	3.10		co_linetable: pairs of {bytes of code, signed line step}, -128: no line (the
 *			same file)
 *	3.11-		co_linetable: entries of one byte, whose upper bit is set, and varints of 6
 *			bits (Objects/locations.md; since 3.13 InternalDocs/code_objects.md)
 */
#include "runtime/python/layout.h"

/* Where a table leads: a hostile one may lead anywhere, but not to a line that is none. */
static uint32_t line_of(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

static uint32_t line_of_lnotab(const uint8_t *table, size_t size, int64_t line, int64_t offset)
{
	int64_t at = 0;
	size_t i;

	for (i = 0; i + 1 < size; i += 2) {
		at += table[i];
		if (at > offset)
			break;
		line += (int8_t)table[i + 1];
	}
	return line_of(line);
}

static uint32_t line_of_pairs(const uint8_t *table, size_t size, int64_t line, int64_t offset)
{
	int64_t end = 0;
	size_t i;

	for (i = 0; i + 1 < size; i += 2) {
		int8_t step = (int8_t)table[i + 1];

		end += table[i];
		if (step != INT8_MIN)
			line += step;
		if (end > offset)
			return step == INT8_MIN ? 0 : line_of(line);
	}
	return 0;
}

/* False: the table ends within it. */
static bool varint(const uint8_t *table, size_t size, size_t *at, uint64_t *value)
{
	unsigned int shift = 0;
	uint8_t byte;

	*value = 0;
	do {
		if (*at >= size)
			return false;
		byte = table[(*at)++];
		if (shift < 36)
			*value |= (uint64_t)(byte & 63) << shift;
		shift += 6;
	} while (byte & 64);
	return true;
}

/* What an entry does to the line. */
enum {
	ENTRY_ONE_LINE_0 = 10, /* to 12: 0, 1 or 2 lines more; below: none */
	ENTRY_NO_COLUMNS = 13,
	ENTRY_LONG = 14,
	ENTRY_NONE = 15
};

static uint32_t line_of_locations(const uint8_t *table, size_t size, int64_t line, int64_t unit)
{
	int64_t end = 0;
	size_t at = 0;

	while (at < size) {
		uint8_t head = table[at++], kind = head >> 3 & 15;

		if (!(head & 128))
			return 0;
		if (kind == ENTRY_NO_COLUMNS || kind == ENTRY_LONG) {
			uint64_t step;

			if (!varint(table, size, &at, &step))
				return 0;
			line += step & 1 ? -(int64_t)(step >> 1) : (int64_t)(step >> 1);
		} else if (kind >= ENTRY_ONE_LINE_0 && kind < ENTRY_NO_COLUMNS) {
			line += kind - ENTRY_ONE_LINE_0;
		}
		end += (head & 7) + 1;
		if (end > unit)
			return kind == ENTRY_NONE ? 0 : line_of(line);
		while (at < size && !(table[at] & 128))
			at++;
	}
	return 0;
}

uint32_t python_line_of(unsigned int minor, const uint8_t *table, size_t size, uint32_t first_line,
			int32_t index)
{
	if (index < 0)
		return line_of(first_line);
	if (minor < 10)
		return line_of_lnotab(table, size, first_line, index);
	/* units of two bytes since 3.10 */
	if (minor < 11)
		return line_of_pairs(table, size, first_line, 2 * (int64_t)index);
	return line_of_locations(table, size, first_line, index);
}
