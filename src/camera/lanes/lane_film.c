// SPDX-License-Identifier: Apache-2.0
#include "camera/lanes/lane_film.h"

void lane_film_turn(struct lane_film *film, uint32_t event)
{
	film->event = event;
	map_free(&film->threads);
}

void lane_film_free(struct lane_film *film)
{
	map_free(&film->threads);
}

uint32_t lane_film_thread(void *context, pid_t pid, pid_t tid)
{
	struct lane_film *film = context;
	struct samples *samples = film->source->host->samples;
	uint64_t key = (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;
	const uint64_t *known = map_get(&film->threads, key);
	char comm[16] = "";
	uint32_t row;

	if (known)
		return (uint32_t)*known;
	samples_has_thread(samples, pid, tid, 0, comm);
	row = samples_other_thread(samples, pid, tid, 0, comm);
	/* without memory it is looked up again each time */
	(void)!map_put(&film->threads, key, row);
	return row;
}

void lane_film_write(void *context, const struct film_turn *turn)
{
	const struct lane_film *film = context;

	if (turn->thread)
		film_turn(film->source->host->film, film->event, turn);
}
