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

/*
 * A hash of the two ends of a connection, the same of a request of its process and of the object
 * that a wait has for the socket. 0: it is none of TCP.
 */
uint64_t explain_ends_of(const struct request *request);
uint64_t explain_ends_of_object(const char *object);

/*
 * Whether the process that has this object seems to have opened that connection itself, so that
 * data there may be an answer to it. A guess by the ports: that of its own end is one of those that
 * Linux gives to clients, the other one is not (net.ipv4.ip_local_port_range, as it is by default).
 */
bool explain_seems_opened(const char *object);

#endif
