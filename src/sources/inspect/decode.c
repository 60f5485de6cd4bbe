// SPDX-License-Identifier: Apache-2.0
#include "sources/inspect/decode.h"

#include <string.h>

#include "sources/inspect/decoder.h"
#include "sources/inspect/shapes/shapes.h"

#define NESTED_MAX 12

/* What it consists of is in other debug information. */
static bool is_only_declared(const struct value_type *type)
{
	return !type->size && type->flags & VALUE_FLAG_CUT;
}

/* What has no bytes is nowhere, and needs not be. */
static bool has_no_bytes(const struct value_type *type)
{
	return !type->size && !is_only_declared(type) &&
	       (type->kind == VALUE_STRUCT || type->kind == VALUE_ARRAY ||
		type->kind == VALUE_UINT);
}

/*
 * Adds the members; those of a structure without a name as if they were of the one around. Returns
 * how many.
 */
static uint32_t show_each_member(struct decoder *d, const struct view *view,
				 const struct value_type *type, uint64_t at)
{
	uint32_t children = 0;

	for (uint32_t i = 0; i < type->members && !d->tree->failed; i++) {
		const struct value_member *m =
			&d->taken->values->members.at[type->first_member + i];
		const struct value_type *inner = values_type(d->taken->values, m->type);
		struct view within = *view;

		/* C++: a base without members says nothing */
		if (m->is_base && inner && inner->kind == VALUE_STRUCT && !inner->members &&
		    !(inner->flags & VALUE_FLAG_CUT))
			continue;
		if (values_is_unnamed(d->taken->values, m) && ++within.nested < NESTED_MAX) {
			children += show_each_member(d, &within, inner, at + m->offset);
			continue;
		}
		if (m->bits && m->bit_at + m->bits <= 64 && inner)
			inspect_show_bits(d, view, inner, m, at + m->offset);
		else
			inspect_show_value(d, view, m->type, at + m->offset, m->name);
		children++;
	}
	return children;
}

static void show_members(struct decoder *d, const struct view *view, const struct value_type *type,
			 uint64_t at, size_t place)
{
	uint32_t children;

	if (is_only_declared(type)) {
		node_at(d, place)->status = SHOWN_OF_NO_KIND;
		return;
	}
	node_at(d, place)->kind =
		inspect_is_tuple(d->taken->values, type) ? SHOWN_LIST : SHOWN_OBJECT;
	node_at(d, place)->length = type->members;
	children = show_each_member(d, view, type, at);
	node_at(d, place)->children = children;
	if (type->flags & VALUE_FLAG_CUT || (type->kind == VALUE_UNION && !type->members))
		node_at(d, place)->status = SHOWN_NOT_KNOWN;
}

static void show_array(struct decoder *d, const struct view *view, const struct value_type *type,
		       uint64_t at, size_t place)
{
	const struct value_type *element = values_type(d->taken->values, type->target);
	uint64_t most = d->taken->limits->elements, count = type->count < most ? type->count : most;

	if (!element || !element->size) {
		node_at(d, place)->status = SHOWN_NOT_KNOWN;
		return;
	}
	node_at(d, place)->kind = SHOWN_LIST;
	node_at(d, place)->length = type->count;
	for (uint64_t i = 0; i < count && !d->tree->failed; i++)
		inspect_show_value(d, view, type->target, at + i * element->size, NULL);
	node_at(d, place)->children = (uint32_t)count;
	if (type->count > count)
		node_at(d, place)->status = SHOWN_TRUNCATED;
}

const struct inspect_item *inspect_follow(struct decoder *d, const struct view *view,
					  const struct inspect_step *step, struct view *inner,
					  const uint8_t **bytes, enum shown_status *status)
{
	const struct inspect_item *item = inspect_item_of(d, view, step, inner, bytes);
	bool is_planned = false;

	for (int i = 0; !item && i < d->taken->plan->steps; i++)
		is_planned |= !memcmp(&d->taken->plan->step[i], step, sizeof(*step));
	if (item)
		*status = inspect_item_status(item);
	else
		*status = is_planned ? SHOWN_NO_ROOM : SHOWN_NOT_FOLLOWED;
	return item;
}

void inspect_show_pointer(struct decoder *d, const struct view *view,
			  const struct value_type *pointer, uint32_t target, uint32_t behind,
			  uint64_t at, size_t place)
{
	struct shown *node = node_at(d, place);
	const char *name = node->name, *written = node->type;
	const struct value_type *type = values_type(d->taken->values, target);
	const struct inspect_item *item;
	struct inspect_step step;
	const uint8_t *bytes;
	struct view inner;

	inspect_show_scalar(d, view, pointer, at, node);
	if (node->status != SHOWN_VALUE)
		return;
	/* what a trait object of Rust leads to has some, though its type has none */
	if (type && has_no_bytes(type) && strncmp(type->bare, "dyn ", strlen("dyn "))) {
		inner = *view;
	} else {
		if (!inspect_step_of_target(&view->holder, type, behind, at, &step))
			return;
		item = inspect_item_of(d, view, &step, &inner, &bytes);
		if (!item)
			return; /* it was not followed: the address is what is known */
		if (item->status != INSPECT_OK) {
			node->status = inspect_item_status(item);
			return;
		}
	}
	inner.nested++;
	/* the value stands for the pointer, whose type says that it is one */
	d->tree->nodes.count = place;
	inspect_show_value(d, &inner, target, behind, name);
	if (d->tree->nodes.count > place)
		node_at(d, place)->type = written;
}

static void show_complex(struct decoder *d, const struct view *view, const struct value_type *type,
			 uint64_t at, size_t place)
{
	const struct value_type half = {.kind = VALUE_FLOAT,
					.name = "float",
					.size = type->size / 2,
					.target = VALUE_NO_TYPE};
	struct shown parts[2] = {{0}};

	for (unsigned int i = 0; i < 2; i++) {
		inspect_show_scalar(d, view, &half, at + i * half.size, &parts[i]);
		if (parts[i].status != SHOWN_VALUE) {
			node_at(d, place)->status = parts[i].status;
			return;
		}
	}
	node_at(d, place)->kind = SHOWN_OBJECT;
	node_at(d, place)->children = 2;
	for (unsigned int i = 0; i < 2; i++) {
		size_t child = inspect_add_node(d, i ? "imag" : "real", &half);

		if (child == SIZE_MAX)
			return;
		parts[i].name = i ? "imag" : "real";
		*node_at(d, child) = parts[i];
	}
}

static void show_type(struct decoder *d, const struct view *view, const struct value_type *type,
		      uint64_t at, size_t place)
{
	const struct value_shape *shape = value_shape_of(d->taken->values, type);
	const struct shape_way *way = shape_way_of(shape);

	if (way) {
		way->show(d, view, type, shape, at, place);
		return;
	}
	switch (type->kind) {
	case VALUE_STRUCT:
	case VALUE_UNION:
		show_members(d, view, type, at, place);
		break;
	case VALUE_ARRAY:
		show_array(d, view, type, at, place);
		break;
	case VALUE_POINTER:
	case VALUE_REFERENCE:
		if (!inspect_is_text(d->taken->values, type)) {
			inspect_show_pointer(d, view, type, type->target, 0, at, place);
			break;
		}
		inspect_show_scalar(d, view, type, at, node_at(d, place));
		if (node_at(d, place)->status == SHOWN_VALUE)
			inspect_show_text(d, view, NULL, at, place);
		break;
	case VALUE_VARIANT:
		inspect_show_variant(d, view, type, at, place);
		break;
	case VALUE_GO_INTERFACE:
	case VALUE_GO_ANY:
		inspect_show_interface(d, view, type, at, place);
		break;
	case VALUE_GO_MAP:
		inspect_show_map(d, view, type, at, place);
		break;
	case VALUE_GO_CHAN:
		inspect_show_channel(d, view, type, at, place);
		break;
	case VALUE_COMPLEX:
		show_complex(d, view, type, at, place);
		break;
	case VALUE_UNKNOWN:
	case VALUE_VOID:
		node_at(d, place)->status = SHOWN_OF_NO_KIND;
		break;
	default:
		inspect_show_scalar(d, view, type, at, node_at(d, place));
	}
}

void inspect_show_value(struct decoder *d, const struct view *view, uint32_t number, uint64_t at,
			const char *name)
{
	const struct value_type *type = values_type(d->taken->values, number);
	size_t place = inspect_add_node(d, name, type);
	struct view inner = *view;

	if (place == SIZE_MAX)
		return;
	inner.nested++;
	if (inspect_is_redacted(d->taken->redaction, name))
		node_at(d, place)->status = SHOWN_REDACTED;
	else if (!type)
		node_at(d, place)->status = SHOWN_OF_NO_KIND;
	else if (inner.nested > NESTED_MAX)
		node_at(d, place)->status = SHOWN_NOT_FOLLOWED;
	else
		show_type(d, &inner, type, at, place);
}

/* The view of a parameter's bytes. False: they have not been read. */
static bool view_param(const struct decoder *d, const struct value_param *param, struct view *view)
{
	struct view registers = {.holder = {.from = INSPECT_FROM_REGISTERS, .param = param}};
	const struct inspect_item *pointer;
	struct inspect_step step;
	const uint8_t *bytes;

	*view = registers;
	switch (param->place) {
	case VALUE_REGISTERS:
		return !d->taken->is_left;
	case VALUE_CONSTANT:
	case VALUE_SUM:
		view->holder.from = INSPECT_FROM_NOTHING;
		return true;
	case VALUE_BEHIND:
		pointer = inspect_step_to_pointer(param, &step)
				  ? inspect_item_of(d, &registers, &step, view, &bytes)
				  : NULL;
		return pointer &&
		       inspect_step_behind(d->taken->values, param, (uint8_t)pointer->step,
					   &step) &&
		       inspect_item_of(d, &registers, &step, view, &bytes);
	default:
		return inspect_step_of_param(d->taken->values, param, &step) &&
		       inspect_item_of(d, &registers, &step, view, &bytes);
	}
}

enum shown_status inspect_place_status(const struct inspect_contents *taken,
				       const struct value_param *param)
{
	if (inspect_is_redacted(taken->redaction, param->name))
		return SHOWN_REDACTED;
	if (taken->is_left)
		return SHOWN_LEFT;
	switch (param->place) {
	case VALUE_NOWHERE:
		return SHOWN_OPTIMISED_OUT;
	case VALUE_NOT_YET:
		return SHOWN_NOT_YET;
	case VALUE_MEMORY:
	case VALUE_AT_POINTER:
		return SHOWN_NO_ROOM;
	case VALUE_BEHIND:
		return SHOWN_NOT_RESIDENT;
	default:
		return SHOWN_NOT_KNOWN;
	}
}

static bool is_large_integer(const struct value_type *type)
{
	return (type->kind == VALUE_INT || type->kind == VALUE_UINT) && type->size > 8;
}

static void show_param(struct decoder *d, const struct value_param *param)
{
	const struct value_type *type = values_type(d->taken->values, param->type);
	size_t place = d->tree->nodes.count;
	enum shown_status status;
	struct view view;

	if (!view_param(d, param, &view) && (d->taken->is_left || !type || !has_no_bytes(type))) {
		status = inspect_place_status(d->taken, param);
		if (status != SHOWN_REDACTED && status != SHOWN_LEFT &&
		    (!type || type->kind == VALUE_UNKNOWN || is_large_integer(type) ||
		     is_only_declared(type)))
			status = SHOWN_OF_NO_KIND;
		inspect_add_status(d, param->name, type, status);
		return;
	}
	inspect_show_value(d, &view, param->type, 0, param->name);
	if (param->may_be_old)
		inspect_mark_old(d, place);
}

void inspect_mark_old(struct decoder *d, size_t place)
{
	if (place < d->tree->nodes.count && node_at(d, place)->status == SHOWN_VALUE)
		node_at(d, place)->status = SHOWN_MAY_BE_OLD;
}

void inspect_decode(const struct inspect_contents *taken, const struct value_param *params,
		    size_t count, bool results, struct shown_tree *tree)
{
	struct decoder d; /* its items are many, and most of them unused */

	if (!inspect_open(&d, taken, tree))
		return;
	for (size_t i = 0; i < count; i++)
		if (params[i].is_result == results)
			show_param(&d, &params[i]);
}
