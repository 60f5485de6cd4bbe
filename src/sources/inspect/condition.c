// SPDX-License-Identifier: Apache-2.0
/*
 * Conditions, compiled into steps that read what is compared, and tests that jump. A test of a
 * sequence knows where it goes on only when what follows is compiled, so that each part of the
 * condition is left with lists of jumps that are still open.
 *
 *	or	= and { "||" and }
 *	and	= one { "&&" one }
 *	one	= "(" or ")" | value compare constant
 *	value	= what operand.h says
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sources/inspect/decoder.h"
#include "sources/inspect/operand.h"
#include "probe/shapes.h"

#define JUMPS_MAX 64
#define DEPTH_MAX 16

struct jumps {
	unsigned int count;
	uint8_t step[JUMPS_MAX];
	bool if_true[JUMPS_MAX];
};

struct open_ends {
	struct jumps if_true, if_false;
};

static void put(struct inspect_plan *plan, const struct jumps *jumps, unsigned int to)
{
	for (unsigned int i = 0; i < jumps->count; i++) {
		struct inspect_step *step = &plan->step[jumps->step[i]];

		if (jumps->if_true[i])
			step->max = (uint16_t)((step->max & 0xff00) | to);
		else
			step->max = (uint16_t)((step->max & 0xff) | to << 8);
	}
}

static void append(struct jumps *to, const struct jumps *more)
{
	for (unsigned int i = 0; i < more->count && to->count < JUMPS_MAX; i++) {
		to->step[to->count] = more->step[i];
		to->if_true[to->count++] = more->if_true[i];
	}
}

static bool eat_compare(struct operand_parser *p, enum inspect_compare *compare)
{
	static const struct {
		const char *token;
		enum inspect_compare compare;
	} all[] = {
		{"==", INSPECT_EQUAL},	  {"!=", INSPECT_NOT_EQUAL}, {"<=", INSPECT_AT_MOST},
		{">=", INSPECT_AT_LEAST}, {"<", INSPECT_LESS},	     {">", INSPECT_MORE},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (operand_eat(p, all[i].token)) {
			*compare = all[i].compare;
			return true;
		}
	return false;
}

/* A test, whose both jumps are open. */
static int add_test(struct operand_parser *p, const struct inspect_step *step,
		    struct open_ends *ends)
{
	int number = inspect_add_step(p->builder->plan, step);

	if (number < 0)
		return operand_no_room(p);
	ends->if_true = (struct jumps){1, {(uint8_t)number}, {true}};
	ends->if_false = (struct jumps){1, {(uint8_t)number}, {false}};
	return 0;
}

/* The step that reads a text, whole: one that is longer than a text of the condition differs. */
static int read_text(struct operand_parser *p, struct operand *o)
{
	struct value_shape shape = {0};
	struct inspect_step step = {.max = INSPECT_TEXT_MAX};
	const struct value_type *target;
	int err, number;

	if (o->type)
		shape = *value_shape_of(p->builder->values, o->type);
	if (o->type && shape.kind != SHAPE_TEXT &&
	    (o->type->kind == VALUE_POINTER || o->type->kind == VALUE_REFERENCE)) {
		target = values_type(p->builder->values, o->type->target);
		if (!target || target->kind != VALUE_CHAR) {
			err = operand_follow(p, o, o->type->target, 0, 0);
			if (err)
				return err;
			shape = *value_shape_of(p->builder->values, o->type);
		}
	}
	if (shape.kind == SHAPE_TEXT) {
		int length = inspect_locate(&o->holder, o->at + shape.length_at, 8);

		step.kind = INSPECT_ARRAY;
		step.size = 1;
		step.displacement = (int32_t)shape.behind;
		step.length_at = (uint16_t)length;
		if (length < 0 || shape.can_be_short)
			return operand_refuse(p, "this text cannot be read, before");
	} else if (o->type && o->type->kind == VALUE_POINTER &&
		   (target = values_type(p->builder->values, o->type->target)) &&
		   target->kind == VALUE_CHAR) {
		step.kind = INSPECT_TEXT;
	} else {
		return operand_refuse(p, "this value is not a text, before");
	}
	number = inspect_locate(&o->holder, o->at + shape.pointer_at, 8);
	if (number < 0)
		return operand_refuse(p, "this text cannot be read, before");
	step.from = o->holder.from;
	step.offset = (uint16_t)number;
	number = inspect_add_step(p->builder->plan, &step);
	return number < 0 ? operand_no_room(p) : number;
}

static int compare_text(struct operand_parser *p, struct operand *o, enum inspect_compare compare,
			struct open_ends *ends)
{
	struct inspect_plan *plan = p->builder->plan;
	struct inspect_step step = {.kind = INSPECT_TEST_TEXT, .width = (uint8_t)compare};
	unsigned int size = 0;
	int number;

	if (compare != INSPECT_EQUAL && compare != INSPECT_NOT_EQUAL)
		return operand_refuse(p, "texts are compared by == and != only, before");
	for (p->at++; *p->at && *p->at != '"'; p->at++) {
		if (*p->at == '\\' && p->at[1])
			p->at++;
		if (p->texts + size >= INSPECT_TEXT_MAX)
			return operand_no_room(p);
		plan->text[p->texts + size++] = (uint8_t)*p->at;
	}
	if (*p->at != '"')
		return operand_refuse(p, "a text has no end");
	p->at++;
	number = read_text(p, o);
	if (number < 0)
		return number;
	step.from = (uint8_t)number;
	step.size = (uint16_t)size;
	step.displacement = (int32_t)p->texts;
	p->texts += size;
	return add_test(p, &step, ends);
}

static bool eat_number(struct operand_parser *p, const struct operand *o, uint64_t *value)
{
	char *end;

	if (operand_eat(p, "true")) {
		*value = 1;
		return true;
	}
	if (operand_eat(p, "false") || operand_eat(p, "nil") || operand_eat(p, "null")) {
		*value = 0;
		return true;
	}
	operand_skip_spaces(p);
	errno = 0;
	*value = *p->at == '-' ? (uint64_t)strtoll(p->at, &end, 0) : strtoull(p->at, &end, 0);
	if (end != p->at && !errno) {
		p->at = end;
		return true;
	}
	for (uint32_t i = 0; o->type->kind == VALUE_ENUM && i < o->type->members; i++) {
		const struct value_member *m =
			&p->builder->values->members.at[o->type->first_member + i];
		size_t length = strlen(m->name);

		if (length && !strncmp(p->at, m->name, length) &&
		    !isalnum((unsigned char)p->at[length]) && p->at[length] != '_') {
			*value = m->offset;
			p->at += length;
			return true;
		}
	}
	return false;
}

static bool holds(enum inspect_compare compare, uint64_t a, uint64_t b, bool is_signed)
{
	bool less = is_signed ? (int64_t)a < (int64_t)b : a < b;

	switch (compare) {
	case INSPECT_EQUAL:
		return a == b;
	case INSPECT_NOT_EQUAL:
		return a != b;
	case INSPECT_LESS:
		return less;
	case INSPECT_AT_MOST:
		return less || a == b;
	case INSPECT_MORE:
		return !less && a != b;
	default:
		return !less;
	}
}

/*
 * A variable that the compiler has made a constant at this place: the result is known. The
 * test is whether the probe has an address.
 */
static void compare_constant(const struct operand *o, uint64_t value, struct inspect_step *step)
{
	bool is_signed = o->type->flags & VALUE_FLAG_SIGNED;
	uint64_t constant = (uint64_t)o->holder.param->displacement;
	bool is_true = holds((enum inspect_compare)step->length_at,
			     inspect_extend(constant, o->type->size, is_signed), value, is_signed);

	step->from = INSPECT_FROM_REGISTERS;
	step->offset = 8 * INSPECT_IP;
	step->width = 8;
	step->length_at = is_true ? INSPECT_NOT_EQUAL : INSPECT_EQUAL;
}

static bool is_constant(const struct operand *o)
{
	return o->holder.from == INSPECT_FROM_NOTHING && o->holder.param &&
	       o->holder.param->place == VALUE_CONSTANT && !o->at;
}

static int compare_number(struct operand_parser *p, struct operand *o, enum inspect_compare compare,
			  struct open_ends *ends)
{
	struct inspect_step step = {.kind = INSPECT_TEST, .length_at = (uint16_t)compare};
	uint64_t value;
	int place;

	if (o->type && o->type->kind == VALUE_REFERENCE) {
		int err = operand_follow(p, o, o->type->target, 0, 0);

		if (err)
			return err;
	}
	if (!o->type || o->type->size > 8 || !o->type->size || o->type->kind == VALUE_FLOAT ||
	    o->type->kind == VALUE_STRUCT)
		return operand_refuse(p, "this value cannot be compared with a number, before");
	if (!eat_number(p, o, &value))
		return operand_refuse(p, "a constant is missing");
	place = is_constant(o) ? 0 : inspect_locate(&o->holder, o->at, o->type->size);
	if (place < 0 || p->builder->constants == INSPECT_CONSTANTS)
		return operand_refuse(p, "this value cannot be read, before");
	step.from = o->holder.from;
	step.offset = (uint16_t)place;
	step.width = (uint8_t)o->type->size;
	step.size = (uint16_t)p->builder->constants;
	if (o->type->flags & VALUE_FLAG_SIGNED)
		step.flags = INSPECT_SIGNED;
	if (is_constant(o)) {
		compare_constant(o, value, &step);
		value = 0;
	}
	p->builder->plan->constants[p->builder->constants++] = value;
	return add_test(p, &step, ends);
}

static int parse_or(struct operand_parser *p, struct open_ends *ends);

static int parse_one(struct operand_parser *p, struct open_ends *ends)
{
	enum inspect_compare compare;
	struct operand operand;
	int err;

	if (operand_eat(p, "(")) {
		if (++p->depth > DEPTH_MAX)
			return operand_no_room(p);
		err = parse_or(p, ends);
		p->depth--;
		if (!err && !operand_eat(p, ")"))
			err = operand_refuse(p, "')' is missing");
		return err;
	}
	operand_skip_spaces(p);
	/* what stands before may be left out, if another part of the condition decides */
	p->builder->since = p->builder->plan->steps;
	err = operand_parse(p, &operand);
	if (err)
		return err;
	if (!eat_compare(p, &compare))
		return operand_refuse(p, "a comparison is missing");
	operand_skip_spaces(p);
	return *p->at == '"' ? compare_text(p, &operand, compare, ends)
			     : compare_number(p, &operand, compare, ends);
}

static int parse_and(struct operand_parser *p, struct open_ends *ends)
{
	int err = parse_one(p, ends);

	while (!err && operand_eat(p, "&&")) {
		struct open_ends next;

		put(p->builder->plan, &ends->if_true, p->builder->plan->steps);
		err = parse_one(p, &next);
		if (err)
			break;
		append(&ends->if_false, &next.if_false);
		ends->if_true = next.if_true;
	}
	return err;
}

static int parse_or(struct operand_parser *p, struct open_ends *ends)
{
	int err = parse_and(p, ends);

	while (!err && operand_eat(p, "||")) {
		struct open_ends next;

		put(p->builder->plan, &ends->if_false, p->builder->plan->steps);
		err = parse_and(p, &next);
		if (err)
			break;
		append(&ends->if_true, &next.if_true);
		ends->if_false = next.if_false;
	}
	return err;
}

int inspect_add_condition(struct inspect_builder *builder, const char *text,
			  const struct value_param *params, size_t count, struct fail *why)
{
	struct operand_parser p = {
		.builder = builder,
		.params = params,
		.count = count,
		.option = "--when",
		.text = text,
		.at = text,
		.why = why,
	};
	struct open_ends ends;
	int err = parse_or(&p, &ends);

	operand_skip_spaces(&p);
	if (!err && *p.at)
		err = operand_refuse(&p, "this is not understood");
	if (err)
		return err;
	put(builder->plan, &ends.if_true, builder->plan->steps);
	put(builder->plan, &ends.if_false, INSPECT_REJECT);
	/* where one part of the condition decides, the others are not read */
	builder->since = builder->plan->steps;
	return 0;
}
