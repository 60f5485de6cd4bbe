// SPDX-License-Identifier: Apache-2.0
#include "symbol/dwarf_lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/dwarf_find.h"

struct reader {
	int fd, alternate_fd;
	Elf *elf;
	Dwarf *alternate;
	struct dwarf_finder find;
	bool inlines;
	/* some units have their functions in other files (.dwo) that are not there */
	bool is_split;
	size_t kept; /* bytes that libdw may keep before all is forgotten */
	dwarf_found *found;
	void *context;
};

static const char *name_of(Dwarf_Die *die)
{
	static const unsigned int linkage[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name};
	Dwarf_Attribute attribute;

	for (size_t i = 0; i < sizeof(linkage) / sizeof(linkage[0]); i++) {
		const char *name =
			dwarf_formstring(dwarf_attr_integrate(die, linkage[i], &attribute));

		if (name && name[0])
			return name;
	}
	return dwarf_diename(die);
}

/* Where the inlined function die was called: a place in the function it was inlined into. */
static void read_call(Dwarf_Die *die, Dwarf_Files *files, struct dwarf_place *place)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (files && !dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &value))
		place->file = dwarf_filesrc(files, value, NULL, NULL);
	if (place->file && !dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &value) &&
	    value <= UINT32_MAX)
		place->line = (uint32_t)value;
}

static void read_line(Dwarf_Die *unit, uint64_t address, struct dwarf_place *place)
{
	Dwarf_Line *row = dwarf_getsrc_die(unit, address);
	int line = 0;

	/* line 0: code that comes from no line of the source */
	if (!row || dwarf_lineno(row, &line) || line <= 0)
		return;
	place->file = dwarf_linesrc(row, NULL, NULL);
	place->line = place->file ? (uint32_t)line : 0;
}

static void emit_places(struct reader *r, Dwarf_Die *unit, Dwarf_Files *files,
			const struct dwarf_asked *asked)
{
	struct dwarf_place places[DWARF_PLACES_MAX] = {{0}};
	Dwarf_Die chain[DWARF_PLACES_MAX]; /* outermost first */
	size_t count = 0;

	read_line(unit, asked->address, &places[0]);
	if (r->inlines && asked->has_function) {
		Dwarf_Die scope = asked->function;

		chain[count++] = scope;
		for (int depth = 0; depth < DWARF_DEPTH_MAX && count < DWARF_PLACES_MAX &&
				    dwarf_enter_scope(&r->find, &scope, asked->address);
		     depth++)
			if (dwarf_tag(&scope) == DW_TAG_inlined_subroutine)
				chain[count++] = scope;
	}
	for (size_t i = 0; i < count; i++) {
		places[i].function = name_of(&chain[count - 1 - i]);
		if (i)
			read_call(&chain[count - i], files, &places[i]);
	}
	if (count || places[0].file)
		r->found(r->context, asked->index, places, count ? count : 1);
}

/*
 * -gsplit-dwarf leaves only addresses and lines here; the rest is in files that libdw opens, as far
 * as this process may. *functions: what has the unit's functions, itself or another one. False:
 * that is not there.
 */
static bool find_split(const Dwarf_Die *unit, Dwarf_Die *functions)
{
	Dwarf_Die split = {0};
	uint8_t type = 0;

	*functions = *unit;
	if (dwarf_cu_info(unit->cu, NULL, &type, NULL, &split, NULL, NULL, NULL) ||
	    type != DW_UT_skeleton)
		return true;
	if (!split.cu)
		return false;
	*functions = split;
	return true;
}

static int answer_unit(struct reader *r, struct dwarf_asked *asked, size_t count)
{
	Dwarf_Files *files = NULL;
	Dwarf_Die unit, functions;
	size_t file_count;
	int err = 0;

	if (!dwarf_offdie(r->find.dwarf, asked->unit, &unit))
		return 0;
	if (r->inlines) {
		r->is_split |= !find_split(&unit, &functions);
		err = dwarf_find_functions(&r->find, &functions, asked, count);
		if (dwarf_getsrcfiles(&functions, &files, &file_count))
			files = NULL;
	}
	for (size_t i = 0; i < count; i++)
		emit_places(r, &unit, files, &asked[i]);
	return err;
}

static int compare_units(const void *a, const void *b)
{
	const struct dwarf_asked *x = a, *y = b;

	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static void close_dwarf(struct reader *r)
{
	dwarf_end(r->find.dwarf);
	dwarf_end(r->alternate);
	elf_end(r->elf);
	r->find.dwarf = r->alternate = NULL;
	r->elf = NULL;
}

static int open_dwarf(struct reader *r)
{
	r->elf = elf_begin(r->fd, ELF_C_READ_MMAP, NULL);
	r->find.dwarf = r->elf ? dwarf_begin_elf(r->elf, DWARF_C_READ, NULL) : NULL;
	if (!r->find.dwarf) {
		close_dwarf(r);
		return -EBADMSG;
	}
	r->alternate = r->alternate_fd >= 0 ? dwarf_begin(r->alternate_fd, DWARF_C_READ) : NULL;
	if (r->alternate)
		dwarf_setalt(r->find.dwarf, r->alternate);
	return 0;
}

static size_t memory_used(void)
{
	struct mallinfo2 used = mallinfo2();

	return used.uordblks + used.hblkhd;
}

/* libdw keeps the line table of each unit that was asked for until it is closed. */
static int forget_if_large(struct reader *r)
{
	if (memory_used() < r->kept)
		return 0;
	close_dwarf(r);
	return open_dwarf(r);
}

static int answer(struct reader *r)
{
	int err = dwarf_find_units(&r->find);
	size_t end;

	qsort(r->find.asked, r->find.count, sizeof(*r->find.asked), compare_units);
	for (size_t i = 0; i < r->find.count; i = end) {
		int unit_err = 0;

		for (end = i + 1;
		     end < r->find.count && r->find.asked[end].unit == r->find.asked[i].unit; end++)
			;
		if (r->find.asked[i].unit)
			unit_err = answer_unit(r, &r->find.asked[i], end - i);
		if (unit_err)
			err = unit_err;
		if (forget_if_large(r))
			return -EBADMSG;
	}
	return err;
}

int dwarf_answer(int fd, int alternate_fd, const uint64_t *addresses, size_t count, bool inlines,
		 size_t kept, dwarf_found *found, void *context)
{
	struct reader r = {
		.fd = fd,
		.alternate_fd = alternate_fd,
		.find = {.count = count, .budget = DWARF_ENTRY_BUDGET},
		.inlines = inlines,
		.kept = kept + memory_used(),
		.found = found,
		.context = context,
	};
	int err;

	elf_version(EV_CURRENT);
	r.find.asked = calloc(count + 1, sizeof(*r.find.asked));
	if (!r.find.asked)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		r.find.asked[i] = (struct dwarf_asked){.address = addresses[i], .index = i};
	err = open_dwarf(&r);
	if (!err) {
		err = answer(&r);
		if (!err && r.is_split)
			err = -ENOLINK;
		close_dwarf(&r);
	}
	free(r.find.asked);
	return err;
}
