/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAMERA_INSPECT_STEPS_H
#define CAMERA_INSPECT_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "bpf/inspect_abi.h"
#include "probe/values.h"

/*
 * Types to steps: what the kernel side must read so that a value can be shown. inspect_decode.c
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
};

/* Where size bytes of the value at offset are in the source; -1: nowhere; -2: a float register. */
int inspect_locate(const struct inspect_holder *holder, uint64_t offset, uint64_t size);

struct inspect_builder {
	const struct values *values;
	struct inspect_limits limits;
	const struct inspect_redaction *redaction;
	struct inspect_plan *plan;
};

/*
 * Where a parameter's bytes are, with the steps that it takes to get there. False: nowhere, and
 * there is nothing to read.
 */
bool inspect_begin(struct inspect_builder *builder, const struct value_param *param,
		   struct inspect_holder *holder);

/* The step that reads what a pointer leads to, and that was made for it; -1: none was. */
int inspect_find_step(const struct inspect_plan *plan, const struct inspect_holder *holder,
		      int place, enum inspect_step_kind kind);

/* Adds the steps of all parameters (or results). What there is no room for is not read. */
void inspect_add_params(struct inspect_builder *builder, const struct value_param *params,
			size_t count, bool results);

/* Adds one step; returns its number, or -1: there is no room. */
int inspect_add_step(struct inspect_plan *plan, const struct inspect_step *step);

/*
 * A condition such as "arg.id > 100 && arg.name == \"bob\"": its steps must come first. Returns 0
 * or -EINVAL with *why filled.
 */
int inspect_add_condition(struct inspect_builder *builder, const char *text,
			  const struct value_param *params, size_t count, struct fail *why);

#endif
