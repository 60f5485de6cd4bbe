// SPDX-License-Identifier: Apache-2.0
#include "symbol/cubin/lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/search.h"

/* Operations of line programs: section 6.2.5 of DWARF 2, and NVIDIA's addition. */
enum {
	STANDARD_COPY = 1,
	STANDARD_ADVANCE_PC,
	STANDARD_ADVANCE_LINE,
	STANDARD_SET_FILE,
	STANDARD_FIXED_ADVANCE_PC = 9,
	STANDARD_CONST_ADD_PC = 8,
	EXTENDED_END_SEQUENCE = 1,
	EXTENDED_SET_ADDRESS,
	EXTENDED_DEFINE_FILE,
	EXTENDED_INLINED_CALL = 0x90,
};

#define FILES_MAX	65536
#define OPERATIONS_MAX	64 /* standard ones whose numbers of operands are kept */
#define RELOCATIONS_MAX (1u << 18)

/* A place in the table that gets the address of a section of code. */
struct relocation {
	uint64_t offset; /* in the table */
	uint64_t target; /* address of the cubin; 0: outside of all code */
};

struct reader {
	struct cubin_lines *lines;
	const struct cubin *cubin;
	const struct elf_section *section, *strings; /* strings: .debug_str, or null */
	const uint8_t *begin;			     /* of the section */
	vec(struct relocation) relocations;	     /* sorted by offset */
	/* of the unit */
	vec(const char *) directories;
	uint32_t first_file; /* index of its files in lines->files, less 1 */
	uint32_t file_count;
	uint8_t instruction, line_range, operation_base;
	int8_t line_base;
	uint8_t operands[OPERATIONS_MAX];
	/* of the sequence */
	struct cubin_row row;
	uint64_t limit;	    /* behind the section of code */
	uint32_t first_row; /* index in lines->rows */
	uint32_t file;	    /* as the table numbers it */
};

/* -- relocations ------------------------------------------------------------------------------- */

static int compare_relocations(const void *a, const void *b)
{
	const struct relocation *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static uint64_t address_of_symbol(const struct reader *r, const struct elf_section *symbols,
				  uint64_t number)
{
	Elf64_Sym symbol;
	uint64_t *text;

	if (!elf_file_symbol(&r->cubin->file, symbols, number, &symbol))
		return 0;
	text = map_get(&r->cubin->by_section, symbol.st_shndx);
	if (!text || symbol.st_value >= r->cubin->texts.at[*text].size)
		return 0;
	return r->cubin->texts.at[*text].address + symbol.st_value;
}

/* The addends are in the table, or, with SHT_RELA, in the relocation; both are 0 as ptxas has it */
static int read_relocations(struct reader *r, const struct elf_section *from)
{
	const struct elf_file *file = &r->cubin->file;
	size_t size = from->type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
	struct bytes in = {.at = file->memory + from->offset};

	if (from->link >= file->section_count ||
	    from->size / size > RELOCATIONS_MAX - r->relocations.count)
		return 0;
	in.end = in.at + from->size / size * size;
	while (bytes_left(&in)) {
		struct relocation relocation = {.offset = bytes_u64(&in)};
		uint64_t addend, info = bytes_u64(&in);

		addend = from->type == SHT_RELA ? bytes_u64(&in) : 0;
		relocation.target =
			address_of_symbol(r, &file->sections[from->link], ELF64_R_SYM(info));
		if (relocation.target)
			relocation.target += addend;
		if (!vec_push(&r->relocations, relocation))
			return -ENOMEM;
	}
	return 0;
}

static int find_relocations(struct reader *r)
{
	const struct elf_file *file = &r->cubin->file;
	uint32_t of = (uint32_t)(r->section - file->sections);
	int err = 0;

	for (uint32_t i = 0; i < file->section_count && !err; i++) {
		const struct elf_section *from = &file->sections[i];

		if ((from->type == SHT_REL || from->type == SHT_RELA) && from->info == of)
			err = read_relocations(r, from);
	}
	if (r->relocations.count)
		qsort(r->relocations.at, r->relocations.count, sizeof(*r->relocations.at),
		      compare_relocations);
	return err;
}

static uint64_t relocated(const struct reader *r, uint64_t offset, uint64_t value)
{
	const struct relocation key = {.offset = offset}, *found = NULL;

	if (r->relocations.count)
		found = bsearch(&key, r->relocations.at, r->relocations.count, sizeof(key),
				compare_relocations);
	return found && found->target ? found->target + value : 0;
}

/* -- rows -------------------------------------------------------------------------------------- */

static void begin_sequence(struct reader *r)
{
	r->row = (struct cubin_row){.line = 1};
	r->file = 1;
	r->limit = 0;
	r->first_row = (uint32_t)r->lines->rows.count;
}

static int emit_row(struct reader *r)
{
	struct cubin_row row = r->row;

	if (r->lines->rows.count >= CUBIN_ROWS_MAX)
		return -E2BIG;
	row.file = r->file && r->file <= r->file_count ? r->first_file + r->file : 0;
	if (row.address >= r->limit)
		row.address = 0;
	if (row.call)
		row.call += r->first_row;
	/* a call comes before what was inlined there: so chains end */
	if (row.call > r->lines->rows.count)
		row.call = 0;
	return vec_push(&r->lines->rows, row) ? 0 : -ENOMEM;
}

static int end_sequence(struct reader *r)
{
	int err;

	r->row.line = 0;
	r->row.call = 0;
	err = emit_row(r);
	begin_sequence(r);
	return err;
}

static void advance(struct reader *r, uint64_t operations)
{
	r->row.address += operations * r->instruction;
}

static int run_special(struct reader *r, uint8_t operation)
{
	unsigned int adjusted = operation - r->operation_base;

	advance(r, adjusted / r->line_range);
	r->row.line += (uint32_t)(r->line_base + (int)(adjusted % r->line_range));
	return emit_row(r);
}

/* -- programs ---------------------------------------------------------------------------------- */

static int add_file(struct reader *r, struct bytes *in, const char *name)
{
	struct cubin_file file = {.directory = "", .name = name};
	uint64_t directory = bytes_varint(in);

	bytes_varint(in); /* time */
	bytes_varint(in); /* size */
	if (in->failed)
		return -EBADMSG;
	if (r->lines->files.count > FILES_MAX)
		return -E2BIG;
	if (directory && directory <= r->directories.count)
		file.directory = r->directories.at[directory - 1];
	r->file_count++;
	return vec_push(&r->lines->files, file) ? 0 : -ENOMEM;
}

static int set_address(struct reader *r, struct bytes *in)
{
	uint64_t offset = (uint64_t)(in->at - r->begin), value = bytes_u64(in);
	const struct cubin_text *text;

	if (in->failed)
		return -EBADMSG;
	r->row.address = relocated(r, offset, value);
	text = cubin_text_of(r->cubin, r->row.address);
	/* also the row that ends it is within its section, or just behind it */
	r->limit = text ? text->address + text->size + 1 : 0;
	return 0;
}

static int set_inlined(struct reader *r, struct bytes *in)
{
	uint64_t call = bytes_varint(in), name = bytes_varint(in);

	if (in->failed)
		return -EBADMSG;
	r->row.call = call <= CUBIN_ROWS_MAX ? (uint32_t)call : 0;
	r->row.function = r->strings ? cubin_string(r->cubin, r->strings, name) : NULL;
	if (!r->row.function)
		r->row.function = "";
	return 0;
}

static int run_extended(struct reader *r, struct bytes *in)
{
	uint64_t size = bytes_varint(in);
	struct bytes part = {.at = in->at};
	const char *name;

	if (!size || size > bytes_left(in))
		return -EBADMSG;
	bytes_read(in, size);
	part.end = in->at;
	switch (bytes_u8(&part)) {
	case EXTENDED_END_SEQUENCE:
		return end_sequence(r);
	case EXTENDED_SET_ADDRESS:
		return set_address(r, &part);
	case EXTENDED_DEFINE_FILE:
		name = bytes_text(&part);
		return add_file(r, &part, name);
	case EXTENDED_INLINED_CALL:
		return set_inlined(r, &part);
	default:
		return 0;
	}
}

static int run_standard(struct reader *r, struct bytes *in, uint8_t operation)
{
	switch (operation) {
	case STANDARD_COPY:
		return emit_row(r);
	case STANDARD_ADVANCE_PC:
		advance(r, bytes_varint(in));
		return 0;
	case STANDARD_ADVANCE_LINE:
		r->row.line += (uint32_t)bytes_svarint(in);
		return 0;
	case STANDARD_SET_FILE:
		r->file = (uint32_t)bytes_varint(in);
		return 0;
	case STANDARD_CONST_ADD_PC:
		advance(r, (255u - r->operation_base) / r->line_range);
		return 0;
	case STANDARD_FIXED_ADVANCE_PC:
		r->row.address += bytes_u16(in);
		return 0;
	default:
		for (unsigned int i = 0; i < r->operands[operation]; i++)
			bytes_varint(in);
		return 0;
	}
}

static int run_program(struct reader *r, struct bytes *in)
{
	int err = 0;

	begin_sequence(r);
	while (!err && bytes_left(in)) {
		uint8_t operation = bytes_u8(in);

		if (!operation)
			err = run_extended(r, in);
		else if (operation >= r->operation_base)
			err = run_special(r, operation);
		else
			err = run_standard(r, in, operation);
		if (!err && in->failed)
			err = -EBADMSG;
	}
	return err;
}

/* -- units ------------------------------------------------------------------------------------- */

static int read_names(struct reader *r, struct bytes *in)
{
	const char *name;
	int err = 0;

	r->directories.count = 0;
	for (name = bytes_text(in); name[0]; name = bytes_text(in)) {
		if (r->directories.count >= FILES_MAX)
			return -E2BIG;
		if (!vec_push(&r->directories, name))
			return -ENOMEM;
	}
	r->first_file = (uint32_t)r->lines->files.count - 1;
	r->file_count = 0;
	for (name = bytes_text(in); name[0] && !err; name = bytes_text(in))
		err = add_file(r, in, name);
	return err ? err : in->failed ? -EBADMSG : 0;
}

/* in: from behind its length to its end. */
static int read_unit(struct reader *r, struct bytes *in)
{
	struct bytes header = {0};
	uint16_t version = bytes_u16(in);
	uint32_t size = bytes_u32(in);
	int err;

	if (in->failed || version < 2 || version > 4 || size > bytes_left(in))
		return -EBADMSG;
	header.at = in->at;
	/* padding follows the names */
	bytes_read(in, size);
	header.end = in->at;
	r->instruction = bytes_u8(&header);
	if (version >= 4)
		bytes_u8(&header); /* operations of an instruction */
	bytes_u8(&header);	   /* default of is_stmt */
	r->line_base = (int8_t)bytes_u8(&header);
	r->line_range = bytes_u8(&header);
	r->operation_base = bytes_u8(&header);
	if (header.failed || !r->line_range || !r->operation_base ||
	    r->operation_base > OPERATIONS_MAX)
		return -EBADMSG;
	for (uint8_t i = 1; i < r->operation_base; i++)
		r->operands[i] = bytes_u8(&header);
	err = header.failed ? -EBADMSG : read_names(r, &header);
	return err ? err : run_program(r, in);
}

static int read_units(struct reader *r)
{
	struct bytes in = {.at = r->begin, .end = r->begin + r->section->size};
	int err = 0;

	while (!err && bytes_left(&in)) {
		uint32_t size = bytes_u32(&in);
		struct bytes unit = {.at = in.at};

		if (in.failed || size > bytes_left(&in))
			return -EBADMSG;
		bytes_read(&in, size);
		unit.end = in.at;
		err = read_unit(r, &unit);
	}
	return err;
}

/* Where several rows have one address, as the table has them: the last one holds. */
static int compare_rows(const void *a, const void *b)
{
	const struct cubin_row *x = *(const struct cubin_row *const *)a,
			       *y = *(const struct cubin_row *const *)b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int sort_rows(struct cubin_lines *lines)
{
	if (!vec_reserve(&lines->order, lines->rows.count))
		return -ENOMEM;
	vec_foreach (&lines->rows, row)
		lines->order.at[lines->order.count++] = row;
	if (lines->order.count)
		qsort(lines->order.at, lines->order.count, sizeof(*lines->order.at), compare_rows);
	return 0;
}

int cubin_lines_read(struct cubin_lines *lines, const struct cubin *cubin, const char *section)
{
	struct reader r = {.lines = lines, .cubin = cubin};
	int err, sorted;

	*lines = (struct cubin_lines){0};
	r.section = elf_file_section(&cubin->file, section);
	r.strings = elf_file_section(&cubin->file, ".debug_str");
	if (!r.section || r.section->type == SHT_NOBITS || !r.section->size)
		return 0;
	r.begin = cubin->file.memory + r.section->offset;
	if (!vec_push(&lines->files, (struct cubin_file){"", ""}))
		return -ENOMEM;
	err = find_relocations(&r);
	if (!err)
		err = read_units(&r);
	sorted = sort_rows(lines);
	vec_free(&r.relocations);
	vec_free(&r.directories);
	return err ? err : sorted;
}

void cubin_lines_free(struct cubin_lines *lines)
{
	vec_free(&lines->rows);
	vec_free(&lines->order);
	vec_free(&lines->files);
}

/* -- questions --------------------------------------------------------------------------------- */

static const struct cubin_row *row_of(const struct cubin_lines *lines, uint64_t address)
{
	size_t next = search_first(lines->order.count, i, lines->order.at[i]->address <= address);

	return next ? lines->order.at[next - 1] : NULL;
}

size_t cubin_lines_find(const struct cubin_lines *lines, const struct cubin *cubin,
			uint64_t address, struct cubin_place places[CUBIN_PLACES_MAX])
{
	const struct cubin_text *text = cubin_text_of(cubin, address);
	const struct cubin_function *function = cubin_function_of(cubin, address);
	const struct cubin_row *row = row_of(lines, address);
	size_t count = 0;

	/* where a function begins without a row, the line is not that of the one before it */
	if (!text || !row || row->address < (function ? function->start : text->address))
		return 0;
	while (row && row->line && count < CUBIN_PLACES_MAX) {
		places[count++] = (struct cubin_place){row->call ? row->function : NULL,
						       &lines->files.at[row->file], row->line};
		row = row->call ? &lines->rows.at[row->call - 1] : NULL;
	}
	return count;
}

const char *cubin_file_path(const struct cubin_file *file, char *to, size_t size)
{
	bool is_whole = !file->directory[0] || file->name[0] == '/';

	snprintf(to, size, "%s%s%s", is_whole ? "" : file->directory, is_whole ? "" : "/",
		 file->name);
	return to;
}
