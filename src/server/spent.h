/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_SPENT_H
#define SERVER_SPENT_H

#include "server/internal.h"

/*
 * Answers that were sent, or that no client takes. The memory of an answer belongs to the worker
 * that made it: a thread that frees it waits for a worker that is in the middle of malloc() and
 * does not get the CPU. So a thread of its own frees them, and the thread of the connections never
 * waits.
 */
int spent_start(struct server *server, struct fail *why);

/* The call's answer is over, and no longer counts once it is freed. By a thread of connections. */
void spent_leave(struct call *call);

/*
 * libmicrohttpd may be done with an answer only after it has told that it is: it goes with the next
 * thing that happens, which is reported here. By a thread of connections.
 */
void spent_go_on(struct server *server);

/*
 * Ends the thread: from then on answers are freed where they are left. Before it was started, too.
 */
void spent_stop(struct server *server);
void spent_free(struct server *server); /* all daemons have ended */

#endif
