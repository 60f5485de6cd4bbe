/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_SHOWN_WALK_H
#define QUERY_SHOWN_WALK_H

#include "base/shown.h"

/* The state of a walk over the nodes of a tree; at is the number of the next node. */
struct shown_walk {
	const struct shown_tree *tree;
	size_t at;
};

/* The next node in depth-first order: a child of the last one if it has any. Null: the end. */
const struct shown *shown_next(struct shown_walk *walk);

/* Skips the descendants of a node that shown_next() returned last. */
void shown_pass(struct shown_walk *walk, const struct shown *node);

/*
 * A terminated copy of a node's text, in which zero bytes become U+FFFD. The caller frees it. Null:
 * no text, or no memory.
 */
char *shown_text(const struct shown *node);

#endif
