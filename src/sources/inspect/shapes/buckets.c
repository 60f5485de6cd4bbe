// SPDX-License-Identifier: Apache-2.0
/*
 * HashMap and HashSet of Rust: hashbrown's table. A pointer leads to a byte for each bucket, of
 * which the upper bit says that it is empty; the buckets lie before them, the first one last.
 */
#include "sources/inspect/shapes/shapes.h"

#define IS_EMPTY 0x80u

/* Buckets that are looked at: of each eight, at most seven are full, and often fewer. */
#define BUCKETS_FOR(elements) (2 * (elements))
#define BUCKETS_MAX	      64u

static uint64_t buckets_of(const struct inspect_limits *limits, const struct value_type *bucket)
{
	uint64_t count = BUCKETS_FOR(limits->elements), room = INSPECT_READ_MAX / bucket->size;

	count = count < BUCKETS_MAX ? count : BUCKETS_MAX;
	return count < room ? count : room;
}

/* The bytes of the buckets, or the buckets: as many as a mask says, less one. */
static bool step_of_table(const struct inspect_holder *holder, const struct value_shape *shape,
			  uint64_t at, uint64_t size, uint64_t count, struct inspect_step *step)
{
	int mask = inspect_locate(holder, at + shape->room_at, 8);

	if (mask < 0 || holder->stride || holder->from == INSPECT_FROM_NOTHING ||
	    !inspect_step_at(holder, INSPECT_ARRAY, at + shape->pointer_at, step))
		return false;
	step->length_at = (uint16_t)mask;
	step->size = (uint16_t)size;
	step->max = (uint16_t)(size * count);
	step->flags |= INSPECT_LENGTH_IS_MASK;
	return step->max;
}

static bool is_readable(const struct value_type *bucket)
{
	return bucket && bucket->size && bucket->size <= INSPECT_READ_MAX;
}

static void add_table(struct inspect_builder *b, const struct inspect_where *where,
		      const struct value_shape *shape)
{
	const struct value_type *bucket = values_type(b->values, shape->leaf);
	const struct inspect_holder *holder = where->holder;
	struct inspect_step step;
	uint64_t count;

	if (where->depth >= b->limits.depth || !is_readable(bucket))
		return;
	count = buckets_of(&b->limits, bucket);
	if (!step_of_table(holder, shape, where->at, 1, count, &step))
		return;
	inspect_need_step(b, &step);
	if (!step_of_table(holder, shape, where->at, bucket->size, count, &step))
		return;
	step.flags |= INSPECT_BACKWARD;
	shape_add_elements(b, where, &step, bucket->size, shape->element, shape->behind);
}

/* Shows what full buckets have, from the first one, which is the last of those that were read. */
static uint32_t show_buckets(struct decoder *d, const struct value_shape *shape,
			     const struct inspect_item *full, const uint8_t *bytes,
			     const struct view *buckets, uint32_t count)
{
	uint32_t shown = 0;

	for (uint32_t i = 0; i < count && i < full->size && !d->tree->failed; i++)
		if (!(bytes[i] & IS_EMPTY) && shown < d->taken->limits->elements)
			shown += shape_show_elements(d, buckets, shape, shape->behind,
						     count - 1 - i, 1);
	return shown;
}

static void show_table(struct decoder *d, const struct view *view, const struct value_type *type,
		       const struct value_shape *shape, uint64_t at, size_t place)
{
	const struct value_type *bucket = values_type(d->taken->values, shape->leaf);
	const struct inspect_item *full, *items;
	const uint8_t *full_bytes, *bytes;
	struct inspect_step step;
	struct view marks, buckets;
	uint64_t length = 0, count;
	uint32_t shown = 0;
	enum shown_status status =
		inspect_read(d, view, at + shape->length_at, &length, sizeof(length));

	(void)type;
	if (status == SHOWN_VALUE && !is_readable(bucket))
		status = SHOWN_OF_NO_KIND;
	node_at(d, place)->status = status;
	if (status != SHOWN_VALUE)
		return;
	count = buckets_of(d->taken->limits, bucket);
	if (length && step_of_table(&view->holder, shape, at, 1, count, &step) &&
	    (full = inspect_follow(d, view, &step, &marks, &full_bytes, &status)) &&
	    step_of_table(&view->holder, shape, at, bucket->size, count, &step)) {
		step.flags |= INSPECT_BACKWARD;
		items = inspect_follow(d, view, &step, &buckets, &bytes, &status);
		if (items) {
			buckets.nested++;
			buckets.holder.stride = (uint32_t)bucket->size;
			shown = show_buckets(d, shape, full, full_bytes, &buckets,
					     (uint32_t)(items->size / bucket->size));
		}
	}
	shape_end_list(d, place, shape, length, shown);
}

const struct shape_way shape_table = {add_table, show_table};
