/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_RELABEL_H
#define QUERY_RELABEL_H

#include "query/functions.h"
#include "query/tree.h"

/*
 * Merges what has become equal after labels of a tree got other names: siblings become one node,
 * and functions one row. Call it before tree_total(). functions: made of these labels, or empty; a
 * function's total is then the sum of the rows, which counts a recursion among them twice. Labels
 * and nodes can no longer be added. Returns 0 or -ENOMEM.
 */
int tree_relabel(struct tree *tree, struct functions *functions);

#endif
