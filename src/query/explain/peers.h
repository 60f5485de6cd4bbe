/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_PEERS_H
#define QUERY_EXPLAIN_PEERS_H

#include "query/explain/explain.h"

/*
 * Finds the wakers of waits for connections between two processes of this machine. Their data comes
 * by a soft interrupt, which does not say from where; but it comes while its sender runs. So where
 * one thread alone ran then that is of the process with the other end of the connection, that one
 * is the waker. 0 or a negative errno with *why filled.
 */
int explain_peers(struct explainer *e, struct fail *why);

#endif
