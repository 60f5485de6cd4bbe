// SPDX-License-Identifier: Apache-2.0
/* Texts, lists whose elements lie one behind the other, and std::vector<bool>. */
#include <string.h>

#include "sources/inspect/shapes/shapes.h"

uint64_t shape_most(const struct inspect_limits *limits, uint64_t size)
{
	uint64_t room = size ? INSPECT_READ_MAX / size : 0;

	return room < limits->elements ? room : limits->elements;
}

void shape_add_elements(struct inspect_builder *b, const struct inspect_where *where,
			const struct inspect_step *step, uint64_t size, uint32_t element,
			uint64_t at)
{
	int number = inspect_need_step(b, step);
	struct inspect_holder inner = {.from = (uint8_t)number, .stride = (uint32_t)size};

	/* elements of elements are not told apart */
	if (number >= 0 && !where->holder->stride)
		inspect_add_value(b, &inner, element, at, where->depth + 1, where->nested + 1);
}

/* The members of a pair; false: it is none. */
static bool pair_of(const struct values *values, const struct value_shape *shape,
		    const struct value_member **key, const struct value_member **value)
{
	const struct value_type *element = values_type(values, shape->element);

	*key = *value = NULL;
	if (!shape->is_pairs || !element || element->kind != VALUE_STRUCT)
		return false;
	*key = values_member(values, element, "first");
	*value = values_member(values, element, "second");
	if (!*key)
		*key = values_member(values, element, "__0");
	if (!*value)
		*value = values_member(values, element, "__1");
	return *key && *value;
}

/* Is it shown as pairs? Not if its elements are none. */
static bool shape_is_pairs(const struct values *values, const struct value_shape *shape)
{
	const struct value_member *key, *value;

	return shape->kind == SHAPE_BTREE ? shape->is_pairs : pair_of(values, shape, &key, &value);
}

uint32_t shape_show_elements(struct decoder *d, const struct view *item,
			     const struct value_shape *shape, uint64_t at, uint32_t first,
			     uint32_t count)
{
	const struct value_member *key, *value;
	bool is_pairs = pair_of(d->taken->values, shape, &key, &value);
	uint32_t shown = 0;

	for (; shown < count && !d->tree->failed; shown++) {
		struct view one = *item;

		one.index = first + shown;
		if (is_pairs) {
			inspect_show_value(d, &one, key->type, at + key->offset, NULL);
			inspect_show_value(d, &one, value->type, at + value->offset, NULL);
		} else {
			inspect_show_value(d, &one, shape->element, at, NULL);
		}
	}
	return shown;
}

void shape_end_list(struct decoder *d, size_t place, const struct value_shape *shape,
		    uint64_t length, uint32_t shown)
{
	bool is_pairs = shape_is_pairs(d->taken->values, shape);
	struct shown *node = node_at(d, place);

	if (d->tree->failed)
		return;
	node->kind = is_pairs ? SHOWN_PAIRS : SHOWN_LIST;
	node->length = length;
	node->children = is_pairs ? 2 * shown : shown;
	if (shown < length && (node->status == SHOWN_VALUE || shown))
		node->status = SHOWN_TRUNCATED;
}

/* -- texts ------------------------------------------------------------------------------------- */

static void add_text(struct inspect_builder *b, const struct inspect_where *where,
		     const struct value_shape *shape)
{
	struct inspect_step step;

	if (where->depth < b->limits.depth &&
	    inspect_step_of_list(where->holder, &b->limits, shape, NULL, where->at, &step))
		inspect_need_step(b, &step);
}

/*
 * A text in its own object. The byte before it is twice its length, and not even if it is
 * elsewhere. False: it is, or the object could not be read.
 */
static bool show_short(struct decoder *d, const struct view *view, const struct value_shape *shape,
		       uint64_t at, size_t place)
{
	struct shown *node = node_at(d, place);
	const uint8_t *bytes = inspect_bytes(d, view, at + shape->short_at, 1);
	size_t size = bytes ? bytes[0] / 2 : 0;

	if (!bytes || bytes[0] & 1 || !inspect_bytes(d, view, at + shape->value_at, size))
		return false;
	node->kind = SHOWN_TEXT;
	node->text = (const char *)bytes + 1;
	node->length = size;
	if (size > d->taken->limits->text) {
		size = d->taken->limits->text;
		node->status = SHOWN_TRUNCATED;
	}
	node->size = size;
	return true;
}

void inspect_show_text(struct decoder *d, const struct view *view, const struct value_shape *shape,
		       uint64_t at, size_t place)
{
	struct shown *node = node_at(d, place);
	const struct inspect_item *item;
	struct inspect_step step;
	const uint8_t *bytes;
	struct view inner;
	uint64_t length = 1;
	bool found;

	if (shape && shape->can_be_short && show_short(d, view, shape, at, place))
		return;
	/* an empty text of Go has any pointer, also nil */
	if (shape) {
		node->status = inspect_read(d, view, at + shape->length_at, &length, 8);
		if (node->status != SHOWN_VALUE)
			return;
	}
	if (!length) {
		node->kind = SHOWN_TEXT;
		node->text = "";
		return;
	}
	found = shape ? inspect_step_of_list(&view->holder, d->taken->limits, shape, NULL, at,
					     &step)
		      : inspect_step_of_text(&view->holder, d->taken->limits, at, &step);
	if (!found) {
		node->status = SHOWN_OPTIMISED_OUT;
		return;
	}
	item = inspect_follow(d, view, &step, &inner, &bytes, &node->status);
	if (!item || (node->status != SHOWN_VALUE && node->status != SHOWN_TRUNCATED))
		return;
	node->kind = SHOWN_TEXT;
	node->text = (const char *)bytes;
	node->size = item->size;
	node->length = shape ? length : item->size;
}

static void show_text(struct decoder *d, const struct view *view, const struct value_type *type,
		      const struct value_shape *shape, uint64_t at, size_t place)
{
	(void)type;
	inspect_show_text(d, view, shape, at, place);
}

const struct shape_way shape_text = {add_text, show_text};

/* -- lists ------------------------------------------------------------------------------------- */

static void add_list(struct inspect_builder *b, const struct inspect_where *where,
		     const struct value_shape *shape)
{
	const struct value_type *element = values_type(b->values, shape->element);
	struct inspect_step step;

	if (where->depth < b->limits.depth && element &&
	    inspect_step_of_list(where->holder, &b->limits, shape, element, where->at, &step))
		shape_add_elements(b, where, &step, element->size, shape->element, 0);
}

/* How many elements there are; false, with the node's status: that is not known. */
static bool length_of(const struct decoder *d, const struct view *view,
		      const struct value_shape *shape, uint64_t at, uint64_t size, uint64_t *length,
		      enum shown_status *status)
{
	uint64_t start = 0;

	*length = shape->count;
	if (shape->count)
		return true;
	*status = inspect_read(d, view, at + shape->pointer_at, &start, 8);
	if (*status == SHOWN_VALUE)
		*status = inspect_read(d, view, at + shape->length_at, length, 8);
	if (shape->length_is_end)
		*length = *length > start && size ? (*length - start) / size : 0;
	return *status == SHOWN_VALUE;
}

static void show_list(struct decoder *d, const struct view *view, const struct value_type *type,
		      const struct value_shape *shape, uint64_t at, size_t place)
{
	const struct value_type *element = values_type(d->taken->values, shape->element);
	const struct inspect_item *item = NULL;
	enum shown_status status = SHOWN_VALUE;
	uint64_t length = 0, count = 0;
	struct view inner = *view;
	struct inspect_step step;
	const uint8_t *bytes;

	(void)type;
	if (!element || (!element->size && element->flags & VALUE_FLAG_CUT)) {
		node_at(d, place)->status = SHOWN_OF_NO_KIND;
		return;
	}
	if (!length_of(d, view, shape, at, element->size, &length, &status)) {
		node_at(d, place)->status = status;
		return;
	}
	if (!element->size) {
		/* what has no bytes needs not be read */
		count = length < d->taken->limits->elements ? length : d->taken->limits->elements;
	} else if (length) {
		bool is_step = inspect_step_of_list(&view->holder, d->taken->limits, shape, element,
						    at, &step);

		status = SHOWN_NOT_FOLLOWED;
		if (is_step)
			item = inspect_follow(d, view, &step, &inner, &bytes, &status);
		if (!item || !item->size) {
			node_at(d, place)->status = status;
			return;
		}
		inner.nested++;
		inner.holder.stride = (uint32_t)element->size;
		count = item->size / element->size;
	}
	node_at(d, place)->status = status;
	shape_end_list(d, place, shape, length,
		       shape_show_elements(d, &inner, shape, 0, 0, (uint32_t)count));
}

const struct shape_way shape_list = {add_list, show_list};

/* -- std::vector<bool> ------------------------------------------------------------------------- */

static bool step_of_bits(const struct inspect_holder *holder, const struct inspect_limits *limits,
			 const struct value_shape *shape, uint64_t at, struct inspect_step *step)
{
	if (holder->stride || !inspect_step_at(holder, INSPECT_READ, at + shape->pointer_at, step))
		return false;
	step->size = (uint16_t)((limits->elements + 63) / 64 * 8);
	return true;
}

static void add_bits(struct inspect_builder *b, const struct inspect_where *where,
		     const struct value_shape *shape)
{
	struct inspect_step step;

	if (where->depth < b->limits.depth &&
	    step_of_bits(where->holder, &b->limits, shape, where->at, &step))
		inspect_need_step(b, &step);
}

static void show_each_bit(struct decoder *d, const struct view *words, uint64_t count, size_t place)
{
	static const struct value_type type = {.kind = VALUE_BOOL, .name = "bool", .size = 1};
	uint8_t byte = 0;
	uint32_t shown = 0;

	for (; shown < count && !d->tree->failed; shown++) {
		size_t bit;

		if (inspect_read(d, words, shown / 8, &byte, 1) != SHOWN_VALUE)
			break;
		bit = inspect_add_node(d, NULL, &type);
		if (bit == SIZE_MAX)
			return;
		node_at(d, bit)->kind = SHOWN_BOOL;
		node_at(d, bit)->number = byte >> shown % 8 & 1;
	}
	node_at(d, place)->children = shown;
}

/*
 * How many bits there are. Two places, each a pointer to a word and the number of a bit in it, of
 * which a list begins at bit 0; or, of 8 bytes, a length.
 */
static enum shown_status read_bit_count(struct decoder *d, const struct view *view,
					const struct value_shape *shape, uint64_t at,
					uint64_t *count)
{
	uint64_t start = 0, end = 0, first = 0, last = 0;
	enum shown_status status =
		inspect_read(d, view, at + shape->length_at, &last, shape->length_size);

	*count = last;
	if (shape->length_size == 8)
		return status;
	if (status == SHOWN_VALUE)
		status = inspect_read(d, view, at + shape->pointer_at, &start, 8);
	if (status == SHOWN_VALUE)
		status = inspect_read(d, view, at + shape->end_at, &end, 8);
	if (status == SHOWN_VALUE)
		status = inspect_read(d, view, at + shape->first_at, &first, shape->length_size);
	*count = end < start || first || last > 63 ? 0 : (end - start) * 8 + last;
	return status;
}

static void show_bits(struct decoder *d, const struct view *view, const struct value_type *type,
		      const struct value_shape *shape, uint64_t at, size_t place)
{
	uint64_t count;
	enum shown_status status = read_bit_count(d, view, shape, at, &count);
	struct shown *node = node_at(d, place);
	struct inspect_step step;
	const uint8_t *bytes;
	struct view words;

	(void)type;
	node->status = status;
	if (status != SHOWN_VALUE)
		return;
	node->kind = SHOWN_LIST;
	node->length = count;
	if (!count)
		return;
	if (count > d->taken->limits->elements)
		count = d->taken->limits->elements;
	node->status = SHOWN_NOT_FOLLOWED;
	if (step_of_bits(&view->holder, d->taken->limits, shape, at, &step) &&
	    inspect_follow(d, view, &step, &words, &bytes, &node->status))
		show_each_bit(d, &words, count, place);
	if (d->tree->failed)
		return;
	node = node_at(d, place);
	if (node->children && node->children < node->length)
		node->status = SHOWN_TRUNCATED;
	else if (!node->children)
		node->kind = SHOWN_NOTHING;
}

const struct shape_way shape_bits = {add_bits, show_bits};
