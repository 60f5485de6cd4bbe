// SPDX-License-Identifier: Apache-2.0
/*
 * Lists and hash tables of C++, whose nodes lead to each other, and maps and sets, which are trees:
 * a step walks them, so that their nodes lie one behind the other in its item. Then BTreeMap of
 * Rust, of which the first leaf is read.
 */
#include "sources/inspect/shapes/shapes.h"

static uint64_t node_size(const struct value_type *element, const struct value_shape *shape)
{
	/* a tree's has another pointer behind the one to the left */
	uint64_t size = shape->behind + element->size,
		 least = shape->next + (shape->above ? 16ull : 8ull);

	return ((size > least ? size : least) + 7) & ~7ull;
}

static bool step_of_nodes(const struct inspect_holder *holder, const struct inspect_limits *limits,
			  const struct value_shape *shape, const struct value_type *element,
			  uint64_t at, struct inspect_step *step)
{
	bool is_tree = shape->kind == SHAPE_TREE;
	int length = inspect_locate(holder, at + shape->length_at, 8);

	if (!element || holder->stride || holder->from == INSPECT_FROM_NOTHING ||
	    !inspect_step_at(holder, is_tree ? INSPECT_ORDER : INSPECT_CHAIN,
			     at + shape->pointer_at, step) ||
	    (shape->has_length && length < 0))
		return false;
	step->size = (uint16_t)node_size(element, shape);
	step->max = (uint16_t)shape_most(limits, step->size);
	if (shape->has_length)
		step->length_at = (uint16_t)length;
	else
		step->flags |= INSPECT_NO_LENGTH;
	step->displacement = (int32_t)shape->next;
	step->width = (uint8_t)shape->above;
	return true;
}

static void add_nodes(struct inspect_builder *b, const struct inspect_where *where,
		      const struct value_shape *shape)
{
	const struct value_type *element = values_type(b->values, shape->element);
	struct inspect_step step;

	if (where->depth < b->limits.depth &&
	    step_of_nodes(where->holder, &b->limits, shape, element, where->at, &step))
		shape_add_elements(b, where, &step, step.size, shape->element, shape->behind);
}

static void show_nodes(struct decoder *d, const struct view *view, const struct value_type *type,
		       const struct value_shape *shape, uint64_t at, size_t place)
{
	const struct value_type *element = values_type(d->taken->values, shape->element);
	const struct inspect_item *item = NULL;
	enum shown_status status;
	uint64_t length = 0;
	struct inspect_step step;
	const uint8_t *bytes;
	struct view nodes;
	uint32_t shown = 0;

	(void)type;
	status = inspect_read(d, view,
			      at + (shape->has_length ? shape->length_at : shape->pointer_at),
			      &length, 8);
	node_at(d, place)->status = status;
	if (status != SHOWN_VALUE)
		return;
	if (length && step_of_nodes(&view->holder, d->taken->limits, shape, element, at, &step))
		item = inspect_follow(d, view, &step, &nodes, &bytes, &status);
	if (item) {
		nodes.nested++;
		nodes.holder.stride = step.size;
		shown = shape_show_elements(d, &nodes, shape, shape->behind, 0,
					    item->size / step.size);
	}
	/* of one that does not know how many there are, all that is known is that there are more */
	if (!shape->has_length && length)
		length = item && item->status == INSPECT_OK ? shown : 0;
	shape_end_list(d, place, shape, length, shown);
	if (!d->tree->failed && (shown < length || (!length && item && item->status != INSPECT_OK)))
		node_at(d, place)->status = SHOWN_TRUNCATED;
}

const struct shape_way shape_nodes = {add_nodes, show_nodes};

/* -- BTreeMap ---------------------------------------------------------------------------------- */

/*
 * The root's height says how many levels lie above the leaves. The first leaf is what the first
 * pointers lead to, which are in an inner node behind all that a leaf has.
 */
static bool step_to_leaf(const struct inspect_holder *holder, const struct value_shape *shape,
			 const struct value_type *leaf, uint64_t at, struct inspect_step *step)
{
	int height = inspect_locate(holder, at + shape->first_at, 8);

	if (!leaf || height < 0 || holder->stride || holder->from == INSPECT_FROM_NOTHING ||
	    !inspect_step_at(holder, INSPECT_DESCEND, at + shape->pointer_at, step))
		return false;
	step->length_at = (uint16_t)height;
	step->displacement = (int32_t)((leaf->size + 7) & ~7ull);
	return true;
}

static bool step_of_leaf(const struct inspect_holder *found, const struct value_type *leaf,
			 struct inspect_step *step)
{
	if (!inspect_step_at(found, INSPECT_READ, 0, step))
		return false;
	step->size = (uint16_t)leaf->size;
	return true;
}

#define BTREE_CAPACITY 11u

/* Keys, or values: an array in the leaf. */
static struct inspect_holder slots_of(uint8_t leaf, const struct value_type *element)
{
	return (struct inspect_holder){
		.from = leaf, .stride = (uint32_t)element->size, .most = BTREE_CAPACITY};
}

static void add_btree(struct inspect_builder *b, const struct inspect_where *where,
		      const struct value_shape *shape)
{
	const struct value_type *leaf = values_type(b->values, shape->leaf);
	const uint32_t types[2] = {shape->key, shape->value};
	const uint32_t offsets[2] = {shape->keys_at, shape->values_at};
	struct inspect_holder found = {0};
	struct inspect_step step;
	int number;

	if (where->depth >= b->limits.depth ||
	    !step_to_leaf(where->holder, shape, leaf, where->at, &step))
		return;
	number = inspect_need_step(b, &step);
	found.from = (uint8_t)number;
	if (number < 0 || !step_of_leaf(&found, leaf, &step))
		return;
	number = inspect_need_step(b, &step);
	for (unsigned int i = 0; number >= 0 && i < (shape->is_pairs ? 2 : 1); i++) {
		const struct value_type *element = values_type(b->values, types[i]);
		struct inspect_holder slots;

		if (!element || !element->size)
			continue;
		slots = slots_of((uint8_t)number, element);
		inspect_add_value(b, &slots, types[i], offsets[i], where->depth + 1,
				  where->nested + 1);
	}
}

static void show_slot(struct decoder *d, const struct view *leaf, uint32_t number, uint64_t at,
		      uint32_t i)
{
	const struct value_type *element = values_type(d->taken->values, number);
	struct view one = *leaf;

	if (element && element->size) {
		one.holder = slots_of(leaf->holder.from, element);
		one.index = i;
	}
	inspect_show_value(d, &one, number, at, NULL);
}

static const struct inspect_item *find_leaf(struct decoder *d, const struct view *view,
					    const struct value_shape *shape, uint64_t at,
					    struct view *leaf, enum shown_status *status)
{
	const struct value_type *type = values_type(d->taken->values, shape->leaf);
	struct inspect_step step;
	const uint8_t *bytes;
	struct view found;

	*status = SHOWN_NOT_FOLLOWED;
	return step_to_leaf(&view->holder, shape, type, at, &step) &&
			       inspect_follow(d, view, &step, &found, &bytes, status) &&
			       step_of_leaf(&found.holder, type, &step)
		       ? inspect_follow(d, &found, &step, leaf, &bytes, status)
		       : NULL;
}

static void show_btree(struct decoder *d, const struct view *view, const struct value_type *type,
		       const struct value_shape *shape, uint64_t at, size_t place)
{
	const struct value_member *member =
		values_member(d->taken->values, values_type(d->taken->values, shape->leaf), "len");
	uint64_t length = 0, count = d->taken->limits->elements;
	enum shown_status status;
	uint16_t held = 0;
	struct view leaf;
	uint32_t shown = 0;

	(void)type;
	status = inspect_read(d, view, at + shape->length_at, &length, 8);
	node_at(d, place)->status = status;
	if (status != SHOWN_VALUE)
		return;
	if (length && member && find_leaf(d, view, shape, at, &leaf, &status) &&
	    inspect_read(d, &leaf, member->offset, &held, sizeof(held)) == SHOWN_VALUE) {
		if (count > held)
			count = held;
		if (count > BTREE_CAPACITY)
			count = 0;
		leaf.nested++;
		for (; shown < count && !d->tree->failed; shown++) {
			show_slot(d, &leaf, shape->key, shape->keys_at, shown);
			if (shape->is_pairs)
				show_slot(d, &leaf, shape->value, shape->values_at, shown);
		}
	}
	shape_end_list(d, place, shape, length, shown);
}

const struct shape_way shape_btree = {add_btree, show_btree};
