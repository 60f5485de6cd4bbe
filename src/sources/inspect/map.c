// SPDX-License-Identifier: Apache-2.0
/*
 * Maps of Go: the header, and the first buckets or groups with what their keys and values lead to.
 * Entries that overflowed into other buckets, that lie in other tables, or that a growing map has
 * not moved yet, are not read: the map is truncated then.
 */
#include <string.h>

#include "sources/inspect/decoder.h"
#include "probe/go_map.h"

#define BUCKETS_MAX  4u
#define BUCKET_BYTES 2048u

/* What is read of a map, in this order; each step follows a pointer of the one before. */
struct way {
	struct go_map map;
	const struct value_type *header;
};

static bool way_of(const struct values *values, const struct value_type *type, struct way *way)
{
	way->header = values_type(values, type->target);
	return go_map_of(values, type, &way->map);
}

/* An array of buckets or groups, whose pointer is in the holder. */
static bool step_of_buckets(const struct inspect_holder *holder, const struct go_map *map,
			    uint64_t pointer_at, uint64_t number_at, uint8_t flag,
			    struct inspect_step *step)
{
	uint64_t count = BUCKET_BYTES / map->size;

	count = !count ? 1 : count > BUCKETS_MAX ? BUCKETS_MAX : count;
	if (!inspect_step_at(holder, INSPECT_ARRAY, pointer_at, step))
		return false;
	step->length_at = (uint16_t)number_at;
	step->flags |= flag;
	step->size = (uint16_t)map->size;
	step->max = (uint16_t)(count * map->size);
	return true;
}

static bool step_of_bytes(const struct inspect_holder *holder, uint64_t at, uint64_t size,
			  struct inspect_step *step)
{
	if (!inspect_step_at(holder, INSPECT_READ, at, step))
		return false;
	step->size = (uint16_t)size;
	return true;
}

static void add_slots(struct inspect_builder *b, const struct inspect_holder *holder,
		      const struct go_map *map, unsigned int depth, int nested)
{
	for (unsigned int i = 0; i < GO_MAP_SLOTS; i++) {
		inspect_add_value(b, holder, map->key, map->keys_at + i * map->key_step, depth,
				  nested + 1);
		inspect_add_value(b, holder, map->value, map->values_at + i * map->value_step,
				  depth, nested + 1);
	}
}

/* Adds a step, and makes the holder one of what it reads. */
static bool enter(struct inspect_builder *b, const struct inspect_step *step,
		  struct inspect_holder *holder)
{
	int number = inspect_need_step(b, step);

	if (number < 0)
		return false;
	*holder = (struct inspect_holder){.from = (uint8_t)number};
	return true;
}

static void add_buckets(struct inspect_builder *b, const struct inspect_holder *holder,
			const struct go_map *map, uint64_t pointer_at, uint64_t number_at,
			uint8_t flag, unsigned int depth, int nested)
{
	struct inspect_holder inner;
	struct inspect_step step;

	if (!step_of_buckets(holder, map, pointer_at, number_at, flag, &step) ||
	    !enter(b, &step, &inner))
		return;
	inner.stride = step.size;
	add_slots(b, &inner, map, depth, nested);
}

static void add_tables(struct inspect_builder *b, const struct inspect_holder *header,
		       const struct go_map *map, unsigned int depth, int nested)
{
	struct inspect_holder inner;
	struct inspect_step step;
	int test;

	test = inspect_begin_test(b, header, map->number_at, 8, INSPECT_EQUAL, 0);
	if (step_of_bytes(header, map->pointer_at, map->size, &step) && enter(b, &step, &inner))
		add_slots(b, &inner, map, depth, nested);
	inspect_end_test(b, test);
	test = inspect_begin_test(b, header, map->number_at, 8, INSPECT_NOT_EQUAL, 0);
	if (step_of_bytes(header, map->pointer_at, 8, &step) && enter(b, &step, &inner) &&
	    step_of_bytes(&inner, 0, map->table_size, &step) && enter(b, &step, &inner))
		add_buckets(b, &inner, map, map->groups_at, map->mask_at, INSPECT_LENGTH_IS_MASK,
			    depth, nested);
	inspect_end_test(b, test);
}

void inspect_add_map(struct inspect_builder *b, const struct inspect_holder *holder,
		     const struct value_type *type, uint64_t at, unsigned int depth, int nested)
{
	struct inspect_holder header;
	struct inspect_step step;
	struct way way;

	if (depth >= b->limits.depth || holder->stride ||
	    !inspect_step_of_target(holder, values_type(b->values, type->target), 0, at, &step) ||
	    !enter(b, &step, &header) || !way_of(b->values, type, &way))
		return;
	if (way.map.has_tables)
		add_tables(b, &header, &way.map, depth + 1, nested);
	else
		add_buckets(b, &header, &way.map, way.map.pointer_at, way.map.number_at,
			    INSPECT_LENGTH_IS_POWER, depth + 1, nested);
}

/* -- what was read ----------------------------------------------------------------------------- */

/* The buckets or groups that were read, and how many. */
static uint64_t find_buckets(const struct decoder *d, const struct view *header,
			     const struct go_map *map, struct view *buckets)
{
	const struct inspect_item *item;
	struct inspect_step step;
	const uint8_t *bytes;
	uint64_t number = 0;
	struct view inner = *header;

	if (!map->has_tables) {
		if (!step_of_buckets(&header->holder, map, map->pointer_at, map->number_at,
				     INSPECT_LENGTH_IS_POWER, &step))
			return 0;
	} else if (inspect_read(d, header, map->number_at, &number, 8) != SHOWN_VALUE) {
		return 0;
	} else if (!number) {
		if (!step_of_bytes(&header->holder, map->pointer_at, map->size, &step))
			return 0;
	} else {
		struct view table;

		if (!step_of_bytes(&header->holder, map->pointer_at, 8, &step) ||
		    !inspect_item_of(d, header, &step, &table, &bytes) ||
		    !step_of_bytes(&table.holder, 0, map->table_size, &step) ||
		    !inspect_item_of(d, &table, &step, &inner, &bytes) ||
		    !step_of_buckets(&inner.holder, map, map->groups_at, map->mask_at,
				     INSPECT_LENGTH_IS_MASK, &step))
			return 0;
	}
	item = inspect_item_of(d, &inner, &step, buckets, &bytes);
	if (!item)
		return 0;
	if (step.kind == INSPECT_ARRAY)
		buckets->holder.stride = step.size;
	return item->size / map->size;
}

/* Adds the entries; returns how many. */
static uint32_t show_entries(struct decoder *d, const struct view *buckets, uint64_t count,
			     const struct go_map *map)
{
	uint32_t shown = 0;

	for (uint64_t k = 0; k < count * GO_MAP_SLOTS && !d->tree->failed; k++) {
		struct view one = *buckets;
		uint64_t slot = k % GO_MAP_SLOTS;
		uint8_t mark;

		one.index = (uint32_t)(k / GO_MAP_SLOTS);
		if (shown == d->taken->limits->elements ||
		    inspect_read(d, &one, map->marks_at + slot, &mark, 1) != SHOWN_VALUE)
			break;
		if (!go_map_is_full(map, mark))
			continue;
		inspect_show_value(d, &one, map->key, map->keys_at + slot * map->key_step, NULL);
		inspect_show_value(d, &one, map->value, map->values_at + slot * map->value_step,
				   NULL);
		shown++;
	}
	return shown;
}

void inspect_show_map(struct decoder *d, const struct view *view, const struct value_type *type,
		      uint64_t at, size_t place)
{
	struct shown *node = node_at(d, place);
	struct view header, buckets;
	struct inspect_step step;
	const uint8_t *bytes;
	uint64_t length, count;
	uint32_t shown;
	struct way way;

	inspect_show_scalar(d, view, type, at, node);
	if (node->status != SHOWN_VALUE || !way_of(d->taken->values, type, &way) ||
	    !inspect_step_of_target(&view->holder, way.header, 0, at, &step) ||
	    !inspect_item_of(d, view, &step, &header, &bytes) ||
	    inspect_read(d, &header, way.map.length_at, &length, 8) != SHOWN_VALUE)
		return;
	node->kind = SHOWN_PAIRS;
	node->length = length;
	if (!length)
		return;
	header.nested = view->nested + 1;
	count = find_buckets(d, &header, &way.map, &buckets);
	shown = show_entries(d, &buckets, count, &way.map);
	if (d->tree->failed)
		return;
	node_at(d, place)->children = 2 * shown;
	if (shown < length)
		node_at(d, place)->status = SHOWN_TRUNCATED;
}
