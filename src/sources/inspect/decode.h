/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_INSPECT_DECODE_H
#define SOURCES_INSPECT_DECODE_H

#include "base/shown.h"
#include "sources/inspect/steps.h"

/*
 * What a record holds, as values: the bytes that the steps of its plan have read, by their types.
 * They come from the target's memory and may be anything; the tree's texts point into them.
 */
struct inspect_contents {
	const struct values *values;
	const struct inspect_plan *plan;
	const struct inspect_limits *limits;
	const struct inspect_redaction *redaction;
	const uint8_t *bytes; /* behind the record */
	uint32_t size;
	uint64_t bias; /* of the image in the process: what addresses are above those of its file */
	bool is_left;  /* the function has jumped to another one, which returns its result */
	/*
	 * The name of what an object calls by the function at an address. held: the object's first
	 * word. Null: not known. The name lives as long as names; the function may be null.
	 */
	const char *(*called)(void *names, uint64_t address, uint64_t held);
	void *names;
};

/* Adds the values of the parameters, or of the results, to the tree, each as a node of its own. */
void inspect_decode(const struct inspect_contents *taken, const struct value_param *params,
		    size_t count, bool results, struct shown_tree *tree);

/* A part of a value that was asked for, and where it is. */
struct inspect_part {
	const char *name; /* as it was written */
	uint32_t type;
	enum shown_status status; /* not SHOWN_VALUE: it cannot be read */
	struct inspect_holder holder;
	uint64_t at;
	uint32_t needs; /* elements that a list must have; 0: it is none of one */
	bool may_be_old;
};

/* Compiles parts, and adds the steps of their values. 0 or -EINVAL with *why. */
int inspect_add_parts(struct inspect_builder *builder, const char *const *texts, size_t count,
		      const struct value_param *params, size_t param_count,
		      struct inspect_part *parts, struct fail *why);

void inspect_decode_parts(const struct inspect_contents *taken, const struct inspect_part *parts,
			  size_t count, struct shown_tree *tree);

#endif
