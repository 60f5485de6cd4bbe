/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_REQUEST_FIGURES_H
#define QUERY_REQUEST_FIGURES_H

#include "query/latency.h"
#include "query/requests.h"

/* The number and the durations of requests. All zero is empty. */
struct request_figures {
	uint64_t count, failed, open; /* open: not answered completely */
	uint64_t total, longest;      /* ns; a sum saturates */
	struct latency times;	      /* of completely answered requests */
};

/* Adds a request. False: no memory. */
bool request_figures_add(struct request_figures *figures, const struct request *request);

/* As latency_quantile(), but at most longest. */
uint64_t request_figures_quantile(const struct request_figures *figures, unsigned int of_thousand);

void request_figures_free(struct request_figures *figures);

#endif
