// SPDX-License-Identifier: Apache-2.0
/* Which parameters come in vector registers, which probes cannot read: in the child. */
#include <dwarf.h>

#include "probe/values_reader.h"

#define DEPTH_MAX    8
#define MEMBERS_MAX  64
#define IN_REGISTERS 16 /* bytes of a structure that can be in registers */

static bool is_float(Dwarf_Die *type, unsigned int depth);

static bool has_float_member(Dwarf_Die *structure, unsigned int depth)
{
	Dwarf_Attribute attribute;
	Dwarf_Die member, type;
	unsigned int count = 0;

	if (dwarf_child(structure, &member))
		return false;
	do {
		int tag = dwarf_tag(&member);

		if ((tag == DW_TAG_member || tag == DW_TAG_inheritance) &&
		    dwarf_formref_die(dwarf_attr_integrate(&member, DW_AT_type, &attribute),
				      &type) &&
		    is_float(&type, depth + 1))
			return true;
	} while (++count < MEMBERS_MAX && !dwarf_siblingof(&member, &member));
	return false;
}

static bool is_float(Dwarf_Die *type, unsigned int depth)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;
	Dwarf_Die peeled, element;

	if (depth > DEPTH_MAX || dwarf_peel_type(type, &peeled))
		return false;
	switch (dwarf_tag(&peeled)) {
	case DW_TAG_base_type:
		return !dwarf_formudata(dwarf_attr(&peeled, DW_AT_encoding, &attribute), &number) &&
		       (number == DW_ATE_float || number == DW_ATE_complex_float);
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		return !dwarf_aggregate_size(&peeled, &number) && number <= IN_REGISTERS &&
		       has_float_member(&peeled, depth);
	case DW_TAG_array_type:
		return dwarf_formref_die(dwarf_attr_integrate(&peeled, DW_AT_type, &attribute),
					 &element) &&
		       is_float(&element, depth + 1);
	default:
		return false;
	}
}

bool values_has_floats(Dwarf_Die *function)
{
	Dwarf_Attribute attribute;
	Dwarf_Die die, type;

	if (dwarf_child(function, &die))
		return false;
	do {
		if (dwarf_tag(&die) == DW_TAG_formal_parameter &&
		    dwarf_formref_die(dwarf_attr_integrate(&die, DW_AT_type, &attribute), &type) &&
		    is_float(&type, 0))
			return true;
	} while (!dwarf_siblingof(&die, &die));
	return false;
}
