// SPDX-License-Identifier: Apache-2.0
/*
 * std::map, std::set and those with equal keys, of libstdc++ (bits/stl_tree.h): a tree whose nodes
 * begin with a colour and pointers to the node above, to the left one and to the right one; behind
 * that lies the value. The root and the nodes below it are read, down to a level; what lies deeper
 * is not, and the value is truncated then. They are shown in order.
 */
#include <string.h>

#include "camera/inspect/decoder.h"

#define NODE_LEFT  16u
#define NODE_RIGHT 24u
#define NODE_VALUE 32u

/* A node takes a step, of which a plan has 64. */
#define LEVELS_MAX 3u
#define BYTES_MAX  1024u

/* As many levels as have no more nodes than elements are wanted. */
static unsigned int levels_of(const struct inspect_limits *limits)
{
	unsigned int levels = 1;

	while (levels < LEVELS_MAX && (2u << levels) - 1 <= limits->elements)
		levels++;
	return levels;
}

/* The node that a pointer leads to. */
static bool step_of_node(const struct inspect_holder *holder, const struct value_type *element,
			 uint64_t at, struct inspect_step *step)
{
	if (!element || !element->size || element->size > BYTES_MAX ||
	    !inspect_step_at(holder, INSPECT_READ, at, step))
		return false;
	step->size = (uint16_t)(NODE_VALUE + element->size);
	return true;
}

static void add_node(struct inspect_builder *b, const struct inspect_holder *holder,
		     const struct value_shape *shape, uint64_t at, unsigned int levels,
		     unsigned int depth, int nested)
{
	struct inspect_holder node = {0};
	struct inspect_step step;
	int number;

	if (!levels || !step_of_node(holder, values_type(b->values, shape->element), at, &step))
		return;
	number = inspect_need_step(b, &step);
	if (number < 0)
		return;
	node.from = (uint8_t)number;
	inspect_add_value(b, &node, shape->element, NODE_VALUE, depth + 1, nested + 1);
	add_node(b, &node, shape, NODE_LEFT, levels - 1, depth, nested + 1);
	add_node(b, &node, shape, NODE_RIGHT, levels - 1, depth, nested + 1);
}

void inspect_add_tree(struct inspect_builder *b, const struct inspect_holder *holder,
		      const struct value_shape *shape, uint64_t at, unsigned int depth, int nested)
{
	/* of several, only the first one's bytes could be a source */
	if (depth < b->limits.depth && !holder->stride)
		add_node(b, holder, shape, at + shape->pointer_at, levels_of(&b->limits), depth,
			 nested);
}

/* -- what was read ----------------------------------------------------------------------------- */

static void show_entry(struct decoder *d, const struct view *node, uint32_t element,
		       const struct value_member *key, const struct value_member *value)
{
	if (!key) {
		inspect_show_value(d, node, element, NODE_VALUE, NULL);
		return;
	}
	inspect_show_value(d, node, key->type, NODE_VALUE + key->offset, NULL);
	inspect_show_value(d, node, value->type, NODE_VALUE + value->offset, NULL);
}

/* What a tree consists of; of a map the members of its pairs. */
struct tree {
	const struct value_type *element;
	uint32_t number;
	const struct value_member *key, *value; /* null: it is a set */
};

/* Adds a node and what is below it. Returns how many. */
static uint32_t show_node(struct decoder *d, const struct view *view, const struct tree *tree,
			  uint64_t at, unsigned int levels)
{
	const struct inspect_item *item;
	struct inspect_step step;
	const uint8_t *bytes;
	struct view node;
	uint32_t shown;

	if (!levels || d->tree->failed || !step_of_node(&view->holder, tree->element, at, &step))
		return 0;
	item = inspect_item_of(d, view, &step, &node, &bytes);
	if (!item || item->status != INSPECT_OK)
		return 0;
	node.nested++;
	shown = show_node(d, &node, tree, NODE_LEFT, levels - 1);
	show_entry(d, &node, tree->number, tree->key, tree->value);
	return shown + 1 + show_node(d, &node, tree, NODE_RIGHT, levels - 1);
}

/* Sets have a pair only if they consist of pairs: then both are its members. */
static struct tree tree_of(const struct values *values, const struct value_type *type,
			   uint32_t element)
{
	struct tree tree = {.element = values_type(values, element), .number = element};
	bool is_map = type->bare &&
		      (!strncmp(type->bare, "map<", 4) || !strncmp(type->bare, "multimap<", 9));

	if (is_map && tree.element && tree.element->kind == VALUE_STRUCT) {
		tree.key = values_member(values, tree.element, "first");
		tree.value = values_member(values, tree.element, "second");
	}
	if (!tree.value)
		tree.key = NULL;
	return tree;
}

void inspect_show_tree(struct decoder *d, const struct view *view, const struct value_type *type,
		       const struct value_shape *shape, uint64_t at, size_t place)
{
	struct tree tree = tree_of(d->taken->values, type, shape->element);
	struct shown *node = node_at(d, place);
	uint64_t length = 0;
	uint32_t shown;

	node->status = inspect_read(d, view, at + shape->length_at, &length, sizeof(length));
	if (node->status != SHOWN_VALUE)
		return;
	node->kind = tree.key ? SHOWN_PAIRS : SHOWN_LIST;
	node->length = length;
	if (!length || view->holder.stride)
		shown = 0;
	else
		shown = show_node(d, view, &tree, at + shape->pointer_at,
				  levels_of(d->taken->limits));
	if (d->tree->failed)
		return;
	node_at(d, place)->children = tree.key ? 2 * shown : shown;
	if (shown < length)
		node_at(d, place)->status = SHOWN_TRUNCATED;
}
