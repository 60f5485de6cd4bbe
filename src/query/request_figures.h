/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_REQUEST_FIGURES_H
#define QUERY_REQUEST_FIGURES_H

#include "query/latency.h"
#include "query/requests.h"

/* How many requests of a kind there were, and how long they took. All zero is empty. */
struct request_figures {
	uint64_t count, failed, open; /* open: not answered to the end */
	uint64_t total, longest;      /* ns; a sum that does not fit stays at its most */
	struct latency times;	      /* of those that were answered to the end */
};

/* Returns false without memory. */
bool request_figures_add(struct request_figures *figures, const struct request *request);

/* As latency_quantile(), and at most the longest. */
uint64_t request_figures_quantile(const struct request_figures *figures, unsigned int of_thousand);

void request_figures_free(struct request_figures *figures);

#endif
