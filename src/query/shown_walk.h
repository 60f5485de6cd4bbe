/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_SHOWN_WALK_H
#define QUERY_SHOWN_WALK_H

#include "base/shown.h"

/* A node and all below it; its number in the tree goes on to the next one beside it. */
struct shown_walk {
	const struct shown_tree *tree;
	size_t at;
};

/* The next node of the tree, a child of the last one if that has any. Null: there are no more. */
const struct shown *shown_next(struct shown_walk *walk);

/* Goes behind a node, which shown_next() has just returned, and all below it. */
void shown_pass(struct shown_walk *walk, const struct shown *node);

/* A copy that ends with a zero byte; zero bytes within become U+FFFD. To be freed; null: none. */
char *shown_text(const struct shown *node);

#endif
