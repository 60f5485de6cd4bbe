// SPDX-License-Identifier: Apache-2.0
#include "exchange/pprof/writer.h"

#include "exchange/pprof/film.h"
#include "film/events.h"

/* Frames of a stack that are sent; the rest is said to be missing. */
#define DEPTH_MAX 2048

int pprof_write_gathered(const struct gathered *gathered, const struct gathered_part *part,
			 FILE *out)
{
	const struct film *film = gathered->film;
	const struct pprof_header header = {
		.counted = event_of(&film->events[part->event])->noun,
		.name = gathered_event(gathered, part->event),
		.unit = film->events[part->event].unit,
		.period = gathered_period(gathered, part->event),
		.time = gathered->from,
		.duration = gathered->to - gathered->from,
	};
	struct pprof p;

	pprof_start(&p, film, &header, out);
	if (part->group != GATHERED_NO_GROUP)
		pprof_comment(&p, "service: %s", gathered->groups.at[part->group].service);
	pprof_comment(&p, "host: %s", film->info.hostname);
	for (size_t i = 0; i < film->loss_count; i++) {
		const struct film_loss *loss = &film->losses[i];

		if ((loss->event == part->event || !loss->event) && loss->count)
			pprof_comment(&p, "lost on this host: %s %llu", loss->reason,
				      (unsigned long long)loss->count);
	}
	for (size_t i = 0; i < part->count; i++) {
		const struct gathered_sum *sum = &gathered->sums.at[part->first + i];

		pprof_stack(&p, film->stacks, sum->stack, DEPTH_MAX);
		pprof_sample(&p, sum->thread, sum->samples, sum->value);
	}
	return pprof_finish(&p);
}
