/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_UPLOADS_H
#define QUERY_EXPLAIN_UPLOADS_H

#include "query/explain/requests.h"
#include "query/histories.h"

/*
 * Marks the waits of a thread for more of the request that it serves (HISTORY_UPLOAD): for data of
 * the connection by which that came, behind its first byte and before the first one of its answer.
 * Then its client sends slowly. Without requests a wait for the rest of one looks like one for the
 * next one, so none is marked; nor is one of a connection with several streams, or of a thread that
 * waits for several connections at once.
 */
void explain_uploads_mark(const struct explain_requests *requests, struct histories *histories);

#endif
