// SPDX-License-Identifier: Apache-2.0
/* The part of the store without films that answers about requests: one, with hostile names. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fake_store.h"
#include "store/requests.h"

int store_requests(struct store *store, const struct store_ask *ask, struct store_requests *answer,
		   struct fail *why)
{
	const struct store_endpoint endpoint = {.endpoint = fake_hostile,
						.protocol = FILM_PROTOCOL_HTTP,
						.role = FILM_REQUEST_SERVED,
						.count = 1,
						.failed = 1,
						.total = 5000,
						.longest = 5000};
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
