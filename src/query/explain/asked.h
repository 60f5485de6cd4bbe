/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_ASKED_H
#define QUERY_EXPLAIN_ASKED_H

#include "query/explain/critical.h"
#include "query/explain/requests.h"
#include "query/histories.h"

/*
 * Threads that wait for one connection by poll(), as clients with a limit of time do: to the kernel
 * that looks like a wait for new work. The requests of the film say that the thread had some.
 */

/* Marks polls in which threads did not wait for new work, as they had some: HISTORY_ASKED. */
void explain_asked_mark(const struct explain_requests *requests, struct histories *histories);

/*
 * The one request of a thread that had been sent and not answered all over [from, to); null: there
 * is none, or it is not known which one of several.
 */
const struct explain_made *explain_asked_in(const struct explain_requests *requests,
					    uint32_t thread, uint64_t from, uint64_t to);

/*
 * A thread asks for something and sleeps, and another one watches its connection, as a poller of
 * idle connections does, and wakes it once the answer comes: what the watcher did up to then is not
 * the cause, but the answer is what both waited for. That request, of a step of a path in which a
 * watcher waited for such an event, or in which it did something else before; null: it is none.
 */
const struct explain_made *explain_asked_by_waiter(const struct explain_requests *requests,
						   const struct histories *histories,
						   const struct film *film,
						   const struct critical_path *path, size_t place);

#endif
