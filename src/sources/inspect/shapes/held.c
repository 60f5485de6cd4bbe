// SPDX-License-Identifier: Apache-2.0
/*
 * Types that hold a value, or one of several: smart pointers, optionals, wrappers, variants, tuples
 * and std::function.
 */
#include <string.h>

#include "sources/inspect/shapes/shapes.h"

/* The same place, nested once more. */
static void add_value(struct inspect_builder *b, const struct inspect_where *where, uint32_t type,
		      uint64_t at)
{
	inspect_add_value(b, where->holder, type, where->at + at, where->depth, where->nested + 1);
}

/* The value stands for what holds it, whose type is the one that was written. */
static void show_instead(struct decoder *d, const struct view *view, uint32_t type, uint64_t at,
			 size_t place)
{
	const char *name = node_at(d, place)->name, *written = node_at(d, place)->type;

	d->tree->nodes.count = place;
	inspect_show_value(d, view, type, at, name);
	if (d->tree->nodes.count > place)
		node_at(d, place)->type = written;
}

/* -- pointers ---------------------------------------------------------------------------------- */

static void add_pointer(struct inspect_builder *b, const struct inspect_where *where,
			const struct value_shape *shape)
{
	const struct inspect_where pointer = {where->holder, where->at + shape->pointer_at,
					      where->depth, where->nested};

	inspect_add_target(b, &pointer, shape->element, shape->behind);
}

static void show_pointer(struct decoder *d, const struct view *view, const struct value_type *type,
			 const struct value_shape *shape, uint64_t at, size_t place)
{
	static const struct value_type pointer = {.kind = VALUE_POINTER, .size = 8};

	(void)type;
	inspect_show_pointer(d, view, &pointer, shape->element, shape->behind,
			     at + shape->pointer_at, place);
}

const struct shape_way shape_pointer = {add_pointer, show_pointer};

/* What counts the owners of an object that a weak pointer leads to. */
static bool step_of_counts(const struct inspect_holder *holder, const struct value_shape *shape,
			   uint64_t at, struct inspect_step *step)
{
	if (!inspect_step_at(holder, INSPECT_READ, at + shape->first_at, step))
		return false;
	step->size = (uint16_t)(shape->counted + shape->length_size);
	return true;
}

static void add_weak(struct inspect_builder *b, const struct inspect_where *where,
		     const struct value_shape *shape)
{
	struct inspect_step step;

	if (where->depth < b->limits.depth &&
	    step_of_counts(where->holder, shape, where->at, &step))
		inspect_need_step(b, &step);
	add_pointer(b, where, shape);
}

/* An object that has no owner any more is not there, and what is in its place is anything. */
static void show_weak(struct decoder *d, const struct view *view, const struct value_type *type,
		      const struct value_shape *shape, uint64_t at, size_t place)
{
	enum shown_status status = SHOWN_NOT_FOLLOWED;
	struct inspect_step step;
	const uint8_t *bytes;
	struct view counts;
	uint64_t owners = 0, pointer = 0;

	node_at(d, place)->status = inspect_read(d, view, at + shape->first_at, &pointer, 8);
	if (node_at(d, place)->status != SHOWN_VALUE)
		return;
	/* Rust: a pointer that never led anywhere has all bits */
	if (pointer && pointer != UINT64_MAX) {
		if (step_of_counts(&view->holder, shape, at, &step) &&
		    inspect_follow(d, view, &step, &counts, &bytes, &status))
			status = inspect_read(d, &counts, shape->counted, &owners,
					      shape->length_size);
		node_at(d, place)->status = status;
		if (status != SHOWN_VALUE)
			return;
	}
	if (owners)
		show_pointer(d, view, type, shape, at, place);
	else
		node_at(d, place)->status = SHOWN_NIL;
}

const struct shape_way shape_weak = {add_weak, show_weak};

/* -- optionals --------------------------------------------------------------------------------- */

static void add_optional(struct inspect_builder *b, const struct inspect_where *where,
			 const struct value_shape *shape)
{
	int test = inspect_begin_test(b, where->holder, where->at + shape->length_at, 1,
				      INSPECT_NOT_EQUAL, 0);

	add_value(b, where, shape->element, shape->value_at);
	inspect_end_test(b, test);
}

static void show_optional(struct decoder *d, const struct view *view, const struct value_type *type,
			  const struct value_shape *shape, uint64_t at, size_t place)
{
	struct shown *node = node_at(d, place);
	uint8_t has_value = 0;

	(void)type;
	node->status = inspect_read(d, view, at + shape->length_at, &has_value, 1);
	if (node->status != SHOWN_VALUE)
		return;
	if (has_value)
		show_instead(d, view, shape->element, at + shape->value_at, place);
	else
		node->status = SHOWN_NIL;
}

const struct shape_way shape_optional = {add_optional, show_optional};

/* -- wrappers ---------------------------------------------------------------------------------- */

static void add_wrapped(struct inspect_builder *b, const struct inspect_where *where,
			const struct value_shape *shape)
{
	add_value(b, where, shape->element, shape->value_at);
}

static void show_wrapped(struct decoder *d, const struct view *view, const struct value_type *type,
			 const struct value_shape *shape, uint64_t at, size_t place)
{
	(void)type;
	show_instead(d, view, shape->element, at + shape->value_at, place);
}

const struct shape_way shape_value = {add_wrapped, show_wrapped};

/* -- std::variant ------------------------------------------------------------------------------ */

/* The parts of each alternative are read only if it is that one. */
static void add_choice(struct inspect_builder *b, const struct inspect_where *where,
		       const struct value_shape *shape)
{
	for (uint32_t i = 0; i < shape->parts; i++) {
		const struct value_part *part = &b->values->parts.at[shape->first_part + i];
		int test = inspect_begin_test(b, where->holder, where->at + shape->length_at,
					      shape->length_size, INSPECT_EQUAL, i);

		add_value(b, where, part->type, part->offset);
		inspect_end_test(b, test);
	}
}

static void show_choice(struct decoder *d, const struct view *view, const struct value_type *type,
			const struct value_shape *shape, uint64_t at, size_t place)
{
	struct shown *node = node_at(d, place);
	const struct value_type *chosen;
	const struct value_part *part;
	const char *name;
	uint64_t which = 0;

	(void)type;
	node->status = inspect_read(d, view, at + shape->length_at, &which, shape->length_size);
	if (node->status != SHOWN_VALUE)
		return;
	/* an exception has left it without a value */
	if (which >= shape->parts) {
		node->status = SHOWN_NIL;
		return;
	}
	part = &d->taken->values->parts.at[shape->first_part + which];
	chosen = values_type(d->taken->values, part->type);
	name = !chosen ? "?" : *chosen->brief ? chosen->brief : chosen->name;
	if (chosen && chosen->kind == VALUE_STRUCT && !chosen->members &&
	    !strcmp(chosen->brief, "monostate")) {
		node->kind = SHOWN_NAME;
		node->text = name;
		node->size = strlen(name);
		return;
	}
	node->kind = SHOWN_VARIANT;
	node->children = 1;
	inspect_show_value(d, view, part->type, at + part->offset, name);
}

const struct shape_way shape_choice = {add_choice, show_choice};

/* -- tuples ------------------------------------------------------------------------------------ */

static void add_tuple(struct inspect_builder *b, const struct inspect_where *where,
		      const struct value_shape *shape)
{
	for (uint32_t i = 0; i < shape->parts; i++) {
		const struct value_part *part = &b->values->parts.at[shape->first_part + i];

		add_value(b, where, part->type, part->offset);
	}
}

static void show_tuple(struct decoder *d, const struct view *view, const struct value_type *type,
		       const struct value_shape *shape, uint64_t at, size_t place)
{
	uint32_t shown = 0;

	(void)type;
	node_at(d, place)->kind = SHOWN_LIST;
	node_at(d, place)->length = shape->parts;
	for (; shown < shape->parts && !d->tree->failed; shown++) {
		const struct value_part *part =
			&d->taken->values->parts.at[shape->first_part + shown];

		inspect_show_value(d, view, part->type, at + part->offset, NULL);
	}
	node_at(d, place)->children = shown;
}

const struct shape_way shape_tuple = {add_tuple, show_tuple};

/* -- std::function ----------------------------------------------------------------------------- */

/*
 * What it calls is known by the function that does so: libstdc++'s _M_invoke, of a template whose
 * second argument is the type of what it calls. A plain function's address is in it.
 */
static void show_function(struct decoder *d, const struct view *view, const struct value_type *type,
			  const struct value_shape *shape, uint64_t at, size_t place)
{
	struct shown *node = node_at(d, place);
	uint64_t manager = 0, invoker = 0, held = 0;

	(void)type;
	node->status = inspect_read(d, view, at + shape->pointer_at, &manager, 8);
	if (node->status == SHOWN_VALUE)
		node->status = inspect_read(d, view, at + shape->first_at, &invoker, 8);
	if (node->status != SHOWN_VALUE)
		return;
	if (!manager) {
		node->status = SHOWN_NIL;
		return;
	}
	if (inspect_read(d, view, at + shape->value_at, &held, 8) != SHOWN_VALUE)
		held = 0;
	node->kind = SHOWN_ADDRESS;
	node->number = invoker;
	node->text = d->taken->called ? d->taken->called(d->taken->names, invoker, held) : NULL;
	if (!node->text)
		return;
	node->kind = SHOWN_NAME;
	node->size = strlen(node->text);
}

const struct shape_way shape_function = {NULL, show_function};
