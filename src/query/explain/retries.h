/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_RETRIES_H
#define QUERY_EXPLAIN_RETRIES_H

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

#endif
