/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_BY_ROLES_H
#define QUERY_EXPLAIN_BY_ROLES_H

#include "query/histories.h"
#include "query/roles.h"

/*
 * Marks waits by the roles that the functions on their stacks have (film/roles.h): what a database
 * waits for by an event loop is a lock, what the kernel waits for in FUSE is a daemon's answer. And
 * of the thread of a Java VM that stops all others, finds for which of them it waited.
 * 0 or -ENOMEM.
 */
int explain_by_roles(struct histories *histories, const struct roles *roles);

#endif
