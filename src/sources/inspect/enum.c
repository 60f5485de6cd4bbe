// SPDX-License-Identifier: Apache-2.0
/*
 * Rust's enumerations with values, and tuples. A variant is shown as serde writes it: its name, or
 * its name with its value. An option is its value or nil, as those of other languages.
 */
#include <string.h>

#include "sources/inspect/decoder.h"

bool inspect_is_tuple(const struct values *values, const struct value_type *type)
{
	const char *first = type->members ? values->members.at[type->first_member].name : NULL;

	return first && !strcmp(first, "__0");
}

static bool is_option(const struct value_type *type)
{
	return type && type->kind == VALUE_VARIANT && !strncmp(type->bare, "Option<", 7);
}

/* The variant that is there. False: none, or its discriminant could not be read (*status). */
static bool choose(const struct decoder *d, const struct view *view, const struct value_type *type,
		   uint64_t at, struct value_variant *chosen, enum shown_status *status)
{
	const struct value_type *tag = values_type(d->taken->values, type->target);
	struct value_variant variant;
	bool found = false;
	uint64_t word = 0;

	*status = SHOWN_NOT_KNOWN;
	if (tag && (!tag->size || tag->size > 8))
		return false;
	if (tag) {
		*status = inspect_read(d, view, at + type->count, &word, tag->size);
		if (*status != SHOWN_VALUE)
			return false;
	}
	*status = SHOWN_NOT_KNOWN;
	for (uint32_t i = 0; values_variant(d->taken->values, type, &i, &variant);) {
		bool is_it = tag && variant.has_value &&
			     inspect_extend(variant.value, tag->size, false) == word;

		if (is_it || (!variant.has_value && !found)) {
			*chosen = variant;
			found = true;
		}
		if (is_it)
			break;
	}
	return found;
}

/* Its parts are shown as one value: that of a single one without a name stands for itself. */
static void show_parts(struct decoder *d, const struct view *view,
		       const struct value_member *member, uint64_t at, const char *name)
{
	const struct values *values = d->taken->values;
	const struct value_type *type = values_type(values, member->type);

	if (type && type->members == 1 && inspect_is_tuple(values, type)) {
		const struct value_member *only = &values->members.at[type->first_member];

		inspect_show_value(d, view, only->type, at + member->offset + only->offset, name);
		return;
	}
	inspect_show_value(d, view, member->type, at + member->offset, name);
}

void inspect_show_variant(struct decoder *d, const struct view *view, const struct value_type *type,
			  uint64_t at, size_t place)
{
	const struct values *values = d->taken->values;
	const struct value_type *inner;
	struct shown *node = node_at(d, place);
	const char *name = node->name, *written = node->type;
	struct value_variant variant = {0};

	if (!choose(d, view, type, at, &variant, &node->status))
		return;
	node->status = SHOWN_VALUE;
	inner = values_type(values, variant.member->type);
	if (!inner || !inner->members) {
		node->kind = SHOWN_NAME;
		node->text = variant.member->name;
		node->size = strlen(variant.member->name);
		if (is_option(type))
			node->status = SHOWN_NIL;
		return;
	}
	if (is_option(type) &&
	    !is_option(values_type(values, values->members.at[inner->first_member].type))) {
		d->tree->nodes.count = place;
		show_parts(d, view, variant.member, at, name);
		if (d->tree->nodes.count > place)
			node_at(d, place)->type = written;
		return;
	}
	node->kind = SHOWN_VARIANT;
	node->children = 1;
	show_parts(d, view, variant.member, at, variant.member->name);
}
