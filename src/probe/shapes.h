/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_SHAPES_H
#define PROBE_SHAPES_H

#include "probe/values.h"

/*
 * What a structure of a library means: a text, a list, a pointer, a map …, in any implementation. A
 * table has a row for each type (shapes_cpp.c, shapes_rust.c): how its name begins, and which
 * members lead to its parts. Where they are is what DWARF says; a structure that lacks one of them
 * is shown by its members. What is read of each shape, and how it is shown, is in camera/inspect/.
 */
enum value_shape_kind {
	SHAPE_PLAIN, /* nothing but its members */
	SHAPE_TEXT,
	SHAPE_LIST, /* elements one behind the other, at a pointer */
	SHAPE_POINTER,
	SHAPE_WEAK,	/* a pointer to what is there only while a count is not 0 */
	SHAPE_OPTIONAL, /* a value, or none */
	SHAPE_VALUE,	/* a value, which stands for it */
	SHAPE_CHOICE,	/* std::variant: one of several, which a number chooses */
	SHAPE_TUPLE,	/* parts without names */
	SHAPE_BITS,	/* std::vector<bool>: to a bit of a word, or as many as a length says */
	SHAPE_FUNCTION, /* std::function */
	SHAPE_CHAIN,	/* nodes, each of which leads to the next one */
	SHAPE_TREE,	/* std::map: nodes in order */
	SHAPE_BLOCKS,	/* std::deque: elements in blocks of one size */
	SHAPE_RING,	/* VecDeque: a list that goes on at its beginning */
	SHAPE_TABLE,	/* HashMap: buckets, and a byte for each */
	SHAPE_BTREE,	/* BTreeMap */
	SHAPE_KINDS
};

/* Where its parts are; offsets of words of 8 bytes, if a row does not say something else. */
struct value_shape {
	enum value_shape_kind kind;
	bool length_is_end; /* a pointer to the end; of a ring: where its last element is */
	bool has_length;    /* else it is only known when all is read */
	bool is_pairs;	    /* its elements are pairs of a key and a value */
	uint8_t length_size;
	uint64_t pointer_at;
	uint64_t length_at; /* of an optional: whether there is a value; of a choice: which one */
	uint64_t first_at, room_at, end_at, last_at;
	uint64_t value_at; /* of an optional, a choice or a wrapper: the value */
	uint32_t element;  /* of a list …, or what a pointer leads to, or the value's type */
	uint32_t behind;   /* where that begins at what a pointer leads to */
	uint32_t next;	   /* of a node: where the pointer to the next one is, or to the left one */
	uint32_t above;	   /* of a tree's node: where the one to that above it is */
	/* of a text that can be in its own object: the byte that says it, before its characters */
	bool can_be_short;
	uint32_t short_at;
	uint32_t counted; /* of a weak pointer: where the count is behind the pointer at first_at */
	uint64_t count;	  /* of a list whose length its type says; 0: it has one of its own */
	uint32_t first_part, parts; /* of a choice or a tuple */
	uint32_t leaf; /* of a BTreeMap: the type of its leaves; of a table: of its buckets */
	/* of a BTreeMap: the types of keys and values, and where they are in a leaf */
	uint32_t key, value;
	uint32_t keys_at, values_at;
};

/* The shape of a type of values. */
const struct value_shape *value_shape_of(const struct values *values,
					 const struct value_type *type);

/* Finds the shapes of all types (values_parse()). 0 or -ENOMEM. */
int values_find_shapes(struct values *values);

/* -- the table --------------------------------------------------------------------------------- */

enum shape_flag {
	SHAPE_LENGTH_IS_END = 1,
	SHAPE_PAIRS = 2,
	SHAPE_ANYWHERE = 4, /* the name has its namespaces, or needs none */
	SHAPE_BEHIND = 8,   /* of a pointer: what it leads to begins with counts */
	SHAPE_NODE = 32,    /* of a chain: what the pointer leads to is a node, with members */
	SHAPE_SHORT = 64, /* of a text: value is a short one, with its length in a byte before it */
	SHAPE_OPAQUE = 16, /* the pointer is a structure of which only the place is known */
};

/*
 * Members are named as in "a.b": one called b, at any depth of one called a, at any depth of the
 * structure. A name that ends with "<" is one of a type, with what its name begins with.
 */
struct shape_row {
	/* its name; with a "<" or "[" in it, or a "*" behind it, how the name begins */
	const char *type;
	enum value_shape_kind kind;
	const char *pointer, *length, *first, *room, *end, *last, *value;
	/*
	 * Whose template's parameters are read: "" the type's own; "x<": those of a structure in it
	 * whose name begins so.
	 */
	const char *arguments_of;
	uint8_t element; /* which of them its elements are, from 1; 0: what the pointer leads to */
	uint8_t flags;
	uint8_t behind; /* of a node, or of what is counted: where its value begins */
	uint8_t next;	/* of a node: where the pointer to the next one is, or to the left one */
	uint8_t above;	/* of a tree's node: where the one to that above it is */
};

struct shape_table {
	const struct shape_row *rows;
	size_t count;
};
extern const struct shape_table shapes_cpp, shapes_rust;

/* The first row of a name, or the next one behind another; null: there is none. */
const struct shape_row *shape_row_of(const char *name, bool is_library,
				     const struct shape_row *after);

/* Are there values in it whose types only the template's arguments say? */
bool shape_holds_arguments(const struct value_type *type);

#endif
