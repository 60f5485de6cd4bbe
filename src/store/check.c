// SPDX-License-Identifier: Apache-2.0
/* Reads all of a film, to know whether it is damaged. */
#include "film/reader.h"
#include "store/room.h"

static int pass_samples(void *context, const struct film_samples *samples)
{
	(void)context;
	(void)samples;
	return 0;
}

static int pass_calls(void *context, const struct film_calls *calls)
{
	(void)context;
	(void)calls;
	return 0;
}

static int pass_probe(void *context, const struct film_probe *probe)
{
	(void)context;
	(void)probe;
	return 0;
}

static int pass_sum(void *context, const struct film_sum *sum)
{
	(void)context;
	(void)sum;
	return 0;
}

int store_check_film(const char *path, struct fail *why)
{
	struct film *film;
	int err = film_open(path, &film, why);

	if (err)
		return err;
	for (uint32_t event = 1; !err && event < film->event_count; event++) {
		err = film_each_samples(film, event, 0, UINT64_MAX, pass_samples, NULL, why);
		if (!err)
			err = film_each_calls(film, event, 0, UINT64_MAX, false, pass_calls, NULL,
					      why);
		if (!err)
			err = film_each_probe(film, event, pass_probe, NULL, why);
		if (!err)
			err = film_each_sum(film, event, 0, UINT64_MAX, pass_sum, NULL, why);
	}
	film_free(film);
	return err;
}
