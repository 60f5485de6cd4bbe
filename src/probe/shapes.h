/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_SHAPES_H
#define PROBE_SHAPES_H

#include "probe/values.h"

/*
 * What a structure of a library means: a text, a list or a pointer, in any implementation. It is
 * recognized by the names of its members, and their offsets are those that DWARF has.
 */
enum value_shape_kind {
	SHAPE_PLAIN, /* nothing but its members */
	SHAPE_TEXT,
	SHAPE_LIST,
	SHAPE_POINTER,
	SHAPE_OPTIONAL, /* a value, or none */
	SHAPE_TREE,	/* of libstdc++: a map or a set in order */
};

struct value_shape {
	enum value_shape_kind kind;
	uint64_t pointer_at; /* of an optional: of the value, whose type is element */
	uint64_t length_at;  /* of a text, list or tree; of an optional: whether there is one */
	bool length_is_end;  /* a pointer to the end */
	uint32_t element;    /* of a list or a tree, or what a pointer leads to */
};

struct value_shape value_shape_of(const struct values *values, const struct value_type *type);

#endif
