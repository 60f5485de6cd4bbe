/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_SHOWN_TEXT_H
#define QUERY_SHOWN_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/shown.h"

/* Formats values as text that fits a line, and escapes what comes from a film. */

/*
 * Prints all values of a tree: "a=1, b="x"". Values that would make the line too long are
 * abbreviated: "{…}". Returns whether any value was.
 */
bool shown_print_list(FILE *out, const struct shown_tree *tree);

/* Prints the value at node number `at` of the tree in full. */
void shown_print_value(FILE *out, const struct shown_tree *tree, size_t at);

/* The number of the node after node `at` and its descendants. */
size_t shown_behind(const struct shown_tree *tree, size_t at);

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
