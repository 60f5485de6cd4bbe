// SPDX-License-Identifier: Apache-2.0
#include "sources/inspect/steps.h"

#include <string.h>
#include <strings.h>

#include "sources/inspect/shapes/shapes.h"

/* Of a structure that a pointer leads to: at most this many bytes. */
#define TARGET_MAX 1024u

#define NESTED_MAX 12

/* Asked of each value of each call: strcasestr() takes ten times as long for short names. */
static bool has_word(const char *name, const char *word)
{
	size_t length = strlen(word);

	for (; *name && length; name++)
		if (!((*name ^ *word) & ~0x20) && !strncasecmp(name, word, length))
			return true;
	return !length;
}

bool inspect_is_redacted(const struct inspect_redaction *redaction, const char *name)
{
	for (size_t i = 0; redaction && name && i < redaction->count; i++)
		if (has_word(name, redaction->names[i]))
			return true;
	return false;
}

int inspect_locate(const struct inspect_holder *holder, uint64_t offset, uint64_t size)
{
	if (holder->from == INSPECT_FROM_NOTHING)
		return -1;
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

/* The same of a pointer that is a sum: a register, and so much more. */
static bool step_at_sum(const struct value_param *param, enum inspect_step_kind kind, uint64_t at,
			struct inspect_step *step)
{
	*step = (struct inspect_step){
		.kind = kind,
		.from = INSPECT_FROM_REGISTERS,
		.offset = (uint16_t)(8 * param->reg),
		.displacement = (int32_t)param->displacement,
	};
	return !at && param->place == VALUE_SUM && param->reg <= VALUE_REGISTER_CFA &&
	       step->displacement == param->displacement;
}

/* A step that follows the pointer at a place of the holder. False: there is none. */
bool inspect_step_at(const struct inspect_holder *holder, enum inspect_step_kind kind, uint64_t at,
		     struct inspect_step *step)
{
	int place = inspect_locate(holder, at, 8);

	if (holder->from == INSPECT_FROM_NOTHING)
		return step_at_sum(holder->param, kind, at, step);
	*step = (struct inspect_step){
		.kind = kind,
		.from = holder->from,
		.offset = (uint16_t)place,
	};
	if (holder->stride) {
		step->flags = INSPECT_EACH;
		step->width = holder->most;
		step->displacement = (int32_t)holder->stride;
	}
	return place >= 0;
}

bool inspect_step_of_param(const struct values *values, const struct value_param *param,
			   struct inspect_step *step)
{
	const struct value_type *type = values_type(values, param->type);

	if (!type || !type->size ||
	    (param->place != VALUE_MEMORY && param->place != VALUE_AT_POINTER))
		return false;
	*step = (struct inspect_step){
		.kind = INSPECT_READ,
		.from = INSPECT_FROM_REGISTERS,
		.displacement = (int32_t)param->displacement,
		.offset = (uint16_t)(8 * (param->place == VALUE_MEMORY ? INSPECT_CFA : param->reg)),
		.size = (uint16_t)(type->size < TARGET_MAX ? type->size : TARGET_MAX),
	};
	return true;
}

bool inspect_step_to_pointer(const struct value_param *param, struct inspect_step *step)
{
	*step = (struct inspect_step){
		.kind = INSPECT_READ,
		.from = INSPECT_FROM_REGISTERS,
		.displacement = (int32_t)param->displacement,
		.offset = (uint16_t)(8 * param->reg),
		.size = 8,
	};
	return param->place == VALUE_BEHIND;
}

bool inspect_step_behind(const struct values *values, const struct value_param *param,
			 uint8_t pointer, struct inspect_step *step)
{
	const struct value_type *type = values_type(values, param->type);

	*step = (struct inspect_step){
		.kind = INSPECT_READ, .from = pointer, .displacement = (int32_t)param->behind};
	if (!type || !type->size)
		return false;
	step->size = (uint16_t)(type->size < TARGET_MAX ? type->size : TARGET_MAX);
	return true;
}

bool inspect_step_of_target(const struct inspect_holder *holder, const struct value_type *target,
			    uint32_t behind, uint64_t at, struct inspect_step *step)
{
	uint64_t size;

	if (!inspect_step_at(holder, INSPECT_READ, at, step) || !target || !target->size ||
	    target->kind == VALUE_FUNCTION || target->kind == VALUE_UNKNOWN)
		return false;
	size = target->size < TARGET_MAX ? behind + target->size : TARGET_MAX;
	step->size = (uint16_t)(size < TARGET_MAX ? size : TARGET_MAX);
	return true;
}

bool inspect_step_of_text(const struct inspect_holder *holder, const struct inspect_limits *limits,
			  uint64_t at, struct inspect_step *step)
{
	if (!inspect_step_at(holder, INSPECT_TEXT, at, step))
		return false;
	step->max = (uint16_t)limits->text;
	return true;
}

bool inspect_step_of_list(const struct inspect_holder *holder, const struct inspect_limits *limits,
			  const struct value_shape *shape, const struct value_type *element,
			  uint64_t at, struct inspect_step *step)
{
	uint64_t size = shape->kind == SHAPE_TEXT ? 1 : element ? element->size : 0;
	uint64_t most = shape->kind == SHAPE_TEXT ? limits->text : limits->elements * size;
	int length = inspect_locate(holder, at + shape->length_at, 8);

	if (!inspect_step_at(holder, INSPECT_ARRAY, at + shape->pointer_at, step) ||
	    (length < 0 && !shape->count) || !size || size > TARGET_MAX ||
	    (shape->behind && holder->stride))
		return false;
	if (most > INSPECT_READ_MAX)
		most = INSPECT_READ_MAX / size * size;
	if (shape->behind)
		step->displacement = (int32_t)shape->behind;
	if (shape->count) {
		step->kind = INSPECT_READ;
		step->size = (uint16_t)(shape->count < most / size ? shape->count * size : most);
		return true;
	}
	step->length_at = (uint16_t)length;
	step->size = (uint16_t)size;
	step->max = (uint16_t)most;
	if (shape->length_is_end)
		step->flags |= INSPECT_LENGTH_IS_END;
	return true;
}

int inspect_need_step(struct inspect_builder *b, const struct inspect_step *step)
{
	for (uint32_t i = b->since; i < b->plan->steps; i++)
		if (!memcmp(&b->plan->step[i], step, sizeof(*step)))
			return (int)i;
	return inspect_add_step(b->plan, step);
}

bool inspect_begin(struct inspect_builder *builder, const struct value_param *param,
		   struct inspect_holder *holder)
{
	struct inspect_step step;
	int number;

	*holder = (struct inspect_holder){.from = INSPECT_FROM_REGISTERS, .param = param};
	if (param->place == VALUE_REGISTERS)
		return true;
	if (param->place == VALUE_CONSTANT || param->place == VALUE_SUM) {
		holder->from = INSPECT_FROM_NOTHING;
		return true;
	}
	if (param->place == VALUE_BEHIND) {
		if (!inspect_step_to_pointer(param, &step))
			return false;
		number = inspect_need_step(builder, &step);
		if (number < 0 ||
		    !inspect_step_behind(builder->values, param, (uint8_t)number, &step))
			return false;
	} else if (!inspect_step_of_param(builder->values, param, &step)) {
		return false;
	}
	number = inspect_need_step(builder, &step);
	if (number < 0)
		return false;
	*holder = (struct inspect_holder){.from = (uint8_t)number};
	return true;
}

static void add_members(struct inspect_builder *b, const struct inspect_holder *holder,
			const struct value_type *type, uint64_t at, unsigned int depth, int nested)
{
	for (uint32_t i = 0; i < type->members; i++) {
		const struct value_member *m = &b->values->members.at[type->first_member + i];

		if (!m->bits && !inspect_is_redacted(b->redaction, m->name))
			inspect_add_value(b, holder, m->type, at + m->offset, depth, nested + 1);
	}
}

void inspect_add_target(struct inspect_builder *b, const struct inspect_where *pointer,
			uint32_t target, uint32_t behind)
{
	const struct inspect_holder *holder = pointer->holder;
	struct inspect_step step;
	int number;

	if (pointer->depth >= b->limits.depth ||
	    !inspect_step_of_target(holder, values_type(b->values, target), behind, pointer->at,
				    &step))
		return;
	number = inspect_need_step(b, &step);
	/* of several, only the first one's bytes could be a source */
	if (number >= 0 && !holder->stride)
		inspect_add_value(b, &(struct inspect_holder){.from = (uint8_t)number}, target,
				  behind, pointer->depth + 1, pointer->nested + 1);
}

int inspect_begin_test(struct inspect_builder *b, const struct inspect_holder *holder, uint64_t at,
		       uint64_t width, enum inspect_compare compare, uint64_t value)
{
	int place = inspect_locate(holder, at, width), test;
	struct inspect_step step = {
		.kind = INSPECT_TEST,
		.from = holder->from,
		.offset = (uint16_t)place,
		.width = (uint8_t)width,
		.length_at = (uint16_t)compare,
		.size = (uint16_t)b->constants,
	};

	b->since = b->plan->steps;
	if (place < 0 || holder->stride || b->constants == INSPECT_CONSTANTS || !width || width > 8)
		return -1;
	test = inspect_add_step(b->plan, &step);
	if (test >= 0)
		b->plan->constants[b->constants++] = value & (UINT64_MAX >> (64 - 8 * width));
	b->since = b->plan->steps;
	return test;
}

void inspect_end_test(struct inspect_builder *b, int test)
{
	if (test >= 0 && b->plan->steps == test + 1) {
		b->plan->steps--; /* nothing to jump over */
		b->constants--;
	} else if (test >= 0) {
		b->plan->step[test].max =
			(uint16_t)(((unsigned int)test + 1) | ((unsigned int)b->plan->steps << 8));
	}
	b->since = b->plan->steps;
}

/*
 * The parts of each variant, which are read only if it is that one: a test of the discriminant
 * jumps over the others.
 */
static void add_variants(struct inspect_builder *b, const struct inspect_holder *holder,
			 const struct value_type *type, uint64_t at, unsigned int depth, int nested)
{
	const struct value_type *tag = values_type(b->values, type->target);
	struct value_variant variant;

	for (uint32_t i = 0; values_variant(b->values, type, &i, &variant);) {
		int test = inspect_begin_test(b, holder, at + type->count,
					      tag && variant.has_value ? tag->size : 0,
					      INSPECT_EQUAL, variant.value);

		inspect_add_value(b, holder, variant.member->type, at + variant.member->offset,
				  depth, nested + 1);
		inspect_end_test(b, test);
	}
}

bool inspect_is_text(const struct values *values, const struct value_type *type)
{
	const struct value_type *target = values_type(values, type->target);

	return type->kind == VALUE_POINTER && target && target->kind == VALUE_CHAR &&
	       target->size == 1;
}

static void add_array(struct inspect_builder *b, const struct inspect_holder *holder,
		      const struct value_type *type, uint64_t at, unsigned int depth, int nested)
{
	const struct value_type *element = values_type(b->values, type->target);
	uint64_t count = type->count < b->limits.elements ? type->count : b->limits.elements;

	if (!element || !element->size)
		return;
	for (uint64_t i = 0; i < count; i++)
		inspect_add_value(b, holder, type->target, at + i * element->size, depth,
				  nested + 1);
}

void inspect_add_value(struct inspect_builder *b, const struct inspect_holder *holder,
		       uint32_t number, uint64_t at, unsigned int depth, int nested)
{
	const struct value_type *type = values_type(b->values, number);
	const struct inspect_where where = {holder, at, depth, nested};
	const struct shape_way *way;
	struct inspect_step step;

	if (!type || nested > NESTED_MAX)
		return;
	way = shape_way_of(value_shape_of(b->values, type));
	if (way) {
		if (way->add)
			way->add(b, &where, value_shape_of(b->values, type));
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
		if (!inspect_is_text(b->values, type))
			inspect_add_target(b, &where, type->target, 0);
		else if (inspect_step_of_text(holder, &b->limits, at, &step))
			inspect_need_step(b, &step);
		break;
	case VALUE_VARIANT:
		add_variants(b, holder, type, at, depth, nested);
		break;
	case VALUE_GO_INTERFACE:
	case VALUE_GO_ANY:
		inspect_add_interface(b, holder, type, at, depth);
		break;
	case VALUE_GO_MAP:
		inspect_add_map(b, holder, type, at, depth, nested);
		break;
	case VALUE_GO_CHAN:
		inspect_add_channel(b, holder, at, depth);
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
			inspect_add_value(builder, &holder, params[i].type, 0, 0, 0);
	}
}
