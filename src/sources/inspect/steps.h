/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_INSPECT_STEPS_H
#define SOURCES_INSPECT_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "bpf/inspect/abi.h"
#include "probe/shapes.h"
#include "probe/values.h"

/*
 * Types to steps: what the kernel side must read so that a value can be shown. decode.c
 * goes the same way through the types, and finds what the steps have read.
 */

struct inspect_limits {
	uint32_t text;	   /* bytes of a string */
	uint32_t elements; /* of a list */
	uint32_t depth;	   /* of pointers that are followed */
};

/* Which values are not to be shown, by their names. */
struct inspect_redaction {
	const char *const *names; /* parts of names, in any case of letters */
	size_t count;
};
bool inspect_is_redacted(const struct inspect_redaction *redaction, const char *name);

/* Where the bytes of a value are. */
struct inspect_holder {
	uint8_t from;			 /* a step, or INSPECT_FROM_REGISTERS */
	uint32_t base;			 /* of the value in the step's bytes */
	const struct value_param *param; /* of registers: its pieces */
	uint32_t stride;		 /* not 0: it is one of several elements, all alike */
	uint8_t most;			 /* of such elements, if there can be others behind; or 0 */
};

/* Where a value is, when steps are added for it. */
struct inspect_where {
	const struct inspect_holder *holder;
	uint64_t at;	    /* in it */
	unsigned int depth; /* of pointers that lead to it */
	int nested;	    /* of values it is in */
};

/* Holds a value that no memory has: a constant, or a sum (VALUE_CONSTANT, VALUE_SUM). */
#define INSPECT_FROM_NOTHING 254

/* Where size bytes of the value at offset are in the source; -1: nowhere; -2: a float register. */
int inspect_locate(const struct inspect_holder *holder, uint64_t offset, uint64_t size);

/*
 * Steps that read what a value needs. Builder and decoder make the same ones, which is how the
 * latter finds what was read. False: where the pointer is, is not known, or there is nothing to
 * read.
 */
bool inspect_step_at(const struct inspect_holder *holder, enum inspect_step_kind kind, uint64_t at,
		     struct inspect_step *step);
bool inspect_step_of_param(const struct values *values, const struct value_param *param,
			   struct inspect_step *step);
/* The pointer to a parameter that is behind one (VALUE_BEHIND), and then the parameter. */
bool inspect_step_to_pointer(const struct value_param *param, struct inspect_step *step);
bool inspect_step_behind(const struct values *values, const struct value_param *param,
			 uint8_t pointer, struct inspect_step *step);
/* behind: where the target begins at what the pointer leads to. */
bool inspect_step_of_target(const struct inspect_holder *holder, const struct value_type *target,
			    uint32_t behind, uint64_t at, struct inspect_step *step);
bool inspect_step_of_text(const struct inspect_holder *holder, const struct inspect_limits *limits,
			  uint64_t at, struct inspect_step *step);
bool inspect_step_of_list(const struct inspect_holder *holder, const struct inspect_limits *limits,
			  const struct value_shape *shape, const struct value_type *element,
			  uint64_t at, struct inspect_step *step);

struct inspect_builder {
	const struct values *values;
	struct inspect_limits limits;
	const struct inspect_redaction *redaction;
	struct inspect_plan *plan;
	uint32_t constants; /* of the plan, that are in use */
	uint32_t since;	    /* steps before may be left out by a test: nothing relies on them */
};

/*
 * Where a parameter's bytes are, with the steps that it takes to get there. False: nowhere, and
 * there is nothing to read.
 */
bool inspect_begin(struct inspect_builder *builder, const struct value_param *param,
		   struct inspect_holder *holder);

/* Adds the steps of all parameters (or results). What there is no room for is not read. */
void inspect_add_params(struct inspect_builder *builder, const struct value_param *params,
			size_t count, bool results);

/* Adds one step; returns its number, or -1: there is no room. */
int inspect_add_step(struct inspect_plan *plan, const struct inspect_step *step);

/* The number of such a step, whether it was there before or not; -1: there is no room. */
int inspect_need_step(struct inspect_builder *builder, const struct inspect_step *step);

/*
 * Steps between the two are made only if what lies at the place compares so. Returns what the end
 * must be given.
 */
int inspect_begin_test(struct inspect_builder *builder, const struct inspect_holder *holder,
		       uint64_t at, uint64_t width, enum inspect_compare compare, uint64_t value);
void inspect_end_test(struct inspect_builder *builder, int test);

/* Adds the steps of a value. depth: of pointers that lead to it; nested: of values it is in. */
void inspect_add_value(struct inspect_builder *builder, const struct inspect_holder *holder,
		       uint32_t type, uint64_t at, unsigned int depth, int nested);

/* What a pointer leads to, behind some bytes, and what that leads to. */
void inspect_add_target(struct inspect_builder *builder, const struct inspect_where *pointer,
			uint32_t target, uint32_t behind);

/* map.c, interface.c */
void inspect_add_map(struct inspect_builder *builder, const struct inspect_holder *holder,
		     const struct value_type *type, uint64_t at, unsigned int depth, int nested);
void inspect_add_interface(struct inspect_builder *builder, const struct inspect_holder *holder,
			   const struct value_type *type, uint64_t at, unsigned int depth);
void inspect_add_channel(struct inspect_builder *builder, const struct inspect_holder *holder,
			 uint64_t at, unsigned int depth);

/* Is it a pointer to a text that ends with a zero byte? */
bool inspect_is_text(const struct values *values, const struct value_type *type);

/*
 * A condition such as "arg.id > 100 && arg.name == \"bob\"": its steps must come first. Returns 0
 * or -EINVAL with *why filled.
 */
int inspect_add_condition(struct inspect_builder *builder, const char *text,
			  const struct value_param *params, size_t count, struct fail *why);

#endif
