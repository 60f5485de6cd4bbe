// SPDX-License-Identifier: Apache-2.0
/* What streams of devices ran: the films have it, the index does not. */
#include "store/ask_private.h"
#include "store/devices.h"

struct adder {
	struct device_lanes *lanes;
	struct store_sum *sum;
	struct fail *why;
};

static int add_film(void *context, const struct ask_film *of)
{
	struct adder *t = context;
	const struct filter *filter = &of->question->filter;
	uint64_t from, to, works = t->lanes->works;
	int err = filter_span(filter, &of->film->info, &from, &to, t->why);

	if (!err)
		err = device_lanes_add(t->lanes, of->film, of->host, filter, from, to, t->why);
	return err ? err : sum_add(t->sum, t->lanes->works - works, 0, t->why);
}

int store_devices(struct store *store, const struct store_ask *ask, struct device_lanes *lanes,
		  struct store_sum *sum, struct fail *why)
{
	struct adder t = {lanes, sum, why};
	struct asked asked = {0};
	int err;

	*sum = (struct store_sum){0};
	err = asked_begin(&asked, store, ask, why);
	lanes->from = asked.from;
	lanes->to = asked.to;
	if (!err)
		err = ask_films(&asked, film_open, sum, add_film, &t, why);
	if (!err)
		device_lanes_end(lanes);
	asked_free(&asked);
	return err;
}
