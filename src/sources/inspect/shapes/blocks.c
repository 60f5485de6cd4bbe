// SPDX-License-Identifier: Apache-2.0
/* Lists that lie in two runs: std::deque, whose blocks have one size, and VecDeque, a ring. */
#include "sources/inspect/shapes/shapes.h"

/* libstdc++: bytes of a block of elements that are not larger (bits/stl_deque.h) */
#define BLOCK_BYTES 512u

/* Elements one behind the other. */
struct run {
	struct view view;
	uint32_t count; /* that were read; 0: none */
};

/* What is read of a run whose pointer a step's holder has. */
static bool step_of_run(const struct inspect_holder *holder, const struct inspect_limits *limits,
			uint64_t size, uint64_t at, struct inspect_step *step)
{
	if (holder->stride || holder->from == INSPECT_FROM_NOTHING ||
	    !inspect_step_at(holder, INSPECT_READ, at, step))
		return false;
	step->size = (uint16_t)(shape_most(limits, size) * size);
	return step->size;
}

static struct run read_run(struct decoder *d, const struct view *view,
			   const struct inspect_step *step, uint64_t size)
{
	struct run run = {0};
	enum shown_status status;
	const uint8_t *bytes;
	const struct inspect_item *item = inspect_follow(d, view, step, &run.view, &bytes, &status);

	if (!item)
		return run;
	run.view.nested++;
	run.view.holder.stride = (uint32_t)size;
	run.count = (uint32_t)(item->size / size);
	return run;
}

static uint32_t least(uint64_t a, uint64_t b)
{
	uint64_t less = a < b ? a : b;

	return less < UINT32_MAX ? (uint32_t)less : UINT32_MAX;
}

/*
 * Shows the elements of two runs: those of the first run, of which there are in_first, and then
 * those of the second one from its beginning on.
 */
static void show_runs(struct decoder *d, const struct value_shape *shape, const struct run *first,
		      uint64_t in_first, const struct run *second, uint64_t length, size_t place)
{
	uint64_t wanted = least(length, d->taken->limits->elements);
	uint32_t shown = shape_show_elements(d, &first->view, shape, 0, 0,
					     least(least(wanted, in_first), first->count));

	/* no element is left out between two that are shown */
	if (shown == in_first && shown < wanted)
		shown += shape_show_elements(d, &second->view, shape, 0, 0,
					     least(wanted - shown, second->count));
	shape_end_list(d, place, shape, length, shown);
}

/* -- std::deque -------------------------------------------------------------------------------- */

static uint64_t block_of(const struct value_type *element)
{
	return element->size < BLOCK_BYTES ? BLOCK_BYTES / element->size : 1;
}

/* From the first element to its block's end. */
static bool step_of_first(const struct inspect_holder *holder, const struct inspect_limits *limits,
			  const struct value_shape *shape, const struct value_type *element,
			  uint64_t at, struct inspect_step *step)
{
	return element && element->size && !holder->stride &&
	       inspect_step_of_list(holder, limits, shape, element, at, step);
}

/* The pointer to the next block, which lies behind the one to the first block. */
static bool step_to_second(const struct inspect_holder *holder, const struct value_shape *shape,
			   uint64_t at, struct inspect_step *step)
{
	if (!inspect_step_at(holder, INSPECT_READ, at + shape->first_at, step))
		return false;
	step->displacement = 8;
	step->size = 8;
	return true;
}

static void add_blocks(struct inspect_builder *b, const struct inspect_where *where,
		       const struct value_shape *shape)
{
	const struct value_type *element = values_type(b->values, shape->element);
	const struct inspect_holder *holder = where->holder;
	struct inspect_holder next = {0};
	struct inspect_step step;
	int number;

	if (where->depth >= b->limits.depth ||
	    !step_of_first(holder, &b->limits, shape, element, where->at, &step))
		return;
	shape_add_elements(b, where, &step, element->size, shape->element, 0);
	if (!step_to_second(holder, shape, where->at, &step))
		return;
	number = inspect_need_step(b, &step);
	next.from = (uint8_t)number;
	if (number >= 0 && step_of_run(&next, &b->limits, element->size, 0, &step))
		shape_add_elements(b, where, &step, element->size, shape->element, 0);
}

struct blocks {
	uint64_t start, start_end, start_node, end, end_begin, end_node;
};

static enum shown_status read_blocks(struct decoder *d, const struct view *view,
				     const struct value_shape *shape, uint64_t at,
				     struct blocks *blocks)
{
	const struct {
		uint64_t at, *to;
	} words[] = {{shape->pointer_at, &blocks->start},    {shape->length_at, &blocks->start_end},
		     {shape->first_at, &blocks->start_node}, {shape->end_at, &blocks->end},
		     {shape->room_at, &blocks->end_begin},   {shape->last_at, &blocks->end_node}};
	enum shown_status status = SHOWN_VALUE;

	for (size_t i = 0; status == SHOWN_VALUE && i < sizeof(words) / sizeof(words[0]); i++)
		status = inspect_read(d, view, at + words[i].at, words[i].to, 8);
	return status;
}

static void show_blocks(struct decoder *d, const struct view *view, const struct value_type *type,
			const struct value_shape *shape, uint64_t at, size_t place)
{
	const struct value_type *element = values_type(d->taken->values, shape->element);
	uint64_t length, in_first;
	struct run first = {0}, second = {0};
	struct blocks blocks = {0};
	struct inspect_step step;
	const uint8_t *bytes;
	struct view next;
	enum shown_status status = read_blocks(d, view, shape, at, &blocks);

	(void)type;
	if (status == SHOWN_VALUE && (!element || !element->size))
		status = SHOWN_OF_NO_KIND;
	node_at(d, place)->status = status;
	if (status != SHOWN_VALUE)
		return;
	if (blocks.start_node == blocks.end_node) {
		length = in_first = (blocks.end - blocks.start) / element->size;
	} else {
		in_first = (blocks.start_end - blocks.start) / element->size;
		length = in_first + (blocks.end - blocks.end_begin) / element->size +
			 ((blocks.end_node - blocks.start_node) / 8 - 1) * block_of(element);
	}
	if (step_of_first(&view->holder, d->taken->limits, shape, element, at, &step))
		first = read_run(d, view, &step, element->size);
	if (step_to_second(&view->holder, shape, at, &step) &&
	    inspect_follow(d, view, &step, &next, &bytes, &status) &&
	    step_of_run(&next.holder, d->taken->limits, element->size, 0, &step))
		second = read_run(d, &next, &step, element->size);
	if (second.count > block_of(element))
		second.count = (uint32_t)block_of(element);
	show_runs(d, shape, &first, in_first, &second, length, place);
}

const struct shape_way shape_blocks = {add_blocks, show_blocks};

/* -- VecDeque ---------------------------------------------------------------------------------- */

/* The address of the first element: a pointer, and a number of elements. */
static bool step_to_head(const struct inspect_holder *holder, const struct value_shape *shape,
			 const struct value_type *element, uint64_t at, struct inspect_step *step)
{
	int first = inspect_locate(holder, at + shape->first_at, 8);

	if (!element || !element->size || first < 0 || holder->stride ||
	    holder->from == INSPECT_FROM_NOTHING || element->size > INSPECT_READ_MAX ||
	    !inspect_step_at(holder, INSPECT_SUM, at + shape->pointer_at, step))
		return false;
	step->length_at = (uint16_t)first;
	step->size = (uint16_t)element->size;
	return true;
}

static void add_ring(struct inspect_builder *b, const struct inspect_where *where,
		     const struct value_shape *shape)
{
	const struct value_type *element = values_type(b->values, shape->element);
	struct inspect_holder head = {0};
	struct inspect_step step;
	int number;

	if (where->depth >= b->limits.depth ||
	    !step_to_head(where->holder, shape, element, where->at, &step))
		return;
	number = inspect_need_step(b, &step);
	head.from = (uint8_t)number;
	if (number >= 0 && step_of_run(&head, &b->limits, element->size, 0, &step))
		shape_add_elements(b, where, &step, element->size, shape->element, 0);
	if (step_of_run(where->holder, &b->limits, element->size, where->at + shape->pointer_at,
			&step))
		shape_add_elements(b, where, &step, element->size, shape->element, 0);
}

static void show_ring(struct decoder *d, const struct view *view, const struct value_type *type,
		      const struct value_shape *shape, uint64_t at, size_t place)
{
	const struct value_type *element = values_type(d->taken->values, shape->element);
	uint64_t first_at = 0, length = 0, room = 0;
	struct run first = {0}, second = {0};
	struct inspect_step step;
	const uint8_t *bytes;
	struct view head;
	enum shown_status status = inspect_read(d, view, at + shape->first_at, &first_at, 8);

	(void)type;
	if (status == SHOWN_VALUE)
		status = inspect_read(d, view, at + shape->length_at, &length, 8);
	if (status == SHOWN_VALUE)
		status = inspect_read(d, view, at + shape->room_at, &room, 8);
	if (status == SHOWN_VALUE && (!element || !element->size))
		status = SHOWN_OF_NO_KIND;
	node_at(d, place)->status = status;
	if (status != SHOWN_VALUE)
		return;
	/* where it ends, in a ring of a power of two */
	if (shape->length_is_end)
		length = (length - first_at) & (room - 1);
	if (step_to_head(&view->holder, shape, element, at, &step) &&
	    inspect_follow(d, view, &step, &head, &bytes, &status) &&
	    step_of_run(&head.holder, d->taken->limits, element->size, 0, &step))
		first = read_run(d, &head, &step, element->size);
	if (step_of_run(&view->holder, d->taken->limits, element->size, at + shape->pointer_at,
			&step))
		second = read_run(d, view, &step, element->size);
	show_runs(d, shape, &first, room > first_at ? room - first_at : 0, &second, length, place);
}

const struct shape_way shape_ring = {add_ring, show_ring};
