// SPDX-License-Identifier: Apache-2.0
#include "camera/inspect_decode.h"

#include <string.h>

#include "probe/shapes.h"

#define ITEMS_MAX  512
#define NESTED_MAX 12
#define NODES_MAX  4096

struct decoder {
	const struct inspect_taken *taken;
	struct shown_tree *tree;
	struct {
		struct inspect_item head;
		const uint8_t *bytes;
	} items[ITEMS_MAX];
	size_t count;
};

/* A value's place: index is that of the element, if the holder is an array of them. */
struct view {
	struct inspect_holder holder;
	uint32_t index;
	int item; /* + 1: that one of the step's items, and not the first; 0: that one */
	unsigned int depth;
	int nested;
};

static void find_items(struct decoder *d)
{
	uint32_t at = INSPECT_REGISTER_BYTES, size = d->taken->size;

	while (at + sizeof(struct inspect_item) <= size && d->count < ITEMS_MAX) {
		struct inspect_item head;

		memcpy(&head, d->taken->bytes + at, sizeof(head));
		at += sizeof(head);
		if (head.size > size - at)
			return;
		d->items[d->count].head = head;
		d->items[d->count++].bytes = d->taken->bytes + at;
		at += (head.size + 7) & ~7u;
		if (at > size)
			return;
	}
}

/* The item that a step has read (for an element); -1: there is none. */
static int item_of(const struct decoder *d, int step, uint32_t index)
{
	for (size_t i = 0; step >= 0 && i < d->count; i++)
		if (d->items[i].head.step == step && d->items[i].head.index == index)
			return (int)i;
	return -1;
}

static enum shown_status status_of(const struct inspect_item *item)
{
	switch (item->status) {
	case INSPECT_OK:
		return SHOWN_VALUE;
	case INSPECT_NIL:
		return SHOWN_NIL;
	case INSPECT_TRUNCATED:
		return SHOWN_TRUNCATED;
	case INSPECT_NOT_RESIDENT:
		return SHOWN_NOT_RESIDENT;
	default:
		return SHOWN_NO_ROOM;
	}
}

/* Copies the bytes of a value. */
static enum shown_status read_bytes(const struct decoder *d, const struct view *view, uint64_t at,
				    void *to, size_t size)
{
	int place = inspect_locate(&view->holder, at, size), item;
	uint64_t from;

	if (place == -2)
		return SHOWN_FLOAT_REGISTER;
	if (place < 0)
		return SHOWN_OPTIMISED_OUT;
	if (view->holder.from == INSPECT_FROM_REGISTERS) {
		if ((size_t)place + size > d->taken->size)
			return SHOWN_NO_ROOM;
		memcpy(to, d->taken->bytes + place, size);
		return SHOWN_VALUE;
	}
	item = view->item ? view->item - 1 : item_of(d, view->holder.from, 0);
	if (item < 0)
		return SHOWN_NO_ROOM;
	from = (uint64_t)place + (uint64_t)view->index * view->holder.stride;
	if (from + size > d->items[item].head.size)
		return d->items[item].head.status == INSPECT_OK ||
				       d->items[item].head.status == INSPECT_TRUNCATED
			       ? SHOWN_NO_ROOM
			       : status_of(&d->items[item].head);
	memcpy(to, d->items[item].bytes + from, size);
	return SHOWN_VALUE;
}

/* A new node; its place in the tree. */
static size_t add_node(struct decoder *d, const char *name, const struct value_type *type)
{
	struct shown node = {.name = name, .type = type ? type->name : NULL};

	if (d->tree->nodes.count >= NODES_MAX || !vec_push(&d->tree->nodes, node)) {
		d->tree->failed = true;
		return SIZE_MAX;
	}
	return d->tree->nodes.count - 1;
}

static struct shown *node_at(struct decoder *d, size_t at)
{
	return &d->tree->nodes.at[at];
}

static void show_value(struct decoder *d, const struct view *view, uint32_t number, uint64_t at,
		       const char *name);

/* -- scalars ----------------------------------------------------------------------------------- */

static uint64_t extend(uint64_t value, uint64_t size, bool is_signed)
{
	unsigned int shift = size < 8 ? (unsigned int)(64 - 8 * size) : 0;

	value <<= shift;
	return is_signed ? (uint64_t)((int64_t)value >> shift) : value >> shift;
}

static void name_of_number(const struct decoder *d, const struct value_type *type,
			   struct shown *node)
{
	for (uint32_t i = 0; i < type->members; i++) {
		const struct value_member *m =
			&d->taken->values->members.at[type->first_member + i];

		if (extend(m->offset, type->size, false) != extend(node->number, type->size, false))
			continue;
		node->kind = SHOWN_NAME;
		node->text = m->name;
		node->size = strlen(m->name);
		return;
	}
}

static void show_real(const uint8_t *bytes, uint64_t size, struct shown *node)
{
	float single;
	long double extended;

	node->kind = SHOWN_REAL;
	if (size == 4) {
		memcpy(&single, bytes, 4);
		node->real = (double)single;
	} else if (size == 8) {
		memcpy(&node->real, bytes, 8);
	} else if (size == 16) {
		memcpy(&extended, bytes, sizeof(extended));
		node->real = (double)extended;
	} else {
		node->kind = SHOWN_NOTHING;
		node->status = SHOWN_NOT_KNOWN;
	}
}

static void show_scalar(struct decoder *d, const struct view *view, const struct value_type *type,
			uint64_t at, struct shown *node)
{
	uint8_t bytes[16] = {0};
	bool is_signed = type->flags & VALUE_FLAG_SIGNED || type->kind == VALUE_ENUM;

	if (!type->size || type->size > (type->kind == VALUE_FLOAT ? 16 : 8)) {
		node->status = SHOWN_NOT_KNOWN;
		return;
	}
	node->status = read_bytes(d, view, at, bytes, type->size);
	if (node->status != SHOWN_VALUE)
		return;
	if (type->kind == VALUE_FLOAT) {
		show_real(bytes, type->size, node);
		return;
	}
	memcpy(&node->number, bytes, 8);
	node->number = extend(node->number, type->size, is_signed);
	switch (type->kind) {
	case VALUE_BOOL:
		node->kind = SHOWN_BOOL;
		break;
	case VALUE_CHAR:
		node->kind = !is_signed	       ? SHOWN_UNSIGNED
			     : type->size == 1 ? SHOWN_CHAR
					       : SHOWN_SIGNED;
		break;
	case VALUE_POINTER:
	case VALUE_REFERENCE:
	case VALUE_FUNCTION:
	case VALUE_GO_CHAN:
	case VALUE_GO_MAP:
		node->kind = SHOWN_ADDRESS;
		if (!node->number)
			node->status = SHOWN_NIL;
		break;
	default:
		node->kind = is_signed ? SHOWN_SIGNED : SHOWN_UNSIGNED;
	}
	if (type->kind == VALUE_ENUM)
		name_of_number(d, type, node);
}

static void show_bits(struct decoder *d, const struct view *view, const struct value_type *type,
		      const struct value_member *m, uint64_t at)
{
	size_t place = add_node(d, m->name, type);
	uint64_t word = 0;
	struct shown *node;

	if (place == SIZE_MAX)
		return;
	node = node_at(d, place);
	/* of the word, only those bytes are in the structure that the field reaches into */
	node->status = read_bytes(d, view, at, &word, (m->bit_at + m->bits + 7u) / 8);
	if (node->status != SHOWN_VALUE)
		return;
	word = word >> m->bit_at << (64 - m->bits);
	node->kind = type->kind == VALUE_BOOL	       ? SHOWN_BOOL
		     : type->flags & VALUE_FLAG_SIGNED ? SHOWN_SIGNED
						       : SHOWN_UNSIGNED;
	node->number = type->flags & VALUE_FLAG_SIGNED ? (uint64_t)((int64_t)word >> (64 - m->bits))
						       : word >> (64 - m->bits);
	if (type->kind == VALUE_ENUM)
		name_of_number(d, type, node);
}

/* -- compounds --------------------------------------------------------------------------------- */

static void show_members(struct decoder *d, const struct view *view, const struct value_type *type,
			 uint64_t at, size_t place)
{
	uint32_t children = 0;

	node_at(d, place)->kind = SHOWN_OBJECT;
	for (uint32_t i = 0; i < type->members && !d->tree->failed; i++) {
		const struct value_member *m =
			&d->taken->values->members.at[type->first_member + i];
		const struct value_type *inner = values_type(d->taken->values, m->type);

		if (m->bits && m->bit_at + m->bits <= 64 && inner)
			show_bits(d, view, inner, m, at + m->offset);
		else
			show_value(d, view, m->type, at + m->offset, m->name);
		children++;
	}
	node_at(d, place)->children = children;
	if (type->flags & VALUE_FLAG_CUT || (type->kind == VALUE_UNION && !type->members))
		node_at(d, place)->status = SHOWN_NOT_KNOWN;
}

static void show_elements(struct decoder *d, const struct view *view, uint32_t element, uint64_t at,
			  uint64_t size, uint64_t count, uint64_t length, size_t place)
{
	uint32_t children = 0;

	node_at(d, place)->kind = SHOWN_LIST;
	node_at(d, place)->length = length;
	for (uint64_t i = 0; i < count && !d->tree->failed; i++) {
		struct view one = *view;

		if (view->holder.stride)
			one.index = (uint32_t)i;
		show_value(d, &one, element, view->holder.stride ? at : at + i * size, NULL);
		children++;
	}
	node_at(d, place)->children = children;
	if (length > count)
		node_at(d, place)->status = SHOWN_TRUNCATED;
}

static void show_array(struct decoder *d, const struct view *view, const struct value_type *type,
		       uint64_t at, size_t place)
{
	const struct value_type *element = values_type(d->taken->values, type->target);
	uint64_t most = d->taken->limits->elements, count = type->count < most ? type->count : most;

	if (!element || !element->size) {
		node_at(d, place)->status = SHOWN_NOT_KNOWN;
		return;
	}
	node_at(d, place)->kind = SHOWN_LIST;
	node_at(d, place)->length = type->count;
	for (uint64_t i = 0; i < count && !d->tree->failed; i++)
		show_value(d, view, type->target, at + i * element->size, NULL);
	node_at(d, place)->children = (uint32_t)count;
	if (type->count > count)
		node_at(d, place)->status = SHOWN_TRUNCATED;
}

/* What a step has read for the pointer at a place. Null, with the node's status, if nothing. */
static const struct inspect_item *follow(struct decoder *d, const struct view *view, uint64_t at,
					 enum inspect_step_kind kind, int *step,
					 const uint8_t **bytes, struct shown *node)
{
	int place = inspect_locate(&view->holder, at, 8), item;

	*step = inspect_find_step(d->taken->plan, &view->holder, place, kind);
	item = item_of(d, *step, view->index);
	if (item < 0) {
		node->status = place < 0   ? SHOWN_OPTIMISED_OUT
			       : *step < 0 ? SHOWN_NOT_FOLLOWED
					   : SHOWN_NO_ROOM;
		return NULL;
	}
	node->status = status_of(&d->items[item].head);
	*bytes = d->items[item].bytes;
	return &d->items[item].head;
}

static void show_text(struct decoder *d, const struct view *view, uint64_t at, uint64_t length_at,
		      enum inspect_step_kind kind, size_t place)
{
	struct shown *node = node_at(d, place);
	const uint8_t *bytes;
	const struct inspect_item *item;
	uint64_t length = 1;
	int step;

	/* an empty text of Go has any pointer, also nil */
	if (kind == INSPECT_ARRAY) {
		node->status = read_bytes(d, view, length_at, &length, 8);
		if (node->status != SHOWN_VALUE)
			return;
	}
	if (!length) {
		node->kind = SHOWN_TEXT;
		node->text = "";
		return;
	}
	item = follow(d, view, at, kind, &step, &bytes, node);
	if (!item || (node->status != SHOWN_VALUE && node->status != SHOWN_TRUNCATED))
		return;
	node->kind = SHOWN_TEXT;
	node->text = (const char *)bytes;
	node->size = item->size;
	node->length = kind == INSPECT_ARRAY ? length : item->size;
}

static void show_list(struct decoder *d, const struct view *view, const struct value_shape *shape,
		      uint64_t at, size_t place)
{
	const struct value_type *element = values_type(d->taken->values, shape->element);
	struct shown *node = node_at(d, place);
	const struct inspect_item *item;
	const uint8_t *bytes;
	uint64_t start = 0, length = 0;
	struct view inner = {.depth = view->depth + 1, .nested = view->nested + 1};
	int step;

	node->status = read_bytes(d, view, at + shape->pointer_at, &start, 8);
	if (node->status == SHOWN_VALUE)
		node->status = read_bytes(d, view, at + shape->length_at, &length, 8);
	if (node->status != SHOWN_VALUE)
		return;
	if (!element || !element->size) {
		node->status = SHOWN_NOT_KNOWN;
		return;
	}
	if (shape->length_is_end)
		length = length > start ? (length - start) / element->size : 0;
	node->kind = SHOWN_LIST;
	node->length = length;
	if (!length)
		return;
	item = follow(d, view, at + shape->pointer_at, INSPECT_ARRAY, &step, &bytes, node);
	/* items of elements of elements are not told apart */
	if (item && view->holder.stride)
		node->status = SHOWN_NOT_FOLLOWED;
	if (!item || !item->size || view->holder.stride) {
		node->kind = SHOWN_NOTHING;
		return;
	}
	inner.holder.from = (uint8_t)step;
	inner.holder.stride = (uint32_t)element->size;
	show_elements(d, &inner, shape->element, 0, element->size, item->size / element->size,
		      length, place);
}

static void show_pointer(struct decoder *d, const struct view *view, uint32_t target, uint64_t at,
			 const struct value_type *pointer, size_t place)
{
	const struct value_type *type = values_type(d->taken->values, target);
	struct shown *node = node_at(d, place);
	struct view inner = {.depth = view->depth + 1, .nested = view->nested + 1};
	int where = inspect_locate(&view->holder, at, 8), step, item;
	const char *name = node->name, *written = node->type;

	show_scalar(d, view, pointer, at, node);
	if (node->status != SHOWN_VALUE || !type || !type->size || type->kind == VALUE_FUNCTION ||
	    type->kind == VALUE_UNKNOWN)
		return;
	step = inspect_find_step(d->taken->plan, &view->holder, where, INSPECT_READ);
	item = item_of(d, step, view->index);
	if (item < 0)
		return; /* it was not followed: the address is what is known */
	if (d->items[item].head.status != INSPECT_OK) {
		node->status = status_of(&d->items[item].head);
		return;
	}
	inner.holder.from = (uint8_t)step;
	inner.item = item + 1;
	/* the value stands for the pointer, whose type says that it is one */
	d->tree->nodes.count = place;
	show_value(d, &inner, target, 0, name);
	if (d->tree->nodes.count > place)
		node_at(d, place)->type = written;
}

/* The value stands for the optional. */
static void show_optional(struct decoder *d, const struct view *view,
			  const struct value_shape *shape, uint64_t at, size_t place)
{
	struct shown *node = node_at(d, place);
	const char *name = node->name, *written = node->type;
	uint8_t has_value = 0;

	node->status = read_bytes(d, view, at + shape->length_at, &has_value, 1);
	if (node->status != SHOWN_VALUE)
		return;
	if (!has_value) {
		node->status = SHOWN_NIL;
		return;
	}
	d->tree->nodes.count = place;
	show_value(d, view, shape->element, at + shape->pointer_at, name);
	if (d->tree->nodes.count > place)
		node_at(d, place)->type = written;
}

/* -- Go ---------------------------------------------------------------------------------------- */

static void show_interface(struct decoder *d, const struct view *view, uint64_t at, size_t place)
{
	struct shown *node = node_at(d, place);
	uint64_t word = 0;

	node->status = read_bytes(d, view, at, &word, 8);
	if (node->status != SHOWN_VALUE)
		return;
	node->status = word ? SHOWN_NOT_KNOWN : SHOWN_NIL;
}

static void show_map(struct decoder *d, const struct view *view, const struct value_type *type,
		     uint64_t at, size_t place)
{
	struct shown *node = node_at(d, place);
	const struct inspect_item *item;
	const uint8_t *bytes;
	int step;

	show_scalar(d, view, type, at, node);
	if (node->status != SHOWN_VALUE)
		return;
	item = follow(d, view, at, INSPECT_READ, &step, &bytes, node);
	if (!item || node->status != SHOWN_VALUE || item->size < 8) {
		if (!item)
			node->status = SHOWN_VALUE;
		return;
	}
	/* both kinds of maps begin with the number of entries */
	memcpy(&node->length, bytes, 8);
	node->kind = SHOWN_PAIRS;
	node->status = node->length ? SHOWN_TRUNCATED : SHOWN_VALUE;
}

/* -- all --------------------------------------------------------------------------------------- */

static void show_type(struct decoder *d, const struct view *view, const struct value_type *type,
		      uint64_t at, size_t place)
{
	struct value_shape shape = value_shape_of(d->taken->values, type);

	if (shape.kind == SHAPE_TEXT) {
		show_text(d, view, at + shape.pointer_at, at + shape.length_at, INSPECT_ARRAY,
			  place);
		return;
	}
	if (shape.kind == SHAPE_LIST) {
		show_list(d, view, &shape, at, place);
		return;
	}
	if (shape.kind == SHAPE_OPTIONAL) {
		show_optional(d, view, &shape, at, place);
		return;
	}
	switch (type->kind) {
	case VALUE_STRUCT:
	case VALUE_UNION:
		if (shape.kind == SHAPE_POINTER)
			show_pointer(d, view, shape.element, at + shape.pointer_at,
				     &(struct value_type){.kind = VALUE_POINTER, .size = 8}, place);
		else
			show_members(d, view, type, at, place);
		break;
	case VALUE_ARRAY:
		show_array(d, view, type, at, place);
		break;
	case VALUE_POINTER:
	case VALUE_REFERENCE: {
		const struct value_type *target = values_type(d->taken->values, type->target);
		struct shown *node = node_at(d, place);

		if (type->kind == VALUE_POINTER && target && target->kind == VALUE_CHAR) {
			show_scalar(d, view, type, at, node);
			if (node->status == SHOWN_VALUE)
				show_text(d, view, at, 0, INSPECT_TEXT, place);
		} else {
			show_pointer(d, view, type->target, at, type, place);
		}
		break;
	}
	case VALUE_GO_INTERFACE:
	case VALUE_GO_ANY:
		show_interface(d, view, at, place);
		break;
	case VALUE_GO_MAP:
		show_map(d, view, type, at, place);
		break;
	case VALUE_COMPLEX:
	case VALUE_UNKNOWN:
	case VALUE_VOID:
		node_at(d, place)->status = SHOWN_NOT_KNOWN;
		break;
	default:
		show_scalar(d, view, type, at, node_at(d, place));
	}
}

static void show_value(struct decoder *d, const struct view *view, uint32_t number, uint64_t at,
		       const char *name)
{
	const struct value_type *type = values_type(d->taken->values, number);
	size_t place = add_node(d, name, type);
	struct view inner = *view;

	if (place == SIZE_MAX)
		return;
	inner.nested++;
	if (inspect_is_redacted(d->taken->redaction, name))
		node_at(d, place)->status = SHOWN_REDACTED;
	else if (!type || inner.nested > NESTED_MAX)
		node_at(d, place)->status = SHOWN_NOT_KNOWN;
	else
		show_type(d, &inner, type, at, place);
}

static enum shown_status status_of_place(enum value_place place)
{
	switch (place) {
	case VALUE_NOWHERE:
	case VALUE_HOME:
	case VALUE_ODD:
		return SHOWN_OPTIMISED_OUT;
	case VALUE_LEFT:
		return SHOWN_LEFT;
	default:
		return SHOWN_NOT_KNOWN;
	}
}

static void show_param(struct decoder *d, const struct value_param *param)
{
	struct inspect_plan scratch = *d->taken->plan;
	struct inspect_builder builder = {.values = d->taken->values, .plan = &scratch};
	struct view view = {0};
	size_t place;

	if (inspect_begin(&builder, param, &view.holder)) {
		show_value(d, &view, param->type, 0, param->name);
		return;
	}
	place = add_node(d, param->name, values_type(d->taken->values, param->type));
	if (place != SIZE_MAX)
		node_at(d, place)->status = inspect_is_redacted(d->taken->redaction, param->name)
						    ? SHOWN_REDACTED
						    : status_of_place(param->place);
}

void inspect_decode(const struct inspect_taken *taken, const struct value_param *params,
		    size_t count, bool results, struct shown_tree *tree)
{
	struct decoder d; /* its items are many, and most of them unused */

	if (taken->size < INSPECT_REGISTER_BYTES) {
		tree->failed = true;
		return;
	}
	d.taken = taken;
	d.tree = tree;
	d.count = 0;
	find_items(&d);
	for (size_t i = 0; i < count; i++)
		if (params[i].is_result == results)
			show_param(&d, &params[i]);
}
