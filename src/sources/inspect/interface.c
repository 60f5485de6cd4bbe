// SPDX-License-Identifier: Apache-2.0
/*
 * Interfaces and channels of Go. An interface is two words: what it holds, by the address of the
 * runtime's description of a type (or of a table with it), and a pointer to that value, or the
 * value if it is a pointer itself (runtime/runtime2.go). Which type it is, is known only when the
 * call comes, so that the kernel side reads some bytes behind the second word, and what is a text
 * if they begin with one, as those of most errors do.
 */
#include <string.h>

#include "sources/inspect/decoder.h"

#define HELD_BYTES    128u
#define TABLE_BYTES   16u
#define TYPE_IN_TABLE 8u
#define NESTED_MAX    8

/* runtime/chan.go: hchan begins with the number of elements, and how many it can have. */
#define CHANNEL_BYTES 16u

static bool step_of_bytes(const struct inspect_holder *holder, uint64_t at, uint16_t size,
			  struct inspect_step *step)
{
	if (!inspect_step_at(holder, INSPECT_READ, at, step))
		return false;
	step->size = size;
	return true;
}

void inspect_add_interface(struct inspect_builder *b, const struct inspect_holder *holder,
			   const struct value_type *type, uint64_t at, unsigned int depth)
{
	/* a text is the first member, or the second one behind a number */
	static const struct value_shape texts[] = {
		{.kind = SHAPE_TEXT, .length_at = 8},
		{.kind = SHAPE_TEXT, .pointer_at = 8, .length_at = 16},
	};
	struct inspect_holder held = {0};
	struct inspect_step step;
	int number;

	if (depth >= b->limits.depth)
		return;
	if (type->kind == VALUE_GO_INTERFACE && step_of_bytes(holder, at, TABLE_BYTES, &step))
		inspect_need_step(b, &step);
	if (!step_of_bytes(holder, at + 8, HELD_BYTES, &step))
		return;
	number = inspect_need_step(b, &step);
	if (number < 0 || holder->stride)
		return;
	held.from = (uint8_t)number;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (inspect_step_of_list(&held, &b->limits, &texts[i], NULL, 0, &step))
			inspect_need_step(b, &step);
}

void inspect_add_channel(struct inspect_builder *b, const struct inspect_holder *holder,
			 uint64_t at, unsigned int depth)
{
	struct inspect_step step;

	if (depth < b->limits.depth && step_of_bytes(holder, at, CHANNEL_BYTES, &step))
		inspect_need_step(b, &step);
}

/* -- what was read ----------------------------------------------------------------------------- */

/* Is the second word the value itself? */
static bool is_direct(const struct values *values, const struct value_type *type, int nested)
{
	if (!type || nested > NESTED_MAX)
		return false;
	switch (type->kind) {
	case VALUE_POINTER:
	case VALUE_FUNCTION:
	case VALUE_GO_MAP:
	case VALUE_GO_CHAN:
		return true;
	case VALUE_STRUCT:
		return type->members == 1 && type->size == 8 &&
		       is_direct(values,
				 values_type(values, values->members.at[type->first_member].type),
				 nested + 1);
	case VALUE_ARRAY:
		return type->count == 1 &&
		       is_direct(values, values_type(values, type->target), nested + 1);
	default:
		return false;
	}
}

/* The address of the description of the type. False, with the node's status: there is none. */
static bool dynamic_type(struct decoder *d, const struct view *view, const struct value_type *type,
			 uint64_t at, uint64_t *address, struct shown *node)
{
	struct inspect_step step;
	const uint8_t *bytes;
	struct view table;

	node->status = inspect_read(d, view, at, address, 8);
	if (node->status != SHOWN_VALUE)
		return false;
	if (!*address) {
		node->status = SHOWN_NIL;
		return false;
	}
	if (type->kind == VALUE_GO_ANY)
		return true;
	node->status = SHOWN_NOT_FOLLOWED;
	if (!step_of_bytes(&view->holder, at, TABLE_BYTES, &step) ||
	    !inspect_item_of(d, view, &step, &table, &bytes))
		return false;
	node->status = inspect_read(d, &table, TYPE_IN_TABLE, address, 8);
	return node->status == SHOWN_VALUE;
}

void inspect_show_interface(struct decoder *d, const struct view *view,
			    const struct value_type *type, uint64_t at, size_t place)
{
	const struct values *values = d->taken->values;
	struct shown *node = node_at(d, place);
	const struct value_type *held;
	struct inspect_step step;
	const uint8_t *bytes;
	uint64_t address = 0;
	struct view inner;
	uint32_t number;

	if (!dynamic_type(d, view, type, at, &address, node))
		return;
	number = values_by_runtime_type(values, address - d->taken->bias);
	held = values_type(values, number);
	if (!held) {
		node->status = SHOWN_NOT_KNOWN;
		return;
	}
	node->kind = SHOWN_VARIANT;
	node->children = 1;
	if (!step_of_bytes(&view->holder, at + 8, HELD_BYTES, &step) ||
	    !inspect_item_of(d, view, &step, &inner, &bytes)) {
		inspect_add_status(d, held->name, held, SHOWN_NOT_FOLLOWED);
		return;
	}
	inner.nested = view->nested + 1;
	/* a pointer's target stands for it, as elsewhere */
	if (held->kind == VALUE_POINTER && values_type(values, held->target))
		inspect_show_value(d, &inner, held->target, 0, held->name);
	else if (is_direct(values, held, 0))
		inspect_show_value(d, view, number, at + 8, held->name);
	else
		inspect_show_value(d, &inner, number, 0, held->name);
}

void inspect_show_channel(struct decoder *d, const struct view *view, const struct value_type *type,
			  uint64_t at, size_t place)
{
	static const struct value_type word = {
		.kind = VALUE_UINT, .name = "uint", .size = 8, .target = VALUE_NO_TYPE};
	struct shown *node = node_at(d, place);
	const struct inspect_item *item;
	struct inspect_step step;
	const uint8_t *bytes;
	struct view inner;
	size_t child;

	inspect_show_scalar(d, view, type, at, node);
	if (node->status != SHOWN_VALUE || !step_of_bytes(&view->holder, at, CHANNEL_BYTES, &step))
		return;
	item = inspect_item_of(d, view, &step, &inner, &bytes);
	if (!item || item->status != INSPECT_OK)
		return;
	node->kind = SHOWN_OBJECT;
	node->children = 2;
	for (unsigned int i = 0; i < 2; i++) {
		child = inspect_add_node(d, i ? "cap" : "len", &word);
		if (child != SIZE_MAX)
			inspect_show_scalar(d, &inner, &word, 8 * i, node_at(d, child));
	}
}
