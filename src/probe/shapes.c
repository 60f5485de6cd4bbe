// SPDX-License-Identifier: Apache-2.0
#include "probe/shapes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 12
#define PARTS_MAX (1u << 20)
#define NODE_MAX  1024u /* bytes of a node, or of a bucket, that is read */

/* BTreeMap: keys and values of a node, of which it has room for that many (alloc's node.rs). */
#define BTREE_CAPACITY 11

/* -- the table --------------------------------------------------------------------------------- */

static bool is_of(const struct shape_row *row, const char *name)
{
	size_t length = strlen(row->type);

	if (row->type[length - 1] == '*')
		return !strncmp(name, row->type, length - 1);
	return strpbrk(row->type, "<[") ? !strncmp(name, row->type, length)
					: !strcmp(name, row->type);
}

/* The next row of a name, from one of a table on. */
static const struct shape_row *next_row(const struct shape_table *table, size_t *at,
					const char *name, bool is_library)
{
	while (*at < table->count) {
		const struct shape_row *row = &table->rows[(*at)++];

		if ((is_library || row->flags & SHAPE_ANYWHERE) && is_of(row, name))
			return row;
	}
	return NULL;
}

static const struct shape_table *const tables[] = {&shapes_cpp, &shapes_rust};
enum {
	TABLES = sizeof(tables) / sizeof(tables[0])
};

const struct shape_row *shape_row_of(const char *name, bool is_library,
				     const struct shape_row *after)
{
	for (size_t i = 0; i < TABLES; i++) {
		const struct shape_row *rows = tables[i]->rows, *row;
		size_t at = 0;

		if (after && (after < rows || after >= rows + tables[i]->count))
			continue;
		if (after)
			at = (size_t)(after - rows) + 1;
		after = NULL;
		row = next_row(tables[i], &at, name, is_library);
		if (row)
			return row;
	}
	return NULL;
}

bool shape_holds_arguments(const struct value_type *type)
{
	const struct shape_row *row =
		shape_row_of(type->bare, type->flags & VALUE_FLAG_LIBRARY, NULL);

	return row && row->kind == SHAPE_CHOICE;
}

/* -- members ----------------------------------------------------------------------------------- */

/* What a member must be. */
enum wanted {
	ANY,
	POINTER,
	OPAQUE,
	WORD,
};

struct place {
	uint64_t offset;
	uint32_t type;
};

static bool is_wanted(const struct value_type *type, enum wanted wanted)
{
	switch (wanted) {
	case POINTER:
		return type->kind == VALUE_POINTER;
	case OPAQUE:
		return type->kind == VALUE_STRUCT && type->flags & VALUE_FLAG_CUT && !type->size;
	case WORD:
		return type->size && type->size <= 8 &&
		       (type->kind == VALUE_UINT || type->kind == VALUE_INT ||
			type->kind == VALUE_CHAR || type->kind == VALUE_BOOL ||
			type->kind == VALUE_POINTER || type->kind == VALUE_STRUCT);
	default:
		return true;
	}
}

/* A name that ends with "<" is that of the member's type. */
static bool is_named(const struct value_member *member, const struct value_type *type,
		     const char *name, size_t length)
{
	if (memchr(name, '<', length))
		return !strncmp(type->bare, name, length);
	return !strncmp(member->name, name, length) && !member->name[length] && !member->is_base;
}

static bool is_entered(const struct value_type *type)
{
	return type->kind == VALUE_STRUCT || type->kind == VALUE_UNION ||
	       type->kind == VALUE_VARIANT;
}

/* A member of a name, or one at any depth of another member; false: there is none. */
static bool find_deep(const struct values *values, const struct value_type *type, const char *name,
		      size_t length, enum wanted wanted, struct place *place, int depth)
{
	for (uint32_t i = 0; i < 2 * type->members; i++) {
		const struct value_member *m =
			&values->members.at[type->first_member + i % type->members];
		const struct value_type *inner = values_type(values, m->type);
		struct place deeper = {place->offset + m->offset, m->type};
		bool is_it;

		if (!inner || m->bits)
			continue;
		if (i < type->members)
			is_it = is_named(m, inner, name, length) && is_wanted(inner, wanted);
		else
			is_it = is_entered(inner) && depth < DEPTH_MAX &&
				find_deep(values, inner, name, length, wanted, &deeper, depth + 1);
		if (is_it) {
			*place = deeper;
			return true;
		}
	}
	return false;
}

/* Follows a path such as "a.b"; its end must be what is wanted. */
static bool find(const struct values *values, const struct value_type *type, const char *path,
		 enum wanted wanted, struct place *place)
{
	*place = (struct place){0, VALUE_NO_TYPE};
	for (;;) {
		size_t length = strcspn(path, ".");
		bool is_last = !path[length];

		if (!type ||
		    !find_deep(values, type, path, length, is_last ? wanted : ANY, place, 0))
			return false;
		if (is_last)
			return true;
		type = values_type(values, place->type);
		path += length + 1;
	}
}

/* The same of a word of 8 bytes; no path is found everywhere. */
static bool find_word(const struct values *values, const struct value_type *type, const char *path,
		      uint64_t *at)
{
	const struct value_type *word;
	struct place place;

	if (!path)
		return true;
	if (!find(values, type, path, WORD, &place))
		return false;
	word = values_type(values, place.type);
	*at = place.offset;
	return word && word->size == 8;
}

static uint64_t align_of(const struct values *values, const struct value_type *type, int depth)
{
	uint64_t align = 1;

	if (!type || depth == DEPTH_MAX)
		return 8;
	switch (type->kind) {
	case VALUE_STRUCT:
	case VALUE_UNION:
	case VALUE_VARIANT:
		for (uint32_t i = 0; i < type->members; i++) {
			const struct value_type *inner = values_type(
				values, values->members.at[type->first_member + i].type);
			uint64_t own = inner ? align_of(values, inner, depth + 1) : 1;

			align = own > align ? own : align;
		}
		return align;
	case VALUE_ARRAY:
		return align_of(values, values_type(values, type->target), depth + 1);
	case VALUE_COMPLEX:
		return type->size >= 16 ? 8 : type->size / 2;
	default:
		return type->size >= 16 ? 16 : type->size ? type->size : 1;
	}
}

/* -- shapes ------------------------------------------------------------------------------------ */

static const struct value_argument *argument_of(const struct values *values,
						const struct value_type *type, uint32_t nth)
{
	return nth < type->arguments ? &values->arguments.at[type->first_argument + nth] : NULL;
}

static bool add_part(struct values *values, struct value_shape *shape, uint64_t offset,
		     uint32_t type)
{
	struct value_part part = {offset, type};

	if (values->parts.count >= PARTS_MAX || !vec_push(&values->parts, part))
		return false;
	shape->parts++;
	return true;
}

/* What lies at the place of the value is one of the types that are the template's arguments. */
static bool add_choice(struct values *values, const struct value_type *type,
		       struct value_shape *shape)
{
	if (!type->arguments || !shape->length_size)
		return false;
	for (uint32_t i = 0; i < type->arguments; i++)
		if (!add_part(values, shape, shape->value_at, argument_of(values, type, i)->type))
			return false;
	return true;
}

static const struct value_member *base_of(const struct values *values,
					  const struct value_type *type, const char *name)
{
	for (uint32_t i = 0; i < type->members; i++) {
		const struct value_member *m = &values->members.at[type->first_member + i];
		const struct value_type *base = values_type(values, m->type);

		if (m->is_base && base && !strncmp(base->bare, name, strlen(name)))
			return m;
	}
	return NULL;
}

/* libc++'s tuple: a base for each part, which holds it, or is derived from it if it is empty. */
static bool add_leaves(struct values *values, const struct value_member *all,
		       struct value_shape *shape)
{
	const struct value_type *type = values_type(values, all->type);

	for (uint32_t i = 0; type && i < type->members; i++) {
		const struct value_member *leaf = &values->members.at[type->first_member + i];
		const struct value_type *holder = values_type(values, leaf->type);
		const struct value_member *part =
			holder ? values_member(values, holder, "__value_") : NULL;

		if (!part && holder && holder->members == 1)
			part = &values->members.at[holder->first_member];
		if (!part || shape->parts == 64 ||
		    !add_part(values, shape, all->offset + leaf->offset + part->offset, part->type))
			return false;
	}
	return shape->parts;
}

/*
 * libstdc++'s tuple: a chain of bases, of which each has a part and the chain of those behind it.
 * Only an empty tuple has none.
 */
static bool add_tuple(struct values *values, const struct value_type *type,
		      struct value_shape *shape)
{
	const struct value_member *chain = base_of(values, type, "_Tuple_impl<");
	const struct value_type *level = type;
	uint64_t offset = 0;

	if (!chain && values_member(values, type, "__base_"))
		return add_leaves(values, values_member(values, type, "__base_"), shape);
	if (!chain)
		return !type->members && type->size == 1;
	while (chain) {
		const struct value_member *head, *part;
		const struct value_type *holder;

		offset += chain->offset;
		level = values_type(values, chain->type);
		head = base_of(values, level, "_Head_base<");
		holder = head ? values_type(values, head->type) : NULL;
		part = holder ? values_member(values, holder, "_M_head_impl") : NULL;
		if (!part || shape->parts == 64 ||
		    !add_part(values, shape, offset + head->offset + part->offset, part->type))
			return false;
		chain = base_of(values, level, "_Tuple_impl<");
	}
	return true;
}

/* Rust: what a node consists of is known, and has its own order. */
static bool find_described(const struct values *values, struct value_shape *shape)
{
	const struct value_type *node = values_type(values, shape->leaf);
	const struct value_member *element = node ? values_member(values, node, "element") : NULL,
				  *next = node ? values_member(values, node, "next") : NULL;

	if (!element || !next || element->offset > NODE_MAX || next->offset > NODE_MAX ||
	    element->type != shape->element)
		return false;
	shape->behind = (uint32_t)element->offset;
	shape->next = (uint32_t)next->offset;
	return true;
}

/* Where the elements of a node begin, behind its pointers. */
static bool find_elements(const struct values *values, const struct shape_row *row,
			  struct value_shape *shape)
{
	const struct value_type *element = values_type(values, shape->element);
	uint64_t align = align_of(values, element, 0);
	const struct value_member *pair = NULL;

	/* libc++: an entry of a map has the pair as its only member */
	if (element && row->flags & SHAPE_PAIRS && element->members == 1)
		pair = &values->members.at[element->first_member];
	if (pair && !pair->is_base && !pair->offset)
		shape->element = pair->type;

	shape->behind = (uint32_t)((row->behind + align - 1) / align * align);
	shape->next = row->next;
	shape->above = row->above;
	if (row->flags & SHAPE_NODE && !find_described(values, shape))
		return false;
	return element && element->size && element->size <= NODE_MAX;
}

/* Rust: the value is a member of what the pointer leads to, and not what counts its owners. */
static bool find_value(const struct values *values, struct value_shape *shape)
{
	const struct value_type *target = values_type(values, shape->element);
	const struct value_member *member = target && target->kind == VALUE_STRUCT
						    ? values_member(values, target, "value")
						    : NULL;

	if (target && target->kind == VALUE_STRUCT && !member)
		member = values_member(values, target, "data");
	if (!member || member->offset > NODE_MAX)
		return false;
	shape->behind = (uint32_t)member->offset;
	shape->element = member->type;
	return true;
}

static bool set_pointer(const struct values *values, const struct value_type *type,
			const struct shape_row *row, struct value_shape *shape)
{
	const struct value_argument *first = argument_of(values, type, 0);
	const struct value_type *argument = first ? values_type(values, first->type) : NULL;

	/* how many elements an array has, its pointer does not know */
	if (argument && argument->kind == VALUE_ARRAY)
		shape->element = VALUE_NO_TYPE;
	return !(row->flags & SHAPE_BEHIND) || find_value(values, shape);
}

/* Where the owners of what a weak pointer leads to are counted. */
static bool find_counts(const struct values *values, const struct value_type *type,
			const struct shape_row *row, struct value_shape *shape)
{
	struct place pointer, count;
	const struct value_type *counts, *number;

	if (!find(values, type, row->first, POINTER, &pointer))
		return false;
	counts = values_type(values, pointer.type);
	counts = counts ? values_type(values, counts->target) : NULL;
	if (!counts || !find(values, counts, row->value, WORD, &count) || count.offset > NODE_MAX)
		return false;
	number = values_type(values, count.type);
	shape->first_at = pointer.offset;
	shape->counted = (uint32_t)count.offset;
	shape->length_size = number ? (uint8_t)number->size : 0;
	return shape->length_size;
}

/* A leaf has arrays of its keys and its values (alloc::collections::btree::node::LeafNode). */
static bool find_leaf(const struct values *values, const struct value_type *type,
		      struct value_shape *shape)
{
	const struct value_argument *key = argument_of(values, type, 0),
				    *value = argument_of(values, type, 1);
	const struct value_type *leaf = values_type(values, shape->leaf);
	const struct value_member *keys = leaf ? values_member(values, leaf, "keys") : NULL,
				  *held = leaf ? values_member(values, leaf, "vals") : NULL;
	const struct value_type *all_keys = keys ? values_type(values, keys->type) : NULL,
				*all_values = held ? values_type(values, held->type) : NULL,
				*one_key = key ? values_type(values, key->type) : NULL,
				*one_value = value ? values_type(values, value->type) : NULL;

	if (!all_keys || !all_values || !one_key || !one_value || !leaf->size ||
	    leaf->size > 4 * NODE_MAX || keys->offset > leaf->size || held->offset > leaf->size ||
	    all_keys->count != BTREE_CAPACITY || all_values->count != BTREE_CAPACITY ||
	    all_keys->size != BTREE_CAPACITY * one_key->size ||
	    (shape->is_pairs && all_values->size != BTREE_CAPACITY * one_value->size))
		return false;
	shape->keys_at = (uint32_t)keys->offset;
	shape->values_at = (uint32_t)held->offset;
	shape->key = key->type;
	shape->value = value->type;
	return true;
}

/* A bucket is a pair; a set's has nothing in its second half. */
static bool find_bucket(const struct values *values, struct value_shape *shape)
{
	const struct value_type *bucket = values_type(values, shape->element);
	const struct value_member *key = bucket ? values_member(values, bucket, "__0") : NULL;

	shape->leaf = shape->element;
	if (!key || key->offset > NODE_MAX || !bucket->size || bucket->size > NODE_MAX)
		return false;
	if (!shape->is_pairs) {
		shape->element = key->type;
		shape->behind = (uint32_t)key->offset;
	}
	return true;
}

/* A list without a length of its own: the type says it. */
static bool find_count(const struct values *values, const struct value_type *type,
		       struct value_shape *shape)
{
	const struct value_argument *count = argument_of(values, type, 1);

	if (shape->has_length)
		return true;
	shape->count = count && count->type == VALUE_NO_TYPE && count->number > 0
			       ? (uint64_t)count->number
			       : 0;
	return shape->count;
}

/* What a kind of shapes needs beside the members that the row names. */
static bool find_rest(struct values *values, const struct value_type *type,
		      const struct shape_row *row, struct value_shape *shape)
{
	switch (row->kind) {
	case SHAPE_TEXT:
		shape->behind = row->behind;
		/* libc++: the lowest bit of the byte says that it is not a short one */
		shape->can_be_short = row->flags & SHAPE_SHORT;
		shape->short_at = (uint32_t)shape->value_at - 1;
		/* what is not described is one word, if another member follows it */
		return shape->length_size == 8 &&
		       (!(row->flags & SHAPE_OPAQUE) || shape->length_at == shape->pointer_at + 8);
	case SHAPE_LIST:
		return find_count(values, type, shape) &&
		       (!shape->has_length || shape->length_size == 8);
	case SHAPE_POINTER:
		return set_pointer(values, type, row, shape);
	case SHAPE_WEAK:
		return find_counts(values, type, row, shape) &&
		       set_pointer(values, type, row, shape);
	case SHAPE_OPTIONAL:
		return shape->length_size == 1;
	case SHAPE_CHOICE:
		return add_choice(values, type, shape);
	case SHAPE_TUPLE:
		return add_tuple(values, type, shape);
	case SHAPE_CHAIN:
	case SHAPE_TREE:
		return find_elements(values, row, shape) &&
		       (!shape->has_length || shape->length_size == 8);
	case SHAPE_BTREE:
		return find_leaf(values, type, shape);
	case SHAPE_BITS:
		return shape->length_size == (row->first ? 4 : 8);
	case SHAPE_TABLE:
		return find_bucket(values, shape);
	default:
		return true;
	}
}

static bool follow(struct values *values, const struct value_type *type,
		   const struct shape_row *row, struct value_shape *shape)
{
	const struct value_argument *argument =
		row->element ? argument_of(values, type, row->element - 1u) : NULL;
	struct place pointer = {0, VALUE_NO_TYPE}, length, value;
	const struct value_type *target;

	*shape = (struct value_shape){
		.kind = row->kind,
		.element = VALUE_NO_TYPE,
		.leaf = VALUE_NO_TYPE,
		.key = VALUE_NO_TYPE,
		.value = VALUE_NO_TYPE,
		.first_part = (uint32_t)values->parts.count,
		.length_is_end = row->flags & SHAPE_LENGTH_IS_END,
		.is_pairs = row->flags & SHAPE_PAIRS,
		.has_length = row->length,
	};
	if (row->pointer && !find(values, type, row->pointer,
				  row->flags & SHAPE_OPAQUE ? OPAQUE : POINTER, &pointer))
		return false;
	target = values_type(values, pointer.type);
	shape->pointer_at = pointer.offset;
	shape->element = shape->leaf = target ? target->target : VALUE_NO_TYPE;
	if (row->element)
		shape->element = argument ? argument->type : VALUE_NO_TYPE;
	if (row->length) {
		if (!find(values, type, row->length, WORD, &length))
			return false;
		shape->length_at = length.offset;
		shape->length_size = (uint8_t)values_type(values, length.type)->size;
	}
	if (row->value && !(row->flags & SHAPE_BEHIND) && row->kind != SHAPE_WEAK) {
		if (!find(values, type, row->value, ANY, &value))
			return false;
		shape->value_at = value.offset;
		if (!row->pointer)
			shape->element = value.type;
	}
	if (row->kind == SHAPE_BITS && row->first) {
		/* the numbers of bits are of 4 bytes */
		if (!find(values, type, row->first, WORD, &value) ||
		    values_type(values, value.type)->size != shape->length_size)
			return false;
		shape->first_at = value.offset;
	} else if (!find_word(values, type, row->first, &shape->first_at)) {
		return false;
	}
	return find_word(values, type, row->room, &shape->room_at) &&
	       find_word(values, type, row->end, &shape->end_at) &&
	       find_word(values, type, row->last, &shape->last_at) &&
	       find_rest(values, type, row, shape);
}

static struct value_shape find_shape(struct values *values, const struct value_type *type)
{
	const struct value_shape plain = {.kind = SHAPE_PLAIN, .element = VALUE_NO_TYPE};
	size_t parts = values->parts.count;
	struct value_shape shape = plain;

	if (type->kind == VALUE_GO_STRING) {
		shape.kind = SHAPE_TEXT;
		shape.length_at = 8;
		shape.has_length = true;
	} else if (type->kind == VALUE_GO_SLICE) {
		const struct value_member *array = values_member(values, type, "array");
		const struct value_type *pointer = array ? values_type(values, array->type) : NULL;

		shape.kind = SHAPE_LIST;
		shape.length_at = 8;
		shape.has_length = true;
		shape.element = pointer ? pointer->target : VALUE_NO_TYPE;
	}
	if (type->kind != VALUE_STRUCT)
		return shape;
	for (size_t i = 0; i < TABLES; i++) {
		bool is_library = type->flags & VALUE_FLAG_LIBRARY;
		const struct shape_row *row;

		for (size_t at = 0; (row = next_row(tables[i], &at, type->bare, is_library));) {
			if (follow(values, type, row, &shape))
				return shape;
			values->parts.count = parts;
		}
	}
	return plain;
}

int values_find_shapes(struct values *values)
{
	values->shapes = calloc(values->types.count + 1, sizeof(*values->shapes));
	if (!values->shapes)
		return -ENOMEM;
	for (size_t i = 0; i < values->types.count; i++)
		values->shapes[i] = find_shape(values, &values->types.at[i]);
	return 0;
}

const struct value_shape *value_shape_of(const struct values *values, const struct value_type *type)
{
	static const struct value_shape plain = {.element = VALUE_NO_TYPE};

	/* others have none, also those that were added since */
	return type->kind == VALUE_STRUCT || type->kind == VALUE_GO_STRING ||
			       type->kind == VALUE_GO_SLICE
		       ? &values->shapes[type - values->types.at]
		       : &plain;
}
