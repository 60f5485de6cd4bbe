// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "sources/inspect/decoder.h"

#define NODES_MAX 4096

static void find_items(struct decoder *d)
{
	uint32_t at = INSPECT_REGISTER_BYTES, size = d->taken->size;

	while (at + sizeof(struct inspect_item) <= size && d->count < INSPECT_ITEMS_MAX) {
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

bool inspect_open(struct decoder *d, const struct inspect_contents *taken, struct shown_tree *tree)
{
	tree->failed |= taken->size < INSPECT_REGISTER_BYTES;
	d->taken = taken;
	d->tree = tree;
	d->count = 0;
	if (!tree->failed)
		find_items(d);
	return !tree->failed;
}

int inspect_item_number(const struct decoder *d, int step, uint32_t index)
{
	for (size_t i = 0; step >= 0 && i < d->count; i++)
		if (d->items[i].head.step == step && d->items[i].head.index == index)
			return (int)i;
	return -1;
}

const struct inspect_item *inspect_item_of(const struct decoder *d, const struct view *view,
					   const struct inspect_step *step, struct view *inner,
					   const uint8_t **bytes)
{
	const struct inspect_plan *plan = d->taken->plan;

	/*
	 * of several that are alike, tests have left out some; those of the condition, which read
	 * nothing else, come first
	 */
	for (int i = plan->steps < INSPECT_STEPS_MAX ? plan->steps - 1 : INSPECT_STEPS_MAX - 1;
	     i >= 0; i--) {
		int item = memcmp(&plan->step[i], step, sizeof(*step)) == 0
				   ? inspect_item_number(d, i, view->index)
				   : -1;

		if (item < 0)
			continue;
		*inner = (struct view){
			.holder.from = (uint8_t)i, .item = item + 1, .nested = view->nested};
		*bytes = d->items[item].bytes;
		return &d->items[item].head;
	}
	return NULL;
}

enum shown_status inspect_item_status(const struct inspect_item *item)
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

/* A value that is a constant, or what a register holds and so much more. */
static enum shown_status read_sum(const struct decoder *d, const struct value_param *param,
				  uint64_t at, void *to, size_t size)
{
	uint64_t word = 0;

	if (at >= sizeof(word) || size > sizeof(word) - at)
		return SHOWN_NOT_KNOWN;
	if (param->place == VALUE_SUM && param->reg == VALUE_REGISTER_IMAGE)
		word = d->taken->bias;
	else if (param->place == VALUE_SUM)
		memcpy(&word, d->taken->bytes + 8 * (size_t)param->reg, sizeof(word));
	word += (uint64_t)param->displacement;
	memcpy(to, (const uint8_t *)&word + at, size);
	return SHOWN_VALUE;
}

/* Copies the bytes of a value. */
enum shown_status inspect_read(const struct decoder *d, const struct view *view, uint64_t at,
			       void *to, size_t size)
{
	int place = inspect_locate(&view->holder, at, size), item;
	uint64_t from;

	if (view->holder.from == INSPECT_FROM_NOTHING)
		return read_sum(d, view->holder.param, at, to, size);

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
	item = view->item ? view->item - 1 : inspect_item_number(d, view->holder.from, 0);
	if (item < 0)
		return SHOWN_NO_ROOM;
	from = (uint64_t)place + (uint64_t)view->index * view->holder.stride;
	if (from + size > d->items[item].head.size)
		return d->items[item].head.status == INSPECT_OK ||
				       d->items[item].head.status == INSPECT_TRUNCATED
			       ? SHOWN_NO_ROOM
			       : inspect_item_status(&d->items[item].head);
	memcpy(to, d->items[item].bytes + from, size);
	return SHOWN_VALUE;
}

const uint8_t *inspect_bytes(const struct decoder *d, const struct view *view, uint64_t at,
			     size_t size)
{
	int place = inspect_locate(&view->holder, at, size), item;
	uint64_t from;

	if (view->holder.from == INSPECT_FROM_NOTHING ||
	    view->holder.from == INSPECT_FROM_REGISTERS || place < 0)
		return NULL;
	item = view->item ? view->item - 1 : inspect_item_number(d, view->holder.from, 0);
	from = (uint64_t)place + (uint64_t)view->index * view->holder.stride;
	return item >= 0 && from + size <= d->items[item].head.size ? d->items[item].bytes + from
								    : NULL;
}

/* A new node; its place in the tree. */
size_t inspect_add_node(struct decoder *d, const char *name, const struct value_type *type)
{
	struct shown node = {.name = name, .type = type ? type->name : NULL};

	if (d->tree->nodes.count >= NODES_MAX || !vec_push(&d->tree->nodes, node)) {
		d->tree->failed = true;
		return SIZE_MAX;
	}
	return d->tree->nodes.count - 1;
}

void inspect_add_status(struct decoder *d, const char *name, const struct value_type *type,
			enum shown_status status)
{
	size_t place = inspect_add_node(d, name, type);

	if (place != SIZE_MAX)
		d->tree->nodes.at[place].status = status;
}
