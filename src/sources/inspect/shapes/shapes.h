/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_INSPECT_SHAPES_SHAPES_H
#define SOURCES_INSPECT_SHAPES_SHAPES_H

#include "sources/inspect/decoder.h"
#include "probe/shapes.h"

/*
 * The shapes that types of libraries have (probe/shapes.h): which steps read a value, and how what
 * they have read becomes a value. Both make the same steps, which is how the latter finds what the
 * former has asked for.
 */
struct shape_way {
	/* Null: there is nothing to be read. */
	void (*add)(struct inspect_builder *b, const struct inspect_where *where,
		    const struct value_shape *shape);
	/* Fills the node at a place of the tree, and adds those below it. */
	void (*show)(struct decoder *d, const struct view *view, const struct value_type *type,
		     const struct value_shape *shape, uint64_t at, size_t place);
};

/* Of a shape; null: its members are what it is. */
const struct shape_way *shape_way_of(const struct value_shape *shape);

/* lists.c, held.c, nodes.c, blocks.c, buckets.c */
extern const struct shape_way shape_text, shape_list, shape_bits;
extern const struct shape_way shape_pointer, shape_weak, shape_optional, shape_value, shape_choice,
	shape_tuple, shape_function;
extern const struct shape_way shape_nodes, shape_btree;
extern const struct shape_way shape_blocks, shape_ring;
extern const struct shape_way shape_table;

/* -- what they share (lists.c) ----------------------------------------------------------------- */

/* A pointer, and what it leads to: at most this many bytes of all elements. */
uint64_t shape_most(const struct inspect_limits *limits, uint64_t size);

/* Adds a step, and what the elements that it reads need, each of size bytes, the value at at. */
void shape_add_elements(struct inspect_builder *b, const struct inspect_where *where,
			const struct inspect_step *step, uint64_t size, uint32_t element,
			uint64_t at);

/*
 * Adds elements of an item from one on, each of size bytes with the value at at, as pairs or not.
 * Returns how many.
 */
uint32_t shape_show_elements(struct decoder *d, const struct view *item,
			     const struct value_shape *shape, uint64_t at, uint32_t first,
			     uint32_t count);

/* Makes a node the list of that many elements, of length ones that there are. */
void shape_end_list(struct decoder *d, size_t place, const struct value_shape *shape,
		    uint64_t length, uint32_t shown);

#endif
