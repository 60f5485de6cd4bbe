// SPDX-License-Identifier: Apache-2.0
/* The part of the store without films that answers about requests: hostile names in each place. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fake_store.h"
#include "store/requests.h"
#include "store/services.h"

static const struct request_figures fake_figures = {
	.count = 1, .failed = 1, .total = 5000, .longest = 5000};

int store_requests(struct store *store, const struct store_ask *ask, struct store_requests *answer,
		   struct fail *why)
{
	const struct store_endpoint endpoint = {.endpoint = fake_hostile,
						.protocol = FILM_PROTOCOL_HTTP,
						.role = FILM_REQUEST_SERVED,
						.figures = fake_figures};
	const struct store_request one = {.row = {.duration = 5000,
						  .number = 7,
						  .protocol = FILM_PROTOCOL_HTTP,
						  .role = FILM_REQUEST_SERVED,
						  .status = 500,
						  .flags = FILM_REQUEST_FAILED},
					  .endpoint = fake_hostile,
					  .path = fake_hostile,
					  .name = fake_hostile,
					  .peer = "127.0.0.1:80",
					  .host = "host1",
					  .process = fake_hostile,
					  .comm = fake_hostile,
					  .pid = 10,
					  .tid = 11,
					  .end = 1732199520000004000ull};

	(void)store;
	(void)why;
	answer->sum = (struct store_sum){.samples = 1, .unit = "ns"};
	answer->sum.from = ask->from ? ask->from : 1732199520000000000ull;
	answer->sum.to = answer->sum.from + 10000;
	answer->count = answer->failed = 1;
	answer->step = 10000;
	if (answer->steps)
		answer->map = calloc(answer->steps * REQUEST_ROWS, sizeof(*answer->map));
	if (!vec_push(&answer->endpoints, endpoint) ||
	    (answer->limit && !vec_push(&answer->slowest, one)))
		return -ENOMEM;
	return 0;
}

void store_requests_free(struct store_requests *answer)
{
	vec_free(&answer->endpoints);
	vec_free(&answer->slowest);
	free(answer->map);
}

int store_services(struct store *store, const struct store_ask *ask, struct store_services *answer,
		   struct fail *why)
{
	const struct store_service service = {.host = "host1",
					      .name = fake_hostile,
					      .served = fake_figures,
					      .made = 2,
					      .made_failed = 1};
	const struct store_service_call itself = {.protocol = FILM_PROTOCOL_HTTP,
						  .peer = "127.0.0.1:80",
						  .made = fake_figures,
						  .for_served = 5000};
	struct store_service_call unknown = itself;

	(void)store;
	(void)ask;
	(void)why;
	unknown.to = SERVICE_NONE;
	unknown.is_several = true;
	answer->sum = (struct store_sum){.samples = 1, .unit = "ns"};
	if (!vec_push(&answer->services, service) || !vec_push(&answer->calls, itself) ||
	    !vec_push(&answer->calls, unknown))
		return -ENOMEM;
	return 0;
}

void store_services_free(struct store_services *answer)
{
	vec_free(&answer->services);
	vec_free(&answer->calls);
}
