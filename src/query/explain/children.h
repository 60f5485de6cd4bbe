/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_CHILDREN_H
#define QUERY_EXPLAIN_CHILDREN_H

#include "query/histories.h"

/*
 * Waits for a child that has not ended lead to that child, as those for a lock do to its holder:
 * to the process that the system call names, or, where it takes any, to the only one there is.
 */
void explain_children_mark(struct histories *histories);

#endif
