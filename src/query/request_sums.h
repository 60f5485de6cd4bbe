/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_REQUEST_SUMS_H
#define QUERY_REQUEST_SUMS_H

#include "base/map.h"
#include "base/vec.h"
#include "query/connections.h"
#include "query/question.h"
#include "query/reasons.h"
#include "query/request_figures.h"
#include "query/requests.h"

/* Requests of a film that are alike, summed up. */
struct request_sum {
	struct request example; /* the first of them */
	uint32_t process;	/* that served or made them; 0: of several */
	struct request_figures all;
	/* of those made of a peer: the process that served them; 0: not known, or several */
	uint32_t server;
	/* and any process of the one program that did: those that it consists of have one name */
	uint32_t server_program;
	uint64_t received, sent;
	/*
	 * of those that a program made of a peer: the time of those that are known to be for a
	 * request that it served, and of all that it served; 0: not known
	 */
	uint64_t for_served, served;
	struct connection_sample connections;
};

struct request_sums {
	struct film *film;
	uint64_t from, to;		   /* of the film's time */
	vec(struct request_sum) endpoints; /* by program, role, protocol and endpoint */
	vec(struct request_sum) peers;	   /* of those made: by program, peer and protocol */
	vec(struct request) slowest;	   /* the slowest first; of sums, those of most time */
	uint64_t count, failed, open;
	struct view_reasons losses;
};

/*
 * Sums up the requests of the threads and the time that a question asks for, and keeps the slowest,
 * at most that many. 0 or a negative errno with *why filled; request_sums_free() is needed in
 * either case.
 */
int request_sums_make(struct film *film, const struct filter *filter, size_t slowest,
		      struct request_sums *sums, struct fail *why);
void request_sums_free(struct request_sums *sums);

/* The name of the processes that served or made the requests of a sum. */
const char *request_sum_program(const struct request_sums *sums, const struct request_sum *sum);

/*
 * Which share of the requests that a program served, of their time, those that it made of a peer
 * for them were open, in hundredths; those open at once count each, so that it may be over 100. -1:
 * not known.
 */
double request_sum_share(const struct request_sum *sum);

#endif
