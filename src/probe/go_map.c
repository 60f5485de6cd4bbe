// SPDX-License-Identifier: Apache-2.0
#include "probe/go_map.h"

/* tophash of runtime/map.go: marks below say that there is no entry. */
#define TOP_FIRST 5

/* The type that a member is, or points to, and where the member is. */
static const struct value_type *member_of(const struct values *values,
					  const struct value_type *type, const char *name,
					  uint64_t *at)
{
	const struct value_member *member = type ? values_member(values, type, name) : NULL;

	*at = member ? member->offset : 0;
	return member ? values_type(values, member->type) : NULL;
}

static const struct value_type *target_of(const struct values *values,
					  const struct value_type *pointer)
{
	return pointer && pointer->kind == VALUE_POINTER ? values_type(values, pointer->target)
							 : NULL;
}

static bool is_eight(const struct value_type *array)
{
	return array && array->kind == VALUE_ARRAY && array->count == GO_MAP_SLOTS;
}

static bool find_buckets(const struct values *values, const struct value_type *header,
			 struct go_map *to)
{
	const struct value_type *bucket =
		target_of(values, member_of(values, header, "buckets", &to->pointer_at));
	const struct value_type *keys = member_of(values, bucket, "keys", &to->keys_at);
	const struct value_type *held = member_of(values, bucket, "values", &to->values_at);
	const struct value_type *key, *value;

	if (!is_eight(keys) || !is_eight(held) ||
	    !member_of(values, bucket, "tophash", &to->marks_at) ||
	    !member_of(values, header, "B", &to->number_at) ||
	    !member_of(values, header, "count", &to->length_at))
		return false;
	to->size = bucket->size;
	to->key = keys->target;
	to->value = held->target;
	key = values_type(values, to->key);
	value = values_type(values, to->value);
	to->key_step = key ? key->size : 0;
	to->value_step = value ? value->size : 0;
	return key && value;
}

static bool find_tables(const struct values *values, const struct value_type *header,
			struct go_map *to)
{
	const struct value_type *directory = member_of(values, header, "dirPtr", &to->pointer_at);
	const struct value_type *table = target_of(values, target_of(values, directory));
	uint64_t groups_at, slots_at, key_at, value_at;
	const struct value_type *groups = member_of(values, table, "groups", &groups_at);
	const struct value_type *group =
		target_of(values, member_of(values, groups, "data", &to->groups_at));
	const struct value_type *slots = member_of(values, group, "slots", &slots_at);
	const struct value_type *slot = is_eight(slots) ? values_type(values, slots->target) : NULL;
	const struct value_member *key = slot ? values_member(values, slot, "key") : NULL;
	const struct value_member *value = slot ? values_member(values, slot, "elem") : NULL;

	if (!key || !value || !member_of(values, groups, "lengthMask", &to->mask_at) ||
	    !member_of(values, group, "ctrl", &to->marks_at) ||
	    !member_of(values, header, "dirLen", &to->number_at) ||
	    !member_of(values, header, "used", &to->length_at))
		return false;
	key_at = key->offset;
	value_at = value->offset;
	to->has_tables = true;
	to->table_size = table->size;
	to->groups_at += groups_at;
	to->mask_at += groups_at;
	to->size = group->size;
	to->keys_at = slots_at + key_at;
	to->values_at = slots_at + value_at;
	to->key_step = to->value_step = slot->size;
	to->key = key->type;
	to->value = value->type;
	return true;
}

bool go_map_of(const struct values *values, const struct value_type *map, struct go_map *to)
{
	const struct value_type *header = values_type(values, map->target);

	*to = (struct go_map){0};
	if (!header || header->kind != VALUE_STRUCT)
		return false;
	if (!find_buckets(values, header, to)) {
		*to = (struct go_map){0};
		if (!find_tables(values, header, to))
			return false;
	}
	return to->size && to->size <= 4096 && to->table_size <= 1024 &&
	       to->keys_at + GO_MAP_SLOTS * to->key_step <= to->size + to->key_step &&
	       to->values_at + GO_MAP_SLOTS * to->value_step <= to->size + to->value_step;
}

bool go_map_is_full(const struct go_map *map, uint8_t mark)
{
	return map->has_tables ? mark < 128 : mark >= TOP_FIRST;
}
