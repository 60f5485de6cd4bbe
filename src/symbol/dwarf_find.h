/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_DWARF_FIND_H
#define SYMBOL_DWARF_FIND_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which functions of the DWARF hold some addresses. Only for processes that have nothing to lose
 * (dwarf_lines.h).
 */

/*
 * Units of the largest programs hold some million entries; a chain of scopes seldom more than 30.
 */
#define DWARF_ENTRY_BUDGET (64u << 20)
#define DWARF_DEPTH_MAX	   128

struct dwarf_asked {
	uint64_t address;
	size_t index;	/* in the caller's array */
	Dwarf_Off unit; /* offset of the unit's entry; 0: none holds the address */
	bool has_function;
	Dwarf_Die function; /* the concrete function */
};

struct dwarf_finder {
	Dwarf *dwarf;
	struct dwarf_asked *asked; /* sorted by address */
	size_t count;
	uint32_t budget; /* entries that may still be looked at */
};

/* Finds the units of all. Returns 0 or -E2BIG. */
int dwarf_find_units(struct dwarf_finder *finder);

/* Finds the functions of some that are of one unit, and sorted by address. Returns 0 or -E2BIG. */
int dwarf_find_functions(struct dwarf_finder *finder, Dwarf_Die *unit, struct dwarf_asked *asked,
			 size_t count);

/* Can a scope of this kind have code of its own? */
bool dwarf_is_code(int tag);

/* Replaces *scope by its child that holds address and is code; false: there is none. */
bool dwarf_enter_scope(struct dwarf_finder *finder, Dwarf_Die *scope, uint64_t address);

/*
 * The next sibling; false: there is none. libdw follows what DW_AT_sibling says wherever it leads;
 * that it leads onwards is what ends the walk.
 */
bool dwarf_next_sibling(Dwarf_Die *die);

#endif
