// SPDX-License-Identifier: Apache-2.0
/* When samples were, to a part of a second: only films know. */
#include "query/view.h"
#include "store/ask_private.h"

struct heater {
	struct store_heat *heat;
	struct fail *why;
};

static int add_film(void *context, const struct ask_film *of)
{
	struct heater *h = context;
	struct heat *map = &h->heat->map;
	uint64_t from, to, samples = map->samples, total = map->total;
	int err = filter_span(&of->question->filter, &of->film->info, &from, &to, h->why);

	if (err || view_is_calls(&of->film->events[of->event]))
		return err;
	err = heat_add(map, of->film, of->event, &of->question->filter, from, to, h->why);
	return err ? err
		   : sum_add(&h->heat->sum, map->samples - samples, map->total - total, h->why);
}

int store_heat(struct store *store, const struct store_ask *ask, struct store_heat *heat,
	       struct fail *why)
{
	struct heater h = {heat, why};
	struct asked asked = {0};
	int err;

	*heat = (struct store_heat){0};
	err = asked_begin(&asked, store, ask, why);
	if (!err)
		err = heat_begin(&heat->map, asked.from, asked.to, why);
	if (!err)
		err = ask_films(&asked, film_open, &heat->sum, add_film, &h, why);
	asked_free(&asked);
	return err;
}

void store_heat_free(struct store_heat *heat)
{
	heat_free(&heat->map);
}
