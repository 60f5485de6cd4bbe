// SPDX-License-Identifier: Apache-2.0
/*
 * Templates: what stands for their parameters, and which types are of a language's own library. In
 * the child.
 */
#include <dwarf.h>
#include <string.h>

#include "probe/shapes.h"
#include "probe/values_reader.h"
#include "probe/values_types.h"
#include "symbol/dwarf_find.h"

#define WITHIN_DEPTH 6
/* Members that are looked at for a template within a type. */
#define WITHIN_MAX 2048u

bool types_is_template(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

/* Those of one entry; a pack has its own below it. */
static bool add_parameters(Dwarf_Die *of, Dwarf_Die to[TEMPLATE_PARAMETERS_MAX], size_t *count,
			   int packs)
{
	bool any = false;
	Dwarf_Die child;

	if (dwarf_child(of, &child))
		return false;
	do {
		switch (dwarf_tag(&child)) {
		case DW_TAG_GNU_template_parameter_pack:
			any = true;
			if (!packs)
				add_parameters(&child, to, count, packs + 1);
			break;
		case DW_TAG_template_type_parameter:
		case DW_TAG_template_value_parameter:
		case DW_TAG_GNU_template_template_param:
			any = true;
			if (*count < TEMPLATE_PARAMETERS_MAX)
				to[(*count)++] = child;
			break;
		default:
			break;
		}
	} while (dwarf_next_sibling(&child));
	return any;
}

bool types_parameters(Dwarf_Die *of, Dwarf_Die to[TEMPLATE_PARAMETERS_MAX], size_t *count)
{
	*count = 0;
	return add_parameters(of, to, count, 0);
}

/* A structure in this one, at any depth of its members and bases, whose name begins so. */
static bool find_within(Dwarf_Die *of, const char *name, Dwarf_Die *found, int depth,
			unsigned int *budget)
{
	Dwarf_Die member, type;

	if (depth == WITHIN_DEPTH || dwarf_child(of, &member))
		return false;
	do {
		int tag = dwarf_tag(&member);
		struct buf own = {0};
		bool is_it;

		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
		    dwarf_hasattr(&member, DW_AT_external) || !types_type_of(&member, &type) ||
		    !types_peel(&type) || !types_is_template(dwarf_tag(&type)))
			continue;
		if (!*budget)
			return false;
		--*budget;
		types_put_name(&own, &type);
		is_it = own.count >= strlen(name) && !memcmp(own.at, name, strlen(name));
		buf_free(&own);
		if (is_it)
			*found = type;
		if (is_it || find_within(&type, name, found, depth + 1, budget))
			return true;
	} while (dwarf_next_sibling(&member));
	return false;
}

static bool number_of(Dwarf_Die *parameter, int64_t *number)
{
	Dwarf_Attribute attribute;
	Dwarf_Word word;

	if (!dwarf_attr(parameter, DW_AT_const_value, &attribute))
		return false;
	if (!dwarf_formsdata(&attribute, number))
		return true;
	if (dwarf_formudata(&attribute, &word))
		return false;
	*number = (int64_t)word;
	return true;
}

/* Whose parameters a row of a type wants. False: none does. */
static bool find_template(Dwarf_Die *structure, const char *name, bool is_library, Dwarf_Die *of)
{
	const struct shape_row *row = NULL;
	unsigned int budget = WITHIN_MAX;

	while ((row = shape_row_of(name, is_library, row))) {
		*of = *structure;
		if (row->arguments_of &&
		    (!*row->arguments_of ||
		     find_within(structure, row->arguments_of, of, 0, &budget)))
			return true;
	}
	return false;
}

uint32_t types_say_arguments(struct types *types, Dwarf_Die *structure, const char *name,
			     bool is_library, unsigned int pointers, struct buf *to)
{
	Dwarf_Die parameters[TEMPLATE_PARAMETERS_MAX], of;
	size_t count = 0;

	if (!find_template(structure, name, is_library, &of))
		return 0;
	types_parameters(&of, parameters, &count);
	for (size_t i = 0; i < count; i++) {
		uint32_t type = 0;
		int64_t number = 0;

		if (dwarf_tag(&parameters[i]) == DW_TAG_template_type_parameter)
			type = types_number_of(types, &parameters[i], pointers);
		else
			(void)number_of(&parameters[i], &number);
		buf_put_varint(to, type);
		values_say_signed(to, number);
	}
	return (uint32_t)count;
}

/* -- the library's own ------------------------------------------------------------------------- */

static bool is_library_name(const char *name)
{
	static const char *const names[] = {"std", "core", "alloc", "hashbrown"};

	for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* Notes from where to where the entries of a unit lie that are in such a namespace. */
static void find_libraries(struct types *types, Dwarf_Die *unit)
{
	Dwarf_Die child;
	bool more = !dwarf_child(unit, &child);

	while (more) {
		bool is_library = dwarf_tag(&child) == DW_TAG_namespace &&
				  is_library_name(dwarf_diename(&child));
		struct types_library library = {(uintptr_t)unit->addr, (uintptr_t)child.addr,
						UINTPTR_MAX};

		more = dwarf_next_sibling(&child);
		if (more)
			library.to = (uintptr_t)child.addr;
		if (is_library && !vec_push(&types->libraries, library))
			return;
	}
}

bool types_is_library(struct types *types, Dwarf_Die *die)
{
	uintptr_t at = (uintptr_t)die->addr;
	Dwarf_Die unit;

	if (!dwarf_diecu(die, &unit, NULL, NULL))
		return false;
	if (!map_get(&types->units, (uintptr_t)unit.addr)) {
		if (!map_put(&types->units, (uintptr_t)unit.addr, 1))
			return false;
		find_libraries(types, &unit);
	}
	for (size_t i = types->libraries.count; i-- > 0;) {
		const struct types_library *library = &types->libraries.at[i];

		if (library->unit == (uintptr_t)unit.addr && at > library->from && at < library->to)
			return true;
	}
	return false;
}
