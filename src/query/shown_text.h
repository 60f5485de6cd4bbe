/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_SHOWN_TEXT_H
#define QUERY_SHOWN_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/shown.h"

/*
 * Values as text that fits a line. What comes from a film is made harmless here.
 */

/*
 * Prints all values of a tree: "a=1, b="x"". Values of which a line would be too long are shown
 * less deep: "{…}". Returns whether any is.
 */
bool shown_print_list(FILE *out, const struct shown_tree *tree);

/* Prints the value at node number `at` of the tree, however long it is. */
void shown_print_value(FILE *out, const struct shown_tree *tree, size_t at);

/* The number of the node that follows node `at` and all below it. */
size_t shown_behind(const struct shown_tree *tree, size_t at);

#endif
