// SPDX-License-Identifier: Apache-2.0
#include "probe/values_types.h"

#include <dwarf.h>
#include <string.h>

#include "probe/values_reader.h"
#include "symbol/dwarf_find.h"
#include "symbol/sandbox_child.h"

#define POINTERS_MAX 6
#define PEEL_MAX     32
#define MEMBERS_MAX  512

/* Go's own attributes, and kinds of types as package reflect numbers them. */
#define DW_AT_GO_KIND	      0x2900
#define DW_AT_GO_RUNTIME_TYPE 0x2904
enum {
	GO_BOOL = 1,
	GO_FLOAT32 = 13,
	GO_CHAN = 18,
	GO_FUNC = 19,
	GO_INTERFACE = 20,
	GO_MAP = 21,
	GO_POINTER = 22,
	GO_SLICE = 23,
	GO_STRING = 24,
	GO_UNSAFE_POINTER = 26
};

uint32_t types_number(struct types *types, Dwarf_Die *die, unsigned int pointers)
{
	/* entries of the file that several debug files share have offsets of their own */
	uint64_t key = (uint64_t)(uintptr_t)die->addr;
	const uint64_t *known = map_get(&types->numbers, key);
	struct pending_type pending = {*die, pointers};

	if (known)
		return (uint32_t)*known;
	if (pointers > POINTERS_MAX)
		return 0;
	if (types->pending.count >= VALUES_TYPES_MAX - 1 ||
	    !map_put(&types->numbers, key, types->pending.count + 1) ||
	    !vec_push(&types->pending, pending)) {
		types->cut++;
		return 0;
	}
	return (uint32_t)types->pending.count;
}

bool types_type_of(Dwarf_Die *entry, Dwarf_Die *type)
{
	Dwarf_Attribute attribute;

	return dwarf_formref_die(dwarf_attr_integrate(entry, DW_AT_type, &attribute), type) != NULL;
}

uint32_t types_number_of(struct types *types, Dwarf_Die *entry, unsigned int pointers)
{
	Dwarf_Die type;

	return types_type_of(entry, &type) ? types_number(types, &type, pointers) : 0;
}

static bool is_wrapper(int tag)
{
	switch (tag) {
	case DW_TAG_typedef:
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
		return true;
	default:
		return false;
	}
}

bool types_peel(Dwarf_Die *die)
{
	for (int i = 0; i < PEEL_MAX && is_wrapper(dwarf_tag(die)); i++) {
		Dwarf_Die next;

		if (!types_type_of(die, &next))
			return false;
		*die = next;
	}
	return true;
}

uint64_t types_attribute(Dwarf_Die *die, unsigned int name, uint64_t otherwise)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr_integrate(die, name, &attribute))
		return otherwise;
	return dwarf_formudata(&attribute, &value) ? otherwise : value;
}

static void kind_of_base(Dwarf_Die *die, struct value_type *type)
{
	switch (types_attribute(die, DW_AT_encoding, 0)) {
	case DW_ATE_boolean:
		type->kind = VALUE_BOOL;
		break;
	case DW_ATE_float:
		type->kind = VALUE_FLOAT;
		break;
	case DW_ATE_complex_float:
		type->kind = VALUE_COMPLEX;
		break;
	case DW_ATE_signed:
		type->kind = VALUE_INT;
		type->flags |= VALUE_FLAG_SIGNED;
		break;
	case DW_ATE_unsigned:
	case DW_ATE_address:
		type->kind = VALUE_UINT;
		break;
	case DW_ATE_signed_char:
		type->kind = VALUE_CHAR;
		type->flags |= VALUE_FLAG_SIGNED;
		break;
	case DW_ATE_unsigned_char:
	case DW_ATE_UTF:
		type->kind = VALUE_CHAR;
		break;
	default:
		type->kind = VALUE_UNKNOWN;
	}
}

static uint64_t description_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Addr address;

	if (!dwarf_attr(die, DW_AT_GO_RUNTIME_TYPE, &attribute))
		return 0;
	return dwarf_formaddr(&attribute, &address) ? types_attribute(die, DW_AT_GO_RUNTIME_TYPE, 0)
						    : address;
}

/* The kind that Go gives to what DWARF has as a structure or as a typedef. */
static void kind_of_go(struct types *types, Dwarf_Die *outer, Dwarf_Die *die,
		       struct value_type *type)
{
	const char *name = dwarf_diename(die);
	uint64_t kind =
		types_attribute(outer, DW_AT_GO_KIND, types_attribute(die, DW_AT_GO_KIND, 0)) & 31;

	if (name && !strcmp(name, "runtime.iface"))
		type->kind = VALUE_GO_INTERFACE;
	else if (name && !strcmp(name, "runtime.eface"))
		type->kind = VALUE_GO_ANY;
	else if (kind == GO_STRING && type->kind == VALUE_STRUCT && type->size == 16)
		type->kind = VALUE_GO_STRING;
	else if (kind == GO_SLICE && type->kind == VALUE_STRUCT && type->size == 24)
		type->kind = VALUE_GO_SLICE;
	else if (kind == GO_MAP && type->kind == VALUE_POINTER)
		type->kind = VALUE_GO_MAP;
	else if (kind == GO_CHAN && type->kind == VALUE_POINTER)
		type->kind = VALUE_GO_CHAN;
	else if (kind == GO_FUNC)
		type->kind = VALUE_FUNCTION;
	if (type->kind == VALUE_FUNCTION)
		type->size = 8;
	types->has_interfaces |= type->kind == VALUE_GO_INTERFACE || type->kind == VALUE_GO_ANY;
	/* the linker writes how far behind the first description it is */
	type->runtime_type = description_of(outer);
	if (type->runtime_type && type->runtime_type < types->descriptions)
		type->runtime_type += types->descriptions;
}

/* Is a constructor's first argument a reference to an object of its own class? */
static bool has_own(Dwarf_Die *function, Dwarf_Die *of)
{
	Dwarf_Die param, type;

	if (dwarf_child(function, &param))
		return false;
	do {
		int tag;

		if (dwarf_tag(&param) != DW_TAG_formal_parameter ||
		    dwarf_hasattr(&param, DW_AT_artificial))
			continue;
		if (!types_type_of(&param, &type))
			return false;
		tag = dwarf_tag(&type);
		if (tag != DW_TAG_reference_type && tag != DW_TAG_rvalue_reference_type)
			return false;
		return types_type_of(&type, &type) && types_peel(&type) && type.addr == of->addr;
	} while (dwarf_next_sibling(&param));
	return false;
}

/*
 * Itanium C++ ABI, 1.1: a class is passed by its address if it has a destructor, or a copy or move
 * constructor, that is not trivial: one that the program has written, or any in a class with
 * virtual functions or bases.
 */
static uint32_t convention_of_functions(Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);
	size_t length = name ? strcspn(name, "<") : 0;
	uint32_t flags = 0;
	Dwarf_Die child;

	if (dwarf_child(die, &child))
		return 0;
	do {
		const char *own = dwarf_diename(&child);
		int tag = dwarf_tag(&child);

		if (tag != DW_TAG_subprogram && tag != DW_TAG_inheritance)
			continue;
		if (types_attribute(&child, DW_AT_virtuality, 0))
			flags |= VALUE_FLAG_BY_REFERENCE;
		if (tag == DW_TAG_inheritance || !own)
			continue;
		if (*own != '~' && (!length || strncmp(own, name, length) ||
				    (own[length] && own[length] != '<') || !has_own(&child, die)))
			continue;
		if (dwarf_hasattr(&child, DW_AT_deleted))
			flags |= VALUE_FLAG_UNCLEAR;
		else if (types_attribute(&child, DW_AT_defaulted, 0) != DW_DEFAULTED_in_class)
			flags |= VALUE_FLAG_BY_REFERENCE;
	} while (dwarf_next_sibling(&child));
	return flags & VALUE_FLAG_BY_REFERENCE ? VALUE_FLAG_BY_REFERENCE : flags;
}

/*
 * C++: is an object of the class passed by its address? Some compilers say so. A class without
 * functions of its own is as its members are.
 */
static uint32_t convention_of(Dwarf_Die *die)
{
	uint64_t convention = types_attribute(die, DW_AT_calling_convention, 0);
	Dwarf_Die unit;
	int language;

	if (convention == DW_CC_pass_by_reference)
		return VALUE_FLAG_BY_REFERENCE;
	if (convention == DW_CC_pass_by_value)
		return 0;
	language = dwarf_diecu(die, &unit, NULL, NULL) ? dwarf_srclang(&unit) : 0;
	switch (language) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_Go:
		return 0;
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
		return convention_of_functions(die);
	default:
		return VALUE_FLAG_UNCLEAR;
	}
}

static void kind_of(struct types *types, Dwarf_Die *outer, Dwarf_Die *die, struct value_type *type)
{
	int size = dwarf_bytesize(die);

	type->size = size > 0 ? (uint64_t)size : 0;
	switch (dwarf_tag(die)) {
	case DW_TAG_base_type:
		kind_of_base(die, type);
		break;
	case DW_TAG_pointer_type:
	case DW_TAG_ptr_to_member_type:
		type->kind = VALUE_POINTER;
		type->size = 8;
		if (dwarf_tag(die) == DW_TAG_ptr_to_member_type)
			type->kind = VALUE_UNKNOWN;
		break;
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		type->kind = VALUE_REFERENCE;
		type->size = 8;
		break;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
		type->kind = VALUE_STRUCT;
		type->flags |= convention_of(die);
		if (dwarf_hasattr_integrate(die, DW_AT_declaration))
			type->flags |= VALUE_FLAG_CUT | VALUE_FLAG_UNCLEAR;
		break;
	case DW_TAG_union_type:
		type->kind = VALUE_UNION;
		type->flags |= convention_of(die);
		break;
	case DW_TAG_array_type:
		type->kind = VALUE_ARRAY;
		type->count = types_elements(die);
		break;
	case DW_TAG_enumeration_type:
		type->kind = VALUE_ENUM;
		break;
	case DW_TAG_subroutine_type:
		type->kind = VALUE_FUNCTION;
		type->size = 8;
		break;
	default:
		type->kind = VALUE_UNKNOWN;
	}
	if (types->is_go)
		kind_of_go(types, outer, die, type);
}

void types_say_member(struct buf *to, const char *name, int64_t offset, uint32_t type,
		      const uint8_t bits[3])
{
	values_say_text(to, name);
	values_say_signed(to, offset);
	buf_put_varint(to, type);
	buf_put(to, bits, 3);
}

static bool member_of(struct types *types, Dwarf_Die *child, unsigned int pointers, struct buf *to)
{
	int tag = dwarf_tag(child);
	uint64_t offset = types_attribute(child, DW_AT_data_member_location, 0);
	uint8_t bits[3] = {0, 0, tag == DW_TAG_inheritance};
	Dwarf_Attribute attribute;
	Dwarf_Sword value;
	Dwarf_Die type;

	if (tag == DW_TAG_enumerator) {
		if (dwarf_formsdata(dwarf_attr(child, DW_AT_const_value, &attribute), &value))
			return false;
		types_say_member(to, dwarf_diename(child), value, 0, bits);
		return true;
	}
	if (tag != DW_TAG_member && tag != DW_TAG_inheritance)
		return false;
	/* a static one is not in the object */
	if (dwarf_hasattr(child, DW_AT_external) || dwarf_hasattr(child, DW_AT_declaration) ||
	    dwarf_hasattr(child, DW_AT_artificial))
		return false;
	if (dwarf_hasattr(child, DW_AT_bit_size)) {
		uint64_t bit = types_attribute(child, DW_AT_data_bit_offset, UINT64_MAX);

		bits[0] = (uint8_t)types_attribute(child, DW_AT_bit_size, 0);
		if (bit == UINT64_MAX || bits[0] > 64)
			return false;
		offset = bit / 32 * 4;
		bits[1] = (uint8_t)(bit % 32);
	}
	types_say_member(to,
			 tag == DW_TAG_inheritance && types_type_of(child, &type)
				 ? dwarf_diename(&type)
				 : dwarf_diename(child),
			 (int64_t)offset, types_number_of(types, child, pointers), bits);
	return true;
}

/* Returns how many; *cut: there are more, or some that are not understood. */
static uint32_t members_of(struct types *types, Dwarf_Die *die, unsigned int pointers,
			   struct buf *to, bool *cut)
{
	uint32_t count = 0;
	Dwarf_Die child;

	if (dwarf_child(die, &child))
		return 0;
	do {
		int tag = dwarf_tag(&child);

		if (count == MEMBERS_MAX || tag == DW_TAG_variant_part) {
			*cut = true;
			break;
		}
		if (member_of(types, &child, pointers, to))
			count++;
		else if (tag == DW_TAG_member && dwarf_hasattr(&child, DW_AT_bit_size))
			*cut = true;
	} while (dwarf_next_sibling(&child));
	return count;
}

static bool begins_with(Dwarf_Die *die, const char *text)
{
	const char *name = dwarf_diename(die);

	return name && !strncmp(name, text, strlen(text));
}

/*
 * In a generic function of Go, types are ".param0" …, which are names of others. All pointers are
 * of one shape, "go.shape.*uint8": what they lead to is not known.
 */
static Dwarf_Die without_param(const struct types *types, Dwarf_Die die)
{
	Dwarf_Die next;

	return types->is_go && dwarf_tag(&die) == DW_TAG_typedef && begins_with(&die, ".param") &&
			       types_type_of(&die, &next)
		       ? next
		       : die;
}

/* A text that ends with a zero byte, of a name that is not too long. */
static void end_name(struct buf *name, size_t begin)
{
	if (name->count - begin > VALUES_NAME_MAX)
		name->count = begin + VALUES_NAME_MAX;
	buf_put_u8(name, 0);
}

/* "vector" of vector<int>, and "string" of basic_string<char, …>. */
static void put_brief(struct buf *to, size_t name)
{
	static const char chars[] = "basic_string";
	size_t length = 0;

	while (to->at[name + length] && to->at[name + length] != '<')
		length++;
	if (length >= strlen(chars) && !memcmp(to->at + name, chars, strlen(chars))) {
		name += strlen("basic_");
		length -= strlen("basic_");
	}
	for (size_t i = 0; i < length && !to->failed; i++)
		buf_put_u8(to, to->at[name + i]);
}

/*
 * Says a type's name, and those of a structure: without typedefs and qualifiers, and the one of the
 * library's as it is known.
 */
static void name_type(struct types *types, Dwarf_Die *outer, Dwarf_Die *die,
		      struct value_type *type, struct buf *to)
{
	size_t bare, brief;

	types_put_name(to, outer);
	end_name(to, 0);
	bare = to->count;
	if ((type->kind == VALUE_STRUCT || type->kind == VALUE_VARIANT) && dwarf_diename(die)) {
		types_put_name(to, die);
		if (types_is_library(types, die))
			type->flags |= VALUE_FLAG_LIBRARY;
	}
	end_name(to, bare);
	brief = to->count;
	if (type->flags & VALUE_FLAG_LIBRARY && !to->failed)
		put_brief(to, bare);
	end_name(to, brief);
}

static uint32_t say_arguments(struct types *types, Dwarf_Die *die, unsigned int pointers,
			      uint32_t flags, struct buf *to)
{
	struct buf name = {0};
	uint32_t count;

	if (!dwarf_diename(die))
		return 0;
	types_put_name(&name, die);
	buf_put_u8(&name, 0);
	count = name.failed ? 0
			    : types_say_arguments(types, die, (const char *)name.at,
						  flags & VALUE_FLAG_LIBRARY, pointers, to);
	buf_free(&name);
	return count;
}

static void say_type(struct types *types, const struct pending_type *pending, struct buf *to)
{
	Dwarf_Die outer = without_param(types, pending->die), die = outer, part;
	struct value_type type = {.kind = VALUE_VOID};
	struct buf members = {0}, names = {0}, arguments = {0};
	bool cut = false;
	uint32_t target = 0, count = 0;

	if (types_peel(&die)) {
		kind_of(types, &outer, &die, &type);
		if (type.kind == VALUE_STRUCT && types_variants(&die, &part))
			type.kind = VALUE_VARIANT;
		if ((type.kind == VALUE_POINTER && !begins_with(&outer, "go.shape.*")) ||
		    type.kind == VALUE_REFERENCE || type.kind == VALUE_GO_MAP)
			target = types_number_of(types, &die, pending->pointers + 1);
		else if (type.kind == VALUE_ARRAY)
			target = types_number_of(types, &die, pending->pointers);
		if (type.kind == VALUE_VARIANT)
			count = types_say_variants(types, &part, pending->pointers, &members, &type,
						   &target, &cut);
		if (type.kind == VALUE_STRUCT || type.kind == VALUE_UNION ||
		    type.kind == VALUE_ENUM || type.kind == VALUE_GO_SLICE)
			count = members_of(types, &die, pending->pointers, &members, &cut);
	}
	if (type.kind == VALUE_ARRAY && !type.size && target) {
		Dwarf_Die element;
		Dwarf_Word size;

		if (types_type_of(&die, &element) && !dwarf_aggregate_size(&element, &size))
			type.size = size * type.count;
	}
	if (cut)
		type.flags |= VALUE_FLAG_CUT;
	name_type(types, &outer, &die, &type, &names);
	buf_put_u8(to, VALUES_SAID_TYPE);
	buf_put_varint(to, type.kind);
	buf_put_varint(to, type.size);
	buf_put_varint(to, target);
	buf_put_varint(to, type.count);
	buf_put_varint(to, type.flags);
	buf_put_varint(to, type.runtime_type);
	buf_put(to, names.at, names.count);
	buf_put_varint(to, count);
	buf_put(to, members.at, members.count);
	count = type.kind == VALUE_STRUCT
			? say_arguments(types, &die, pending->pointers + 1, type.flags, &arguments)
			: 0;
	buf_put_varint(to, count);
	buf_put(to, arguments.at, arguments.count);
	buf_free(&members);
	buf_free(&names);
	buf_free(&arguments);
}

void types_say(struct types *types, struct buf *to, int pipe)
{
	while (types->said < types->pending.count) {
		struct pending_type pending = types->pending.at[types->said++];

		say_type(types, &pending, to);
		if (to->count >= SANDBOX_SAY_AT)
			sandbox_say(pipe, to);
	}
}

void types_number_all(struct types *types, Dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;

	while (types->descriptions &&
	       !dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL)) {
		if (dwarf_child(&die, &die))
			continue;
		do {
			if (description_of(&die))
				types_number(types, &die, POINTERS_MAX - 2);
		} while (dwarf_next_sibling(&die));
	}
}

void types_free(struct types *types)
{
	vec_free(&types->pending);
	vec_free(&types->libraries);
	map_free(&types->numbers);
	map_free(&types->units);
}
