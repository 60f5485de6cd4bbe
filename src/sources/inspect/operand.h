/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_INSPECT_OPERAND_H
#define SOURCES_INSPECT_OPERAND_H

#include "sources/inspect/steps.h"

/*
 * Expressions that pick a part of a value, in conditions and for --show, compiled into steps that
 * read it:
 *
 *	part	= { "*" } name { "." name | "->" name | "[" number "]" }
 *
 * "." also goes through pointers, and "[" "]" through lists. "arg." may stand in front.
 */
#define OPERAND_NAME_MAX 128

/* Why a part cannot be read, of those reasons that are not the user's fault. */
enum operand_error {
	OPERAND_OTHER,
	OPERAND_NO_NAME,  /* nothing there has that name */
	OPERAND_NO_PLACE, /* where it is, is not known */
	OPERAND_REDACTED,
};

struct operand_parser {
	struct inspect_builder *builder;
	const struct value_param *params;
	size_t count;
	const char *option, *text, *at;
	unsigned int texts, depth;
	struct fail *why;
	enum operand_error error;
};

/* A part of a value, and where it is. */
struct operand {
	const struct value_param *param; /* that it is a part of */
	struct inspect_holder holder;
	uint32_t number; /* of its type */
	const struct value_type *type;
	uint64_t at;
	uint32_t needs; /* elements that the list of the holder must have; 0: it is none */
};

/*
 * Parses a part at p->at. Returns 0 or -EINVAL with *why filled; p->error then says what the reason
 * is. o->param is set in any case if there is one.
 */
int operand_parse(struct operand_parser *p, struct operand *o);

/* Makes the value that the operand points to, `index` of such values further, the operand. */
int operand_follow(struct operand_parser *p, struct operand *o, uint32_t target,
		   uint64_t pointer_at, uint64_t index);

int operand_refuse(struct operand_parser *p, const char *words);
int operand_no_room(struct operand_parser *p);
void operand_skip_spaces(struct operand_parser *p);
bool operand_eat(struct operand_parser *p, const char *token);

#endif
