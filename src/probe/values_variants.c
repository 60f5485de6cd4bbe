// SPDX-License-Identifier: Apache-2.0
/*
 * Rust's enumerations: a structure with a DW_TAG_variant_part (DWARF 5, 5.7.10). Its DW_AT_discr
 * refers to the member that says which of the DW_TAG_variant is there; one without a
 * DW_AT_discr_value is there for all other values.
 */
#include <dwarf.h>
#include <string.h>

#include "probe/values_types.h"
#include "symbol/dwarf_find.h"

#define VARIANTS_MAX 256u

bool types_variants(Dwarf_Die *structure, Dwarf_Die *part)
{
	if (dwarf_child(structure, part))
		return false;
	do {
		if (dwarf_tag(part) == DW_TAG_variant_part)
			return true;
	} while (dwarf_next_sibling(part));
	return false;
}

/* The discriminant's value for a variant. False: it has none, or not one of a single number. */
static bool discriminant_of(Dwarf_Die *variant, int64_t *value, bool *cut)
{
	Dwarf_Attribute attribute;
	Dwarf_Word word;
	Dwarf_Sword number;

	if (dwarf_hasattr(variant, DW_AT_discr_list))
		*cut = true;
	if (!dwarf_attr(variant, DW_AT_discr_value, &attribute))
		return false;
	if (!dwarf_formudata(&attribute, &word)) {
		*value = (int64_t)word;
		return true;
	}
	*cut |= dwarf_formsdata(&attribute, &number) != 0;
	*value = number;
	return true;
}

static uint32_t say_variant(struct types *types, Dwarf_Die *variant, unsigned int pointers,
			    struct buf *to, bool *cut)
{
	const uint8_t chooses[3] = {0, 0, 1}, plain[3] = {0};
	uint32_t count = 0;
	int64_t value;
	Dwarf_Die member;

	if (dwarf_child(variant, &member))
		return 0;
	while (dwarf_tag(&member) != DW_TAG_member)
		if (!dwarf_next_sibling(&member))
			return 0;
	if (discriminant_of(variant, &value, cut)) {
		types_say_member(to, NULL, value, 0, chooses);
		count++;
	}
	types_say_member(to, dwarf_diename(&member),
			 (int64_t)types_attribute(&member, DW_AT_data_member_location, 0),
			 types_number_of(types, &member, pointers), plain);
	return count + 1;
}

uint32_t types_say_variants(struct types *types, Dwarf_Die *part, unsigned int pointers,
			    struct buf *to, struct value_type *type, uint32_t *target, bool *cut)
{
	Dwarf_Attribute attribute;
	Dwarf_Die die;
	uint32_t count = 0, variants = 0;

	if (dwarf_formref_die(dwarf_attr(part, DW_AT_discr, &attribute), &die)) {
		*target = types_number_of(types, &die, pointers);
		type->count = types_attribute(&die, DW_AT_data_member_location, 0);
	}
	if (dwarf_child(part, &die))
		return 0;
	do {
		if (dwarf_tag(&die) != DW_TAG_variant)
			continue;
		if (++variants > VARIANTS_MAX) {
			*cut = true;
			break;
		}
		count += say_variant(types, &die, pointers, to, cut);
	} while (dwarf_next_sibling(&die));
	return count;
}
