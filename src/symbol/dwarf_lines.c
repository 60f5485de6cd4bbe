// SPDX-License-Identifier: Apache-2.0
#include "symbol/dwarf_lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"

/*
 * Units of the largest programs hold some million entries; a chain of scopes seldom more than 30.
 */
#define ENTRY_BUDGET (64u << 20)
#define DEPTH_MAX    128
#define UNITS_MAX    (1u << 20)

struct asked {
	uint64_t address;
	size_t index;	/* in the caller's array */
	Dwarf_Off unit; /* offset of the unit's entry; 0: none holds the address */
	bool has_function;
	Dwarf_Die function; /* the concrete function */
};

struct reader {
	int fd, alternate_fd;
	Elf *elf;
	Dwarf *dwarf, *alternate;
	struct asked *asked;
	size_t count;
	bool inlines;
	bool is_split;	 /* some units have their functions in other files (.dwo) */
	size_t kept;	 /* bytes that libdw may keep before all is forgotten */
	uint32_t budget; /* entries that may still be looked at */
	dwarf_found *found;
	void *context;
};

/* The first question whose address is not below address, in a sorted part of the array. */
static size_t first_at(const struct asked *asked, size_t count, uint64_t address)
{
	return search_first(count, i, asked[i].address < address);
}

static void find_units_by_aranges(struct reader *r)
{
	Dwarf_Aranges *aranges;
	size_t count;

	if (dwarf_getaranges(r->dwarf, &aranges, &count))
		return;
	for (size_t i = 0; i < r->count; i++) {
		Dwarf_Arange *range = dwarf_getarange_addr(aranges, r->asked[i].address);

		if (range)
			dwarf_getarangeinfo(range, NULL, NULL, &r->asked[i].unit);
	}
}

/* Asks each unit for its ranges: what clang leaves out of .debug_aranges, or leaves out whole. */
static int find_units_by_ranges(struct reader *r)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	uint8_t type;

	for (uint32_t units = 0; !dwarf_get_units(r->dwarf, unit, &unit, NULL, &type, &die, NULL);
	     units++) {
		Dwarf_Addr base, start, end;
		ptrdiff_t next = 0;

		if (units == UNITS_MAX)
			return -E2BIG;
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		while ((next = dwarf_ranges(&die, next, &base, &start, &end)) > 0) {
			size_t i = first_at(r->asked, r->count, start);

			if (!r->budget)
				return -E2BIG;
			r->budget--;
			for (; i < r->count && r->asked[i].address < end; i++)
				if (!r->asked[i].unit)
					r->asked[i].unit = dwarf_dieoffset(&die);
		}
	}
	return 0;
}

static int find_units(struct reader *r)
{
	find_units_by_aranges(r);
	for (size_t i = 0; i < r->count; i++)
		if (!r->asked[i].unit)
			return find_units_by_ranges(r);
	return 0;
}

/* Whether functions may stand below an entry that has no code itself. */
static bool is_container(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return true;
	default:
		return false;
	}
}

static bool is_code(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		return true;
	default:
		return false;
	}
}

/*
 * The next sibling; false: there is none. libdw follows what DW_AT_sibling says wherever it leads;
 * that it leads onwards is what ends the walk.
 */
static bool next_sibling(Dwarf_Die *die)
{
	Dwarf_Off before = dwarf_dieoffset(die);

	return !dwarf_siblingof(die, die) && dwarf_dieoffset(die) > before;
}

/*
 * Finds the concrete function of each question in asked[0..count), which are of one unit. nested:
 * look below functions as well: some languages put functions into others.
 */
static int find_functions(struct reader *r, Dwarf_Die *parent, struct asked *asked, size_t count,
			  bool nested, int depth)
{
	Dwarf_Die die;
	int err = 0;

	if (depth == DEPTH_MAX || dwarf_child(parent, &die))
		return 0;
	do {
		int tag = dwarf_tag(&die);

		if (!r->budget)
			return -E2BIG;
		r->budget--;
		if (tag == DW_TAG_subprogram) {
			Dwarf_Addr base, start, end;
			ptrdiff_t next = 0;

			while ((next = dwarf_ranges(&die, next, &base, &start, &end)) > 0) {
				size_t i = first_at(asked, count, start);

				if (!r->budget)
					return -E2BIG;
				r->budget--;
				for (; i < count && asked[i].address < end; i++) {
					asked[i].has_function = true;
					asked[i].function = die;
				}
			}
		}
		if (is_container(tag) || (nested && is_code(tag)))
			err = find_functions(r, &die, asked, count, nested, depth + 1);
	} while (!err && next_sibling(&die));
	return err;
}

static int find_all_functions(struct reader *r, Dwarf_Die *unit, struct asked *asked, size_t count)
{
	int err = find_functions(r, unit, asked, count, false, 0);

	for (size_t i = 0; i < count && !err; i++)
		if (!asked[i].has_function)
			return find_functions(r, unit, asked, count, true, 0);
	return err;
}

/* Replaces *scope by its child that holds address and is code; false: there is none. */
static bool enter_scope(struct reader *r, Dwarf_Die *scope, uint64_t address)
{
	Dwarf_Die die;

	if (dwarf_child(scope, &die))
		return false;
	do {
		int tag = dwarf_tag(&die);

		if (!r->budget)
			return false;
		r->budget--;
		if (is_code(tag) && tag != DW_TAG_subprogram && dwarf_haspc(&die, address) == 1) {
			*scope = die;
			return true;
		}
	} while (next_sibling(&die));
	return false;
}

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

static void tell(struct reader *r, Dwarf_Die *unit, Dwarf_Files *files, const struct asked *asked)
{
	struct dwarf_place places[DWARF_PLACES_MAX] = {{0}};
	Dwarf_Die chain[DWARF_PLACES_MAX]; /* outermost first */
	size_t count = 0;

	read_line(unit, asked->address, &places[0]);
	if (r->inlines && asked->has_function) {
		Dwarf_Die scope = asked->function;

		chain[count++] = scope;
		for (int depth = 0; depth < DEPTH_MAX && count < DWARF_PLACES_MAX &&
				    enter_scope(r, &scope, asked->address);
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
 * -gsplit-dwarf leaves only addresses and lines here; the rest is in files that this process may
 * not open.
 */
static bool is_skeleton(const Dwarf_Die *unit)
{
	uint8_t type = 0;

	return !dwarf_cu_info(unit->cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) &&
	       type == DW_UT_skeleton;
}

static int answer_unit(struct reader *r, struct asked *asked, size_t count)
{
	Dwarf_Files *files = NULL;
	Dwarf_Die unit;
	size_t file_count;
	int err = 0;

	if (!dwarf_offdie(r->dwarf, asked->unit, &unit))
		return 0;
	r->is_split |= r->inlines && is_skeleton(&unit);
	if (r->inlines) {
		err = find_all_functions(r, &unit, asked, count);
		if (dwarf_getsrcfiles(&unit, &files, &file_count))
			files = NULL;
	}
	for (size_t i = 0; i < count; i++)
		tell(r, &unit, files, &asked[i]);
	return err;
}

static int compare_units(const void *a, const void *b)
{
	const struct asked *x = a, *y = b;

	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static void close_dwarf(struct reader *r)
{
	dwarf_end(r->dwarf);
	dwarf_end(r->alternate);
	elf_end(r->elf);
	r->dwarf = r->alternate = NULL;
	r->elf = NULL;
}

static int open_dwarf(struct reader *r)
{
	r->elf = elf_begin(r->fd, ELF_C_READ_MMAP, NULL);
	r->dwarf = r->elf ? dwarf_begin_elf(r->elf, DWARF_C_READ, NULL) : NULL;
	if (!r->dwarf) {
		close_dwarf(r);
		return -EBADMSG;
	}
	r->alternate = r->alternate_fd >= 0 ? dwarf_begin(r->alternate_fd, DWARF_C_READ) : NULL;
	if (r->alternate)
		dwarf_setalt(r->dwarf, r->alternate);
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
	int err = find_units(r);
	size_t end;

	qsort(r->asked, r->count, sizeof(*r->asked), compare_units);
	for (size_t i = 0; i < r->count; i = end) {
		int unit_err = 0;

		for (end = i + 1; end < r->count && r->asked[end].unit == r->asked[i].unit; end++)
			;
		if (r->asked[i].unit)
			unit_err = answer_unit(r, &r->asked[i], end - i);
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
		.count = count,
		.inlines = inlines,
		.kept = kept + memory_used(),
		.budget = ENTRY_BUDGET,
		.found = found,
		.context = context,
	};
	int err;

	elf_version(EV_CURRENT);
	r.asked = calloc(count + 1, sizeof(*r.asked));
	if (!r.asked)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		r.asked[i] = (struct asked){.address = addresses[i], .index = i};
	err = open_dwarf(&r);
	if (!err) {
		err = answer(&r);
		if (!err && r.is_split)
			err = -ENOLINK;
		close_dwarf(&r);
	}
	free(r.asked);
	return err;
}
