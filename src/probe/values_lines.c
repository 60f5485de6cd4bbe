// SPDX-License-Identifier: Apache-2.0
/*
 * Lines of the source to the places at which their code begins: in the child (values_read.c).
 *
 * A line's code may begin several times: in each copy of an inlined function, once before a loop
 * and once in it, or where the compiler has made copies. Rows of the line table that recommend a
 * breakpoint (is_stmt) are such beginnings, but for those that only go on with a pass of the line
 * (values_sites.c).
 */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probe/values_lines.h"

/* Is the file that one, or does its path end with it? */
static bool is_file(const char *path, const char *wanted)
{
	size_t length = strlen(path), end;

	while (!strncmp(wanted, "./", 2))
		wanted += 2;
	end = strlen(wanted);
	return end && length >= end && !strcmp(path + length - end, wanted) &&
	       (length == end || path[length - end - 1] == '/');
}

/* Which of the lines are of each of the unit's files, as bits. Null: none is, or no memory. */
static uint32_t *lines_of_files(const struct values_wanted *wanted, Dwarf_Files *files,
				size_t count)
{
	uint32_t *bits = calloc(count + 1, sizeof(*bits)), any = 0;

	for (size_t i = 0; bits && i < count; i++) {
		const char *path = dwarf_filesrc(files, i, NULL, NULL);

		for (size_t k = 0; path && k < wanted->line_count; k++)
			if (is_file(path, wanted->lines[k].file))
				bits[i] |= 1u << k;
		any |= bits[i];
	}
	if (!any) {
		free(bits);
		return NULL;
	}
	return bits;
}

static void note_near(struct value_near *near, uint32_t wanted, uint32_t line)
{
	near->has_file = true;
	if (line < wanted && line > near->before)
		near->before = line;
	if (line > wanted && (!near->after || line < near->after))
		near->after = line;
}

/* A copy of the file's name that lives as long as the lines; null: no memory. */
static const char *keep_file(struct values_lines *lines, const char *path)
{
	char *copy;

	vec_foreach (&lines->files, file)
		if (!strcmp(*file, path))
			return *file;
	copy = strndup(path, VALUES_NAME_MAX);
	if (!copy || !vec_push(&lines->files, copy)) {
		free(copy);
		return NULL;
	}
	return copy;
}

/* The rows of one unit that are of a wanted line: those at which its code begins. */
static int read_unit(struct values_reader *r, struct values_lines *lines, Dwarf_Die *unit,
		     const uint32_t *bits, size_t files)
{
	const struct values_wanted *wanted = &r->question->wanted;
	bool goes_on[2][VALUES_LINES_MAX] = {0};
	size_t count;
	Dwarf_Lines *table;

	if (dwarf_getsrclines(unit, &table, &count))
		return 0;
	for (size_t i = 0; i < count; i++) {
		Dwarf_Line *row = dwarf_onesrcline(table, i);
		bool begins = false, ends = false;
		Dwarf_Addr address = 0;
		Dwarf_Files *ignored;
		int number = 0, column = 0;
		size_t file;

		if (dwarf_line_file(row, &ignored, &file) || dwarf_lineno(row, &number) ||
		    dwarf_lineaddr(row, &address) || dwarf_linebeginstatement(row, &begins) ||
		    dwarf_lineendsequence(row, &ends))
			continue;
		for (uint32_t k = 0; k < wanted->line_count; k++) {
			bool is_of = !ends && file < files && bits[file] & 1u << k;
			const char *path;

			if (is_of && number > 0 && begins)
				note_near(&lines->near[k], wanted->lines[k].number,
					  (uint32_t)number);
			if (!is_of || (uint32_t)number != wanted->lines[k].number) {
				goes_on[0][k] = goes_on[1][k] = false;
				continue;
			}
			if (dwarf_linecol(row, &column) || column < 0)
				column = 0;
			path = keep_file(lines, dwarf_linesrc(row, NULL, NULL) ?: "");
			if (!path || !vec_push(&lines->rows,
					       (struct line_row){dwarf_dieoffset(unit), address, k,
								 (uint32_t)column,
								 goes_on[begins][k], begins, path}))
				return -ENOMEM;
			if (lines->rows.count > ROWS_MAX)
				return -E2BIG;
			goes_on[0][k] = true;
			goes_on[1][k] |= begins;
		}
	}
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct line_row *x = a, *y = b;

	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* Forgets what libdw holds of the units before, so that the next one is found by the last. */
static int go_on(struct values_reader *r, Dwarf_CU **cu, Dwarf_Off unit)
{
	int err = values_forget_if_large(r);
	Dwarf_Die die;

	if (err < 0)
		return err;
	if (err && !dwarf_offdie(r->dwarf, unit, &die))
		return -EBADMSG;
	if (err)
		*cu = die.cu;
	return 0;
}

int values_find_lines(struct values_reader *r, struct values_lines *lines)
{
	const struct values_wanted *wanted = &r->question->wanted;
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit;
	uint8_t type;
	int err = 0;

	for (uint32_t units = 0;
	     !err && !dwarf_get_units(r->dwarf, cu, &cu, NULL, &type, &unit, NULL); units++) {
		Dwarf_Files *files;
		uint32_t *bits;
		size_t count;

		if (units == UNITS_MAX)
			return -E2BIG;
		if (type != DW_UT_compile || dwarf_getsrcfiles(&unit, &files, &count))
			continue;
		bits = lines_of_files(wanted, files, count);
		if (bits)
			err = read_unit(r, lines, &unit, bits, count);
		free(bits);
		if (!err)
			err = go_on(r, &cu, dwarf_dieoffset(&unit));
	}
	if (lines->rows.count)
		qsort(lines->rows.at, lines->rows.count, sizeof(*lines->rows.at), compare_rows);
	return err;
}

void values_lines_free(struct values_lines *lines)
{
	vec_foreach (&lines->files, file)
		free(*file);
	vec_free(&lines->files);
	vec_free(&lines->rows);
}
