/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_CALLS_H
#define QUERY_EXPLAIN_CALLS_H

#include "query/explain/explain.h"

/*
 * The requests that were made for an explained one, and an explained one that was itself made:
 * where its path waits for an answer, and the film has the same request as it was served at the
 * other end of the connection, the path goes on in the thread or goroutine that served it, and in
 * what was asked of others for that one.
 *
 * That thread may have worked for others meanwhile: an event loop that had other requests, or tasks
 * that share threads and that the film does not tell apart. Then the path goes on only in what was
 * asked of others for that one; the rest of that time is not explained.
 */

/*
 * Finds the path of a thread over [from, to) as critical_find() does, names the requests that were
 * made for a request which the thread served, or made, and goes on in those that served them. 0 or
 * -ENOMEM; critical_free() is needed in either case.
 */
int explain_calls(struct explainer *e, const struct request *request, uint32_t thread,
		  uint64_t from, uint64_t to, struct critical_path *path);

#endif
