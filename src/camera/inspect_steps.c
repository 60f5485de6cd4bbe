// SPDX-License-Identifier: Apache-2.0
#include "camera/inspect_steps.h"

#include <string.h>
#include <strings.h>

#include "probe/shapes.h"

/* Of a structure that a pointer leads to: so many bytes at most. */
#define TARGET_MAX 1024u

#define NESTED_MAX 12

bool inspect_is_redacted(const struct inspect_redaction *redaction, const char *name)
{
	for (size_t i = 0; redaction && name && i < redaction->count; i++)
		if (strcasestr(name, redaction->names[i]))
			return true;
	return false;
}

int inspect_locate(const struct inspect_holder *holder, uint64_t offset, uint64_t size)
{
	if (holder->from != INSPECT_FROM_REGISTERS)
		return offset + holder->base + size <= INSPECT_READ_MAX
			       ? (int)(holder->base + offset)
			       : -1;
	for (unsigned int i = 0; holder->param && i < holder->param->count; i++) {
		const struct value_piece *piece = &holder->param->piece[i];

		if (offset < piece->offset || offset + size > (uint64_t)piece->offset + piece->size)
			continue;
		if (piece->reg == VALUE_REGISTER_FLOAT)
			return -2;
		return piece->reg * 8 + (int)(offset - piece->offset);
	}
	return -1;
}

int inspect_add_step(struct inspect_plan *plan, const struct inspect_step *step)
{
	if (plan->steps == INSPECT_STEPS_MAX)
		return -1;
	plan->step[plan->steps] = *step;
	return plan->steps++;
}

int inspect_find_step(const struct inspect_plan *plan, const struct inspect_holder *holder,
		      int place, enum inspect_step_kind kind)
{
	for (int i = 0; place >= 0 && i < plan->steps; i++) {
		const struct inspect_step *step = &plan->step[i];

		if (step->kind == kind && step->from == holder->from && step->offset == place &&
		    !!(step->flags & INSPECT_EACH) == (holder->stride != 0))
			return i;
	}
	return -1;
}

/* A step that follows the pointer at a place of the holder. */
static struct inspect_step step_at(const struct inspect_holder *holder, enum inspect_step_kind kind,
				   int place)
{
	struct inspect_step step = {
		.kind = kind,
		.from = holder->from,
		.offset = (uint16_t)place,
	};

	if (holder->stride) {
		step.flags = INSPECT_EACH;
		step.displacement = (int32_t)holder->stride;
	}
	return step;
}

bool inspect_begin(struct inspect_builder *builder, const struct value_param *param,
		   struct inspect_holder *holder)
{
	const struct value_type *type = values_type(builder->values, param->type);
	struct inspect_step step = {
		.kind = INSPECT_READ,
		.from = INSPECT_FROM_REGISTERS,
		.displacement = (int32_t)param->displacement,
	};
	int number;

	*holder = (struct inspect_holder){.from = INSPECT_FROM_REGISTERS, .param = param};
	if (param->place == VALUE_REGISTERS)
		return true;
	if (!type || !type->size ||
	    (param->place != VALUE_MEMORY && param->place != VALUE_AT_POINTER))
		return false;
	step.offset = (uint16_t)(8 * (param->place == VALUE_MEMORY ? INSPECT_CFA : param->reg));
	step.size = (uint16_t)(type->size < TARGET_MAX ? type->size : TARGET_MAX);
	for (number = 0; number < builder->plan->steps; number++)
		if (!memcmp(&builder->plan->step[number], &step, sizeof(step)))
			break;
	if (number == builder->plan->steps)
		number = inspect_add_step(builder->plan, &step);
	if (number < 0)
		return false;
	*holder = (struct inspect_holder){.from = (uint8_t)number};
	return true;
}

static void add_value(struct inspect_builder *b, const struct inspect_holder *holder,
		      uint32_t number, uint64_t at, unsigned int depth, int nested);

static void add_members(struct inspect_builder *b, const struct inspect_holder *holder,
			const struct value_type *type, uint64_t at, unsigned int depth, int nested)
{
	for (uint32_t i = 0; i < type->members; i++) {
		const struct value_member *m = &b->values->members.at[type->first_member + i];

		if (!m->bits && !inspect_is_redacted(b->redaction, m->name))
			add_value(b, holder, m->type, at + m->offset, depth, nested + 1);
	}
}

/* What a pointer leads to, and what that leads to. */
static void add_target(struct inspect_builder *b, const struct inspect_holder *holder,
		       uint32_t target, uint64_t at, unsigned int depth, int nested)
{
	const struct value_type *type = values_type(b->values, target);
	int place = inspect_locate(holder, at, 8), number;
	struct inspect_holder inner = {0};
	struct inspect_step step;

	if (place < 0 || !type || !type->size || depth >= b->limits.depth ||
	    type->kind == VALUE_FUNCTION || type->kind == VALUE_UNKNOWN)
		return;
	step = step_at(holder, INSPECT_READ, place);
	if (inspect_find_step(b->plan, holder, place, INSPECT_READ) >= 0)
		return;
	step.size = (uint16_t)(type->size < TARGET_MAX ? type->size : TARGET_MAX);
	number = inspect_add_step(b->plan, &step);
	/* of several, only the first one's bytes could be a source */
	if (number < 0 || holder->stride)
		return;
	inner.from = (uint8_t)number;
	add_value(b, &inner, target, 0, depth + 1, nested + 1);
}

static void add_text(struct inspect_builder *b, const struct inspect_holder *holder, int place)
{
	struct inspect_step step = step_at(holder, INSPECT_TEXT, place);

	if (inspect_find_step(b->plan, holder, place, INSPECT_TEXT) >= 0)
		return;
	step.max = (uint16_t)b->limits.text;
	inspect_add_step(b->plan, &step);
}

static void add_list(struct inspect_builder *b, const struct inspect_holder *holder,
		     const struct value_shape *shape, uint64_t at, unsigned int depth, int nested)
{
	const struct value_type *element = values_type(b->values, shape->element);
	int place = inspect_locate(holder, at + shape->pointer_at, 8);
	int length = inspect_locate(holder, at + shape->length_at, 8), number;
	uint64_t size = shape->kind == SHAPE_TEXT ? 1 : element ? element->size : 0;
	uint64_t most = shape->kind == SHAPE_TEXT ? b->limits.text : b->limits.elements * size;
	struct inspect_holder inner = {0};
	struct inspect_step step;

	if (place < 0 || length < 0 || !size || size > TARGET_MAX || depth >= b->limits.depth ||
	    inspect_find_step(b->plan, holder, place, INSPECT_ARRAY) >= 0)
		return;
	if (most > INSPECT_READ_MAX)
		most = INSPECT_READ_MAX / size * size;
	step = step_at(holder, INSPECT_ARRAY, place);
	step.length_at = (uint16_t)length;
	step.size = (uint16_t)size;
	step.max = (uint16_t)most;
	if (shape->length_is_end)
		step.flags |= INSPECT_LENGTH_IS_END;
	number = inspect_add_step(b->plan, &step);
	if (number < 0 || holder->stride || shape->kind == SHAPE_TEXT)
		return;
	inner.from = (uint8_t)number;
	inner.stride = (uint32_t)size;
	add_value(b, &inner, shape->element, 0, depth + 1, nested + 1);
}

/* Both of its words, and what they lead to as far as it may be a text. */
static void add_interface(struct inspect_builder *b, const struct inspect_holder *holder,
			  const struct value_type *type, uint64_t at)
{
	int table = inspect_locate(holder, at, 8), data = inspect_locate(holder, at + 8, 8), number;
	struct inspect_step step;

	if (table < 0 || data < 0 || holder->stride)
		return;
	if (type->kind == VALUE_GO_INTERFACE) {
		step = step_at(holder, INSPECT_READ, table);
		step.size = 16;
		inspect_add_step(b->plan, &step);
	}
	step = step_at(holder, INSPECT_READ, data);
	step.size = 16;
	number = inspect_add_step(b->plan, &step);
	if (number < 0)
		return;
	step = (struct inspect_step){
		.kind = INSPECT_ARRAY,
		.from = (uint8_t)number,
		.length_at = 8,
		.size = 1,
		.max = (uint16_t)b->limits.text,
	};
	inspect_add_step(b->plan, &step);
}

/* Go: the header of a map, and its first group or bucket. */
static void add_map(struct inspect_builder *b, const struct inspect_holder *holder,
		    const struct value_type *type, uint64_t at, unsigned int depth, int nested)
{
	const struct value_type *header = values_type(b->values, type->target);
	const struct value_member *first;
	struct inspect_holder inner = {0};
	int place = inspect_locate(holder, at, 8), number;
	const struct value_type *pointer;
	struct inspect_step step;

	if (place < 0 || !header || !header->size || header->size > TARGET_MAX || holder->stride ||
	    depth >= b->limits.depth)
		return;
	step = step_at(holder, INSPECT_READ, place);
	step.size = (uint16_t)header->size;
	number = inspect_add_step(b->plan, &step);
	first = values_member(b->values, header, "buckets");
	pointer = first ? values_type(b->values, first->type) : NULL;
	if (number < 0 || !pointer)
		return;
	inner.from = (uint8_t)number;
	add_target(b, &inner, pointer->target, first->offset, depth, nested);
}

static bool is_char_pointer(const struct values *values, const struct value_type *type)
{
	const struct value_type *target = values_type(values, type->target);

	return type->kind == VALUE_POINTER && target && target->kind == VALUE_CHAR;
}

static void add_array(struct inspect_builder *b, const struct inspect_holder *holder,
		      const struct value_type *type, uint64_t at, unsigned int depth, int nested)
{
	const struct value_type *element = values_type(b->values, type->target);
	uint64_t count = type->count < b->limits.elements ? type->count : b->limits.elements;

	if (!element || !element->size)
		return;
	for (uint64_t i = 0; i < count; i++)
		add_value(b, holder, type->target, at + i * element->size, depth, nested + 1);
}

static void add_value(struct inspect_builder *b, const struct inspect_holder *holder,
		      uint32_t number, uint64_t at, unsigned int depth, int nested)
{
	const struct value_type *type = values_type(b->values, number);
	struct value_shape shape;
	int place;

	if (!type || nested > NESTED_MAX)
		return;
	shape = value_shape_of(b->values, type);
	if (shape.kind == SHAPE_TEXT || shape.kind == SHAPE_LIST) {
		add_list(b, holder, &shape, at, depth, nested);
		return;
	}
	if (shape.kind == SHAPE_OPTIONAL) {
		add_value(b, holder, shape.element, at + shape.pointer_at, depth, nested + 1);
		return;
	}
	if (shape.kind == SHAPE_POINTER) {
		add_target(b, holder, shape.element, at + shape.pointer_at, depth, nested);
		return;
	}
	switch (type->kind) {
	case VALUE_STRUCT:
		add_members(b, holder, type, at, depth, nested);
		break;
	case VALUE_ARRAY:
		add_array(b, holder, type, at, depth, nested);
		break;
	case VALUE_POINTER:
	case VALUE_REFERENCE:
		place = inspect_locate(holder, at, 8);
		if (is_char_pointer(b->values, type) && place >= 0)
			add_text(b, holder, place);
		else
			add_target(b, holder, type->target, at, depth, nested);
		break;
	case VALUE_GO_INTERFACE:
	case VALUE_GO_ANY:
		add_interface(b, holder, type, at);
		break;
	case VALUE_GO_MAP:
		add_map(b, holder, type, at, depth, nested);
		break;
	default:
		break;
	}
}

void inspect_add_params(struct inspect_builder *builder, const struct value_param *params,
			size_t count, bool results)
{
	for (size_t i = 0; i < count; i++) {
		struct inspect_holder holder;

		if (params[i].is_result == results &&
		    !inspect_is_redacted(builder->redaction, params[i].name) &&
		    inspect_begin(builder, &params[i], &holder))
			add_value(builder, &holder, params[i].type, 0, 0, 0);
	}
}
