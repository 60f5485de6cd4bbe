/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_MARKS_H
#define QUERY_EXPLAIN_MARKS_H

#include "query/explain/locks.h"
#include "query/explain/requests.h"
#include "query/explain/stack.h"
#include "query/histories.h"

/*
 * A program that waits with a timeout, and waits again once that is over, waits for one thing: for
 * what ends the last of these waits. Waits of a thread for the same object from the same place,
 * between which it did nothing, become one: those whose time was over get the waker of the last
 * one, its context and its object, and the flag HISTORY_RETRIED. What is known of wakers and of
 * locks must be there before.
 */
void explain_retries_mark(struct histories *histories, struct explain_stacks *stacks);

/*
 * Marks the waits of a thread for more of the request that it serves (HISTORY_UPLOAD): for data of
 * the connection by which that came, behind its first byte and before the first one of its answer.
 * Then its client sends slowly. Without requests a wait for the rest of one looks like one for the
 * next one, so none is marked; nor is one of a connection with several streams, or of a thread that
 * waits for several connections at once.
 */
void explain_uploads_mark(const struct explain_requests *requests, struct histories *histories);

/*
 * Waits for a child that has not ended lead to that child, as those for a lock do to its holder:
 * to the process that the system call names, or, where it takes any, to the only one there is.
 */
void explain_children_mark(struct histories *histories);

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
