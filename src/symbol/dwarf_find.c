// SPDX-License-Identifier: Apache-2.0
#include "symbol/dwarf_find.h"

#include <dwarf.h>
#include <errno.h>

#include "base/search.h"

#define UNITS_MAX (1u << 20)

/* The first question whose address is not below address, in a sorted part of the array. */
static size_t first_at(const struct dwarf_asked *asked, size_t count, uint64_t address)
{
	return search_first(count, i, asked[i].address < address);
}

static void find_units_by_aranges(struct dwarf_finder *r)
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
static int find_units_by_ranges(struct dwarf_finder *r)
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

int dwarf_find_units(struct dwarf_finder *r)
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

bool dwarf_is_code(int tag)
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

bool dwarf_next_sibling(Dwarf_Die *die)
{
	Dwarf_Off before = dwarf_dieoffset(die);

	return !dwarf_siblingof(die, die) && dwarf_dieoffset(die) > before;
}

/*
 * Finds the concrete function of each question in asked[0..count), which are of one unit. nested:
 * look below functions as well: some languages put functions into others.
 */
static int find_functions(struct dwarf_finder *r, Dwarf_Die *parent, struct dwarf_asked *asked,
			  size_t count, bool nested, int depth)
{
	Dwarf_Die die;
	int err = 0;

	if (depth == DWARF_DEPTH_MAX || dwarf_child(parent, &die))
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
		if (is_container(tag) || (nested && dwarf_is_code(tag)))
			err = find_functions(r, &die, asked, count, nested, depth + 1);
	} while (!err && dwarf_next_sibling(&die));
	return err;
}

int dwarf_find_functions(struct dwarf_finder *r, Dwarf_Die *unit, struct dwarf_asked *asked,
			 size_t count)
{
	int err = find_functions(r, unit, asked, count, false, 0);

	for (size_t i = 0; i < count && !err; i++)
		if (!asked[i].has_function)
			return find_functions(r, unit, asked, count, true, 0);
	return err;
}

bool dwarf_enter_scope(struct dwarf_finder *r, Dwarf_Die *scope, uint64_t address)
{
	Dwarf_Die die;

	if (dwarf_child(scope, &die))
		return false;
	do {
		int tag = dwarf_tag(&die);

		if (!r->budget)
			return false;
		r->budget--;
		if (dwarf_is_code(tag) && tag != DW_TAG_subprogram &&
		    dwarf_haspc(&die, address) == 1) {
			*scope = die;
			return true;
		}
	} while (dwarf_next_sibling(&die));
	return false;
}
