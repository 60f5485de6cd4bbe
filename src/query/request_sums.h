/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_REQUEST_SUMS_H
#define QUERY_REQUEST_SUMS_H

#include "base/map.h"
#include "base/vec.h"
#include "query/connections.h"
#include "query/latency.h"
#include "query/question.h"
#include "query/reasons.h"
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

/* The sum of similar requests of a film. */
struct request_sum {
	struct request example; /* the first of them */
	uint32_t process;	/* that served or made them; 0: several */
	struct request_figures all;
	/* for requests made to a peer: the process that served them; 0: not known, or several */
	uint32_t server;
	/*
	 * for requests made to a peer: any process of the program (processes with one name) that
	 * served them
	 */
	uint32_t server_program;
	uint64_t received, sent;
	/*
	 * for requests made to a peer: the time of those that were made for a served request, and
	 * of all requests that the program served; 0: not known
	 */
	uint64_t for_served, served;
	struct connection_sample connections;
};

struct request_sums {
	struct film *film;
	uint64_t from, to;		   /* by the film's clock */
	vec(struct request_sum) endpoints; /* by program, role, protocol and endpoint */
	vec(struct request_sum) peers;	   /* requests made, by program, peer and protocol */
	/* requests, slowest first; the sums above: largest time first */
	vec(struct request) slowest;
	uint64_t count, failed, open;
	struct view_reasons losses;
};

/*
 * Sums up the requests of the threads and the time that a filter selects, and keeps at most
 * `slowest` of the slowest. Returns 0 or a negative errno with *why filled; call
 * request_sums_free() in both cases.
 */
int request_sums_make(struct film *film, const struct filter *filter, size_t slowest,
		      struct request_sums *sums, struct fail *why);
void request_sums_free(struct request_sums *sums);

/* The name of the program that served or made the requests of a sum. */
const char *request_sum_program(const struct request_sums *sums, const struct request_sum *sum);

/*
 * The share of the time of a program's served requests, in percent, during which requests to a peer
 * on their behalf were open. Requests that are open at once count separately, so it may exceed 100.
 * -1: not known.
 */
double request_sum_share(const struct request_sum *sum);

#endif
