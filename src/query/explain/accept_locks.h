/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_ACCEPT_LOCKS_H
#define QUERY_EXPLAIN_ACCEPT_LOCKS_H

#include "query/explain/locks.h"

/*
 * Servers of several processes (Postfix, prefork servers) take turns: the one that has a lock waits
 * for the next connection, the others for that lock. They lack work, and not the lock.
 */

/*
 * Marks waits for such locks, while their holders waited for connections: HISTORY_ACCEPTS. A lock
 * is one if its owner, by the lock itself, did nothing but wait for a connection while another
 * thread waited for that lock. 0 or -ENOMEM.
 */
int explain_accept_locks_mark(const struct explain_locks *locks, struct histories *histories);

#endif
