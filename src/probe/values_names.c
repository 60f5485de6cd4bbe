// SPDX-License-Identifier: Apache-2.0
/* How types are called: by their own name, or by what they are made of. In the child. */
#include <dwarf.h>
#include <string.h>

#include "probe/values_types.h"
#include "symbol/dwarf_find.h"

#define NAME_DEPTH 6

static void put_name(struct buf *to, Dwarf_Die *die, int depth);

static void put_target(struct buf *to, Dwarf_Die *die, int depth)
{
	Dwarf_Die target;

	if (depth >= NAME_DEPTH || to->count > VALUES_NAME_MAX)
		buf_put(to, "…", 3);
	else if (types_type_of(die, &target))
		put_name(to, &target, depth + 1);
	else
		buf_put(to, "void", 4);
}

static void put_pointer(struct buf *to, Dwarf_Die *die, const char *sign, int depth)
{
	size_t before = to->count;

	put_target(to, die, depth);
	if (to->count > before && to->at[to->count - 1] != '*' && to->at[to->count - 1] != '&')
		buf_put_u8(to, ' ');
	buf_put(to, sign, strlen(sign));
}

uint64_t types_elements(Dwarf_Die *die)
{
	uint64_t count = 1;
	bool any = false;
	Dwarf_Die child;

	if (dwarf_child(die, &child))
		return 0;
	do {
		uint64_t upper;

		if (dwarf_tag(&child) != DW_TAG_subrange_type)
			continue;
		upper = types_attribute(&child, DW_AT_upper_bound, UINT64_MAX);
		upper = types_attribute(&child, DW_AT_count, upper == UINT64_MAX ? 0 : upper + 1);
		if (upper > 1u << 30 || count > 1u << 30)
			return 0;
		count *= upper;
		any = true;
	} while (dwarf_next_sibling(&child));
	return any ? count : 0;
}

/* A number that stands for a parameter of a template. */
static void put_number(struct buf *to, Dwarf_Die *parameter)
{
	Dwarf_Attribute attribute;
	Dwarf_Sword number;
	Dwarf_Die type;
	uint64_t encoding = 0;

	if (types_type_of(parameter, &type) && types_peel(&type))
		encoding = types_attribute(&type, DW_AT_encoding, 0);
	if (dwarf_formsdata(dwarf_attr(parameter, DW_AT_const_value, &attribute), &number))
		buf_put(to, "?", 1);
	else if (encoding == DW_ATE_boolean)
		buf_put_text(to, number ? "true" : "false");
	else if (encoding == DW_ATE_unsigned)
		buf_printf(to, "%llu", (unsigned long long)number);
	else
		buf_printf(to, "%lld", (long long)number);
}

/*
 * Clang's -gsimple-template-names leaves out of a name what is in "<" and ">", where the template's
 * parameters say it: DW_AT_name is "vector" of vector<int, allocator<int>>.
 */
static void put_arguments(struct buf *to, Dwarf_Die *die, int depth)
{
	Dwarf_Die parameters[TEMPLATE_PARAMETERS_MAX];
	size_t count = 0;
	bool is_template =
		types_is_template(dwarf_tag(die)) && types_parameters(die, parameters, &count);

	if (!is_template)
		return;
	buf_put_u8(to, '<');
	for (size_t i = 0; i < count; i++) {
		Dwarf_Attribute attribute;
		const char *name;

		if (i)
			buf_put(to, ", ", 2);
		switch (dwarf_tag(&parameters[i])) {
		case DW_TAG_template_type_parameter:
			put_target(to, &parameters[i], depth);
			break;
		case DW_TAG_template_value_parameter:
			put_number(to, &parameters[i]);
			break;
		default: /* DW_TAG_GNU_template_template_param */
			name = dwarf_formstring(
				dwarf_attr(&parameters[i], DW_AT_GNU_template_name, &attribute));
			buf_put_text(to, name ? name : "?");
		}
	}
	/* as compilers write it */
	buf_put_text(to, to->at[to->count - 1] == '>' ? " >" : ">");
}

/* As the language writes it, without a zero byte. */
static void put_name(struct buf *to, Dwarf_Die *die, int depth)
{
	const char *name = dwarf_diename(die);
	int tag = dwarf_tag(die);

	if (name && *name) {
		buf_put(to, name, strnlen(name, VALUES_NAME_MAX));
		if (!strchr(name, '<'))
			put_arguments(to, die, depth);
		return;
	}
	switch (tag) {
	case DW_TAG_pointer_type:
		put_pointer(to, die, "*", depth);
		break;
	case DW_TAG_reference_type:
		put_pointer(to, die, "&", depth);
		break;
	case DW_TAG_rvalue_reference_type:
		put_pointer(to, die, "&&", depth);
		break;
	case DW_TAG_const_type:
		buf_put(to, "const ", 6);
		put_target(to, die, depth);
		break;
	case DW_TAG_volatile_type:
		buf_put(to, "volatile ", 9);
		put_target(to, die, depth);
		break;
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
		put_target(to, die, depth);
		break;
	case DW_TAG_array_type:
		put_target(to, die, depth);
		buf_printf(to, "[%llu]", (unsigned long long)types_elements(die));
		break;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
		buf_put(to, "struct", 6);
		break;
	case DW_TAG_union_type:
		buf_put(to, "union", 5);
		break;
	case DW_TAG_enumeration_type:
		buf_put(to, "enum", 4);
		break;
	case DW_TAG_subroutine_type:
		buf_put(to, "function", 8);
		break;
	default:
		buf_put(to, "?", 1);
	}
}

void types_put_name(struct buf *to, Dwarf_Die *die)
{
	put_name(to, die, 0);
}
