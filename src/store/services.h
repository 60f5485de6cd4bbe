/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_SERVICES_H
#define STORE_SERVICES_H

#include "base/map.h"
#include "base/vec.h"
#include "query/connections.h"
#include "query/names.h"
#include "query/request_sums.h"
#include "store/ask.h"

/* Which services asked which others, by the requests that they made and served. */
enum {
	SERVICES_MAX = 2000,
	SERVICE_CALLS_MAX = 10000,
	SERVICE_NONE = UINT32_MAX,
};

struct store_service {
	const char *host, *name;
	struct request_figures served;
	uint64_t made, made_failed;
};

/* What a service asked of one address by one protocol. */
struct store_service_call {
	uint32_t from, to; /* services; to: SERVICE_NONE where it is not known */
	bool is_several;   /* there were several services at that address */
	uint8_t protocol;
	const char *peer; /* "10.0.0.7:5432", "unix socket /run/x.sock" */
	struct request_figures made;
	uint64_t for_served; /* of made.total, ns: for requests that the service served */
	struct connection_sample connections;
};

struct store_services {
	struct store_sum sum;
	vec(struct store_service) services;
	vec(struct store_service_call) calls; /* most time first */
	bool is_cut;			      /* there was no room for all */

	struct map known_services, known_calls;
	struct connections connections;
	struct name_pool names;
};

/*
 * The services of an ask, answered by films. *answer is all zero before. To be freed with
 * store_services_free(), also after a failure. Returns 0 or a negative errno with *why filled.
 */
int store_services(struct store *store, const struct store_ask *ask, struct store_services *answer,
		   struct fail *why);
void store_services_free(struct store_services *answer);

#endif
