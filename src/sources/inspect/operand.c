// SPDX-License-Identifier: Apache-2.0
#include "sources/inspect/operand.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "probe/shapes.h"

/* Of a list, and of stars: what is more is a slip. */
#define INDEX_MAX 4095
#define STARS_MAX 8
#define BASES_MAX 8

/* Members that an error names. */
#define MEMBERS_NAMED 13

int operand_refuse(struct operand_parser *p, const char *words)
{
	return fail(p->why, -EINVAL, "see 'stackcam inspect --help'", "%s '%s': %s at '%.32s'",
		    p->option, p->text, words, p->at);
}

int operand_no_room(struct operand_parser *p)
{
	return operand_refuse(p, "this is too long");
}

static int refuse_for(struct operand_parser *p, enum operand_error error, const char *words)
{
	p->error = error;
	return operand_refuse(p, words);
}

void operand_skip_spaces(struct operand_parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
}

bool operand_eat(struct operand_parser *p, const char *token)
{
	size_t length = strlen(token);

	operand_skip_spaces(p);
	if (strncmp(p->at, token, length))
		return false;
	p->at += length;
	return true;
}

static bool eat_name(struct operand_parser *p, char name[OPERAND_NAME_MAX])
{
	size_t length = 0;

	operand_skip_spaces(p);
	/* letters of other alphabets, too */
	while (p->at[length] && length + 1 < OPERAND_NAME_MAX &&
	       (isalnum((unsigned char)p->at[length]) || strchr("_~$", p->at[length]) ||
		(unsigned char)p->at[length] >= 0x80))
		length++;
	memcpy(name, p->at, length);
	name[length] = 0;
	p->at += length;
	return length;
}

static void set_type(struct operand_parser *p, struct operand *o, uint32_t number)
{
	o->number = number;
	o->type = values_type(p->builder->values, number);
}

static int follow(struct operand_parser *p, struct operand *o, uint32_t target, uint32_t behind,
		  uint64_t pointer_at, uint64_t index)
{
	const struct value_type *type = values_type(p->builder->values, target);
	struct inspect_step step;
	int number;

	if (!inspect_step_of_target(&o->holder, type, behind, o->at + pointer_at, &step))
		return refuse_for(p, OPERAND_NO_PLACE, "what is pointed to cannot be read, before");
	if (index && type->size > INT32_MAX / 2 / index)
		return operand_refuse(p, "this is too far away, before");
	step.displacement += (int32_t)(index * type->size);
	number = inspect_need_step(p->builder, &step);
	if (number < 0)
		return operand_no_room(p);
	o->holder = (struct inspect_holder){.from = (uint8_t)number};
	o->at = behind;
	o->needs = 0;
	set_type(p, o, target);
	return 0;
}

int operand_follow(struct operand_parser *p, struct operand *o, uint32_t target,
		   uint64_t pointer_at, uint64_t index)
{
	return follow(p, o, target, 0, pointer_at, index);
}

static const struct value_shape *shape_of(const struct operand_parser *p, const struct operand *o)
{
	static const struct value_shape plain;

	return o->type ? value_shape_of(p->builder->values, o->type) : &plain;
}

/* What a smart pointer leads to. */
static int follow_shape(struct operand_parser *p, struct operand *o)
{
	const struct value_shape *shape = shape_of(p, o);

	return follow(p, o, shape->element, shape->behind, shape->pointer_at, 0);
}

/* The value in what stands for it, such as Mutex<T>. */
static void enter_wrappers(struct operand_parser *p, struct operand *o)
{
	for (int i = 0; i < BASES_MAX && shape_of(p, o)->kind == SHAPE_VALUE; i++) {
		const struct value_shape *shape = shape_of(p, o);

		o->at += shape->value_at;
		set_type(p, o, shape->element);
	}
}

static bool is_pointer(const struct value_type *type)
{
	return type && (type->kind == VALUE_POINTER || type->kind == VALUE_REFERENCE);
}

/* A member of a structure, or of one without a name in it, or of one that it is derived from. */
static const struct value_member *find_member(const struct values *values,
					      const struct value_type *type, const char *name,
					      uint64_t *at, int depth)
{
	const struct value_member *member;

	if (!type || type->kind == VALUE_VARIANT || depth == BASES_MAX)
		return NULL;
	member = values_member(values, type, name);
	if (member) {
		*at += member->offset;
		return member;
	}
	for (uint32_t i = 0; i < type->members; i++) {
		const struct value_member *base = &values->members.at[type->first_member + i];
		uint64_t inner = *at + base->offset;

		member = base->is_base || values_is_unnamed(values, base)
				 ? find_member(values, values_type(values, base->type), name,
					       &inner, depth + 1)
				 : NULL;
		if (member) {
			*at = inner;
			return member;
		}
	}
	return NULL;
}

/* Names of members that there are, for the user who has named another one. */
static void list_members(const struct values *values, const struct value_type *type, struct buf *to,
			 unsigned int *left)
{
	for (uint32_t i = 0; i < type->members && *left; i++) {
		const struct value_member *member = &values->members.at[type->first_member + i];

		if (values_is_unnamed(values, member)) {
			list_members(values, values_type(values, member->type), to, left);
			continue;
		}
		buf_put_text(to, to->count ? ", " : "");
		buf_put_text(to, --*left ? member->name : "…");
	}
}

static int refuse_member(struct operand_parser *p, const struct value_type *type, const char *name)
{
	unsigned int left = MEMBERS_NAMED;
	struct buf has = {0};

	p->error = OPERAND_NO_NAME;
	if (type && type->kind != VALUE_VARIANT)
		list_members(p->builder->values, type, &has, &left);
	buf_put_u8(&has, 0);
	if (has.count > 1 && !has.failed)
		fail(p->why, -EINVAL, NULL, "%s '%s': no such member: '%s'; there are %s",
		     p->option, p->text, name, (const char *)has.at);
	else
		fail(p->why, -EINVAL, "see 'stackcam inspect --help'",
		     "%s '%s': no such member: '%s'", p->option, p->text, name);
	buf_free(&has);
	return -EINVAL;
}

static int enter_member(struct operand_parser *p, struct operand *o, const char *name)
{
	const struct values *values = p->builder->values;
	const struct value_member *member;
	int err;

	if (is_pointer(o->type)) {
		err = operand_follow(p, o, o->type->target, 0, 0);
		if (err)
			return err;
	}
	member = find_member(values, o->type, name, &o->at, 0);
	if (!member)
		enter_wrappers(p, o);
	if (!member && shape_of(p, o)->kind == SHAPE_POINTER) {
		err = follow_shape(p, o);
		if (err)
			return err;
		enter_wrappers(p, o);
	}
	if (!member)
		member = find_member(values, o->type, name, &o->at, 0);
	if (!member)
		return refuse_member(p, o->type, name);
	if (member->bits)
		return operand_refuse(p, "a bit field cannot be picked, before");
	set_type(p, o, member->type);
	return 0;
}

/* An element of a list whose length is only known when the probe runs. */
static int enter_list(struct operand_parser *p, struct operand *o, const struct value_shape *shape,
		      uint64_t index)
{
	const struct value_type *element = values_type(p->builder->values, shape->element);
	struct inspect_limits limits = {.elements = (uint32_t)index + 1};
	struct inspect_step step;
	int number;

	if (!element || !element->size || (index + 1) * element->size > INSPECT_READ_MAX)
		return operand_refuse(p, "this is too far away, before");
	if (!inspect_step_of_list(&o->holder, &limits, shape, element, o->at, &step))
		return refuse_for(p, OPERAND_NO_PLACE, "this list cannot be read, before");
	number = inspect_need_step(p->builder, &step);
	if (number < 0)
		return operand_no_room(p);
	o->holder = (struct inspect_holder){.from = (uint8_t)number};
	o->at = index * element->size;
	o->needs = (uint32_t)index + 1;
	set_type(p, o, shape->element);
	return 0;
}

static int enter_element(struct operand_parser *p, struct operand *o, uint64_t index)
{
	const struct values *values = p->builder->values;
	const struct value_type *element;
	const struct value_shape *shape;

	if (o->type && o->type->kind == VALUE_REFERENCE) {
		int err = operand_follow(p, o, o->type->target, 0, 0);

		if (err)
			return err;
	}
	enter_wrappers(p, o);
	shape = shape_of(p, o);
	if (shape->kind == SHAPE_LIST && !shape->count)
		return enter_list(p, o, shape, index);
	if (shape->kind == SHAPE_TUPLE && index < shape->parts) {
		const struct value_part *part = &values->parts.at[shape->first_part + index];

		o->at += part->offset;
		set_type(p, o, part->type);
		return 0;
	}
	if (o->type && o->type->kind == VALUE_POINTER)
		return operand_follow(p, o, o->type->target, 0, index);
	element = o->type ? values_type(values, o->type->target) : NULL;
	if (!element || o->type->kind != VALUE_ARRAY)
		return operand_refuse(p, "this has no elements, before");
	if (index >= o->type->count && o->type->count)
		return operand_refuse(p, "the array is shorter, before");
	o->at += index * element->size;
	set_type(p, o, o->type->target);
	return 0;
}

static int parse_name(struct operand_parser *p, char name[OPERAND_NAME_MAX])
{
	if (!eat_name(p, name))
		return operand_refuse(p, "a name is missing");
	/* that a condition holds would tell what must not be told */
	if (inspect_is_redacted(p->builder->redaction, name))
		return refuse_for(p, OPERAND_REDACTED,
				  "this value is redacted, and no expression may "
				  "look at it, before");
	return 0;
}

static int enter_name(struct operand_parser *p, struct operand *o)
{
	char name[OPERAND_NAME_MAX];
	int err = parse_name(p, name);

	return err ? err : enter_member(p, o, name);
}

static int enter_brackets(struct operand_parser *p, struct operand *o)
{
	char *end;
	unsigned long long index;

	operand_skip_spaces(p);
	index = isdigit((unsigned char)*p->at) ? strtoull(p->at, &end, 0) : INDEX_MAX + 1ull;
	if (index > INDEX_MAX)
		return operand_refuse(p, "an index is a number from 0 to 4095, not a variable,");
	p->at = end;
	if (!operand_eat(p, "]"))
		return operand_refuse(p, "']' is missing");
	return enter_element(p, o, index);
}

static int begin(struct operand_parser *p, const char *name, struct operand *o)
{
	for (size_t i = 0; i < p->count; i++) {
		if (p->params[i].is_result || !p->params[i].name || strcmp(p->params[i].name, name))
			continue;
		o->param = &p->params[i];
		if (!inspect_begin(p->builder, o->param, &o->holder))
			return refuse_for(p, OPERAND_NO_PLACE,
					  "where this is, is not known, before");
		set_type(p, o, o->param->type);
		return 0;
	}
	return refuse_for(p, OPERAND_NO_NAME, "no such argument or variable before");
}

static bool has_param(const struct operand_parser *p, const char *name)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->params[i].name && !strcmp(p->params[i].name, name))
			return true;
	return false;
}

/* A star makes what is pointed to of a pointer, and the value itself of a smart pointer. */
static int enter_star(struct operand_parser *p, struct operand *o)
{
	if (is_pointer(o->type))
		return operand_follow(p, o, o->type->target, 0, 0);
	if (shape_of(p, o)->kind == SHAPE_POINTER)
		return follow_shape(p, o);
	return operand_refuse(p, "this is not a pointer, before");
}

int operand_parse(struct operand_parser *p, struct operand *o)
{
	char name[OPERAND_NAME_MAX];
	unsigned int stars = 0;
	int err;

	*o = (struct operand){0};
	p->error = OPERAND_OTHER;
	while (operand_eat(p, "*"))
		if (++stars > STARS_MAX)
			return operand_no_room(p);
	if (!strncmp(p->at, "arg.", 4) && !has_param(p, "arg"))
		p->at += 4;
	err = parse_name(p, name);
	err = err ? err : begin(p, name, o);
	while (!err) {
		if (*p->at == '.' || *p->at == '[')
			p->at++;
		else if (!strncmp(p->at, "->", 2))
			p->at += 2;
		else
			break;
		err = p->at[-1] == '[' ? enter_brackets(p, o) : enter_name(p, o);
	}
	for (; !err && stars; stars--)
		err = enter_star(p, o);
	return err;
}
