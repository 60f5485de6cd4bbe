// SPDX-License-Identifier: Apache-2.0
#include "probe/shapes.h"

#include <string.h>

#define DEPTH_MAX 8

/* A member of a name and a kind at any depth of members; false: there is none. */
static bool find_deep(const struct values *values, const struct value_type *type, const char *name,
		      enum value_kind kind, uint64_t *offset, uint32_t *found, int depth)
{
	for (uint32_t i = 0; i < type->members; i++) {
		const struct value_member *m = &values->members.at[type->first_member + i];
		const struct value_type *inner = values_type(values, m->type);
		uint64_t at = *offset + m->offset;

		if (!inner)
			continue;
		if (inner->kind == kind && m->name && !strcmp(m->name, name)) {
			*offset = at;
			*found = m->type;
			return true;
		}
		if ((inner->kind == VALUE_STRUCT || inner->kind == VALUE_UNION) &&
		    depth < DEPTH_MAX &&
		    find_deep(values, inner, name, kind, &at, found, depth + 1)) {
			*offset = at;
			return true;
		}
	}
	return false;
}

static const struct value_type *find(const struct values *values, const struct value_type *type,
				     const char *name, enum value_kind kind, uint64_t *offset)
{
	uint32_t found = VALUE_NO_TYPE;

	*offset = 0;
	return find_deep(values, type, name, kind, offset, &found, 0) ? values_type(values, found)
								      : NULL;
}

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

/* The library's own texts and lists: a pointer, and a length or an end. */
static const struct recipe {
	const char *type; /* its name begins so */
	enum value_shape_kind kind;
	const char *pointer, *length;
	bool length_is_end;
} recipes[] = {
	/* libstdc++: bits/basic_string.h, string_view, bits/stl_vector.h, bits/unique_ptr.h */
	{"basic_string<char", SHAPE_TEXT, "_M_p", "_M_string_length", false},
	{"basic_string_view<char", SHAPE_TEXT, "_M_str", "_M_len", false},
	{"string_view", SHAPE_TEXT, "_M_str", "_M_len", false},
	{"string", SHAPE_TEXT, "_M_p", "_M_string_length", false},
	{"vector<", SHAPE_LIST, "_M_start", "_M_finish", true},
	{"unique_ptr<", SHAPE_POINTER, "_M_head_impl", NULL, false},
	{"shared_ptr<", SHAPE_POINTER, "_M_ptr", NULL, false},
	/* bits/stl_map.h and its neighbours; the root is what the header has above it */
	{"map<", SHAPE_TREE, "_M_parent", "_M_node_count", false},
	{"multimap<", SHAPE_TREE, "_M_parent", "_M_node_count", false},
	{"set<", SHAPE_TREE, "_M_parent", "_M_node_count", false},
	{"multiset<", SHAPE_TREE, "_M_parent", "_M_node_count", false},
	/* Rust */
	{"&str", SHAPE_TEXT, "data_ptr", "length", false},
	{"&mut str", SHAPE_TEXT, "data_ptr", "length", false},
	{"&[", SHAPE_LIST, "data_ptr", "length", false},
	{"&mut [", SHAPE_LIST, "data_ptr", "length", false},
	{"String", SHAPE_TEXT, "pointer", "len", false},
	{"Vec<", SHAPE_LIST, "pointer", "len", false},
	{"alloc::boxed::Box<[", SHAPE_LIST, "data_ptr", "length", false},
	{"alloc::boxed::Box<str", SHAPE_TEXT, "data_ptr", "length", false},
};

static bool follow(const struct values *values, const struct value_type *type,
		   const struct recipe *recipe, struct value_shape *shape)
{
	const struct value_type *pointer, *length;

	pointer = find(values, type, recipe->pointer, VALUE_POINTER, &shape->pointer_at);
	if (!pointer)
		return false;
	/* of a tree it leads to what all nodes begin with */
	if (recipe->kind == SHAPE_TREE && type->target == VALUE_NO_TYPE)
		return false;
	/* the pointer of some lists does not say of what they consist */
	shape->element = type->target != VALUE_NO_TYPE ? type->target : pointer->target;
	if (!recipe->length) {
		shape->kind = recipe->kind;
		return true;
	}
	length = find(values, type, recipe->length,
		      recipe->length_is_end ? VALUE_POINTER : VALUE_UINT, &shape->length_at);
	if (!length || length->size != 8)
		return false;
	shape->length_is_end = recipe->length_is_end;
	shape->kind = recipe->kind;
	return true;
}

/* std::optional of libstdc++. */
static bool is_optional(const struct values *values, const struct value_type *type,
			struct value_shape *shape)
{
	uint32_t flag = VALUE_NO_TYPE;

	if (!type->bare || !begins(type->bare, "optional<"))
		return false;
	shape->pointer_at = shape->length_at = 0;
	for (enum value_kind kind = VALUE_INT; kind < VALUE_KINDS; kind++) {
		shape->pointer_at = 0;
		if (find_deep(values, type, "_M_value", kind, &shape->pointer_at, &shape->element,
			      0))
			break;
	}
	shape->kind = SHAPE_OPTIONAL;
	return shape->element != VALUE_NO_TYPE &&
	       find_deep(values, type, "_M_engaged", VALUE_BOOL, &shape->length_at, &flag, 0);
}

struct value_shape value_shape_of(const struct values *values, const struct value_type *type)
{
	struct value_shape shape = {.kind = SHAPE_PLAIN, .element = VALUE_NO_TYPE};

	if (type->kind == VALUE_GO_STRING) {
		shape.kind = SHAPE_TEXT;
		shape.length_at = 8;
	} else if (type->kind == VALUE_GO_SLICE) {
		const struct value_member *array = values_member(values, type, "array");
		const struct value_type *pointer = array ? values_type(values, array->type) : NULL;

		shape.kind = SHAPE_LIST;
		shape.length_at = 8;
		shape.element = pointer ? pointer->target : VALUE_NO_TYPE;
	}
	for (size_t i = 0; type->kind == VALUE_STRUCT && i < sizeof(recipes) / sizeof(recipes[0]);
	     i++)
		if (type->bare && begins(type->bare, recipes[i].type) &&
		    follow(values, type, &recipes[i], &shape))
			return shape;
	if (type->kind == VALUE_STRUCT && is_optional(values, type, &shape))
		return shape;
	if (type->kind == VALUE_STRUCT)
		shape = (struct value_shape){.kind = SHAPE_PLAIN, .element = VALUE_NO_TYPE};
	return shape;
}
