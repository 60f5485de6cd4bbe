/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_INSPECT_DECODER_H
#define SOURCES_INSPECT_DECODER_H

/* What the files that make values of a record share (decode.h). */

#include "sources/inspect/decode.h"

#define INSPECT_ITEMS_MAX 512

struct decoder {
	const struct inspect_contents *taken;
	struct shown_tree *tree;
	struct {
		struct inspect_item head;
		const uint8_t *bytes;
	} items[INSPECT_ITEMS_MAX];
	size_t count;
};

/* A value's place: index is that of the element, if the holder is an array of them. */
struct view {
	struct inspect_holder holder;
	uint32_t index;
	int item; /* + 1: that one of the step's items, and not the first; 0: that one */
	int nested;
};

/* -- items.c: what the steps have read, and the tree that they become ------------------ */

/* Finds the items of a record. False, with the tree failed: it is too short. */
bool inspect_open(struct decoder *d, const struct inspect_contents *taken, struct shown_tree *tree);
enum shown_status inspect_item_status(const struct inspect_item *item);

/* The item that a step like this one has read for the view's element. Null: none has. */
const struct inspect_item *inspect_item_of(const struct decoder *d, const struct view *view,
					   const struct inspect_step *step, struct view *inner,
					   const uint8_t **bytes);

/* The item that a step has read (for an element); -1: there is none. */
int inspect_item_number(const struct decoder *d, int step, uint32_t index);

/* The same, with the status of what it has read, or why it has read nothing. */
const struct inspect_item *inspect_follow(struct decoder *d, const struct view *view,
					  const struct inspect_step *step, struct view *inner,
					  const uint8_t **bytes, enum shown_status *status);

/* Copies the bytes of a value, which lie at an offset from the view's. */
enum shown_status inspect_read(const struct decoder *d, const struct view *view, uint64_t at,
			       void *to, size_t size);

/* The bytes of a value, where they lie in the record; null: it was not read from memory. */
const uint8_t *inspect_bytes(const struct decoder *d, const struct view *view, uint64_t at,
			     size_t size);

/* A new node; its place in the tree, or SIZE_MAX: there is no room. */
size_t inspect_add_node(struct decoder *d, const char *name, const struct value_type *type);

/* The same, of one that could not be had. */
void inspect_add_status(struct decoder *d, const char *name, const struct value_type *type,
			enum shown_status status);

static inline struct shown *node_at(struct decoder *d, size_t at)
{
	return &d->tree->nodes.at[at];
}

/* -- scalars.c ------------------------------------------------------------------------- */

/* A number of that many bytes, as one of 8. */
uint64_t inspect_extend(uint64_t value, uint64_t size, bool is_signed);

void inspect_show_scalar(struct decoder *d, const struct view *view, const struct value_type *type,
			 uint64_t at, struct shown *node);
void inspect_show_bits(struct decoder *d, const struct view *view, const struct value_type *type,
		       const struct value_member *m, uint64_t at);

/* -- decode.c -------------------------------------------------------------------------- */

/* Adds a value and all that belongs to it. */
void inspect_show_value(struct decoder *d, const struct view *view, uint32_t number, uint64_t at,
			const char *name);

/* A pointer at a place: what it leads to, behind some bytes, stands for it if that was read. */
void inspect_show_pointer(struct decoder *d, const struct view *view,
			  const struct value_type *pointer, uint32_t target, uint32_t behind,
			  uint64_t at, size_t place);

/* A value, at a place of the tree, of which it is not sure that it has been stored. */
void inspect_mark_old(struct decoder *d, size_t place);

/* Why a parameter's bytes were not read. */
enum shown_status inspect_place_status(const struct inspect_contents *taken,
				       const struct value_param *param);

/* Rust: has it members that are only numbered? */
bool inspect_is_tuple(const struct values *values, const struct value_type *type);

/* -- of one language, into the node at a place of the tree ------------------------------------- */

void inspect_show_interface(struct decoder *d, const struct view *view,
			    const struct value_type *type, uint64_t at, size_t place);
void inspect_show_channel(struct decoder *d, const struct view *view, const struct value_type *type,
			  uint64_t at, size_t place);
void inspect_show_map(struct decoder *d, const struct view *view, const struct value_type *type,
		      uint64_t at, size_t place);
/* A text of such a shape; null: one that ends with a zero byte. */
void inspect_show_text(struct decoder *d, const struct view *view, const struct value_shape *shape,
		       uint64_t at, size_t place);
void inspect_show_variant(struct decoder *d, const struct view *view, const struct value_type *type,
			  uint64_t at, size_t place);

#endif
