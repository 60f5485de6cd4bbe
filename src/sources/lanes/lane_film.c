// SPDX-License-Identifier: Apache-2.0
#include "sources/lanes/lane_film.h"

#include <errno.h>

#include "base/clock.h"

static uint32_t lane_row(void *context, pid_t pid, uint64_t number, uint64_t start,
			 const char *told)
{
	const struct lane_film *film = context;
	char name[LANE_NAME_MAX];

	film->name(film->source, number, told, name);
	return samples_lane(film->source->host->samples, pid, number, start, name);
}

static uint32_t thread_row(void *context, pid_t pid, pid_t tid)
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

static void write_turn(void *context, const struct film_turn *turn)
{
	const struct lane_film *film = context;

	if (turn->thread)
		film_turn(film->source->host->film, film->event, turn);
}

int lane_film_new(struct lane_film *film, const struct source *source, lane_name *name,
		  bool by_threads)
{
	const struct lane_lives_to to = {lane_row, thread_row, write_turn, film, by_threads};

	film->source = source;
	film->name = name;
	film->lives = lane_lives_new(&to);
	return film->lives ? 0 : -ENOMEM;
}

void lane_film_turn(struct lane_film *film, uint32_t event)
{
	/* film events are numbered from 1 */
	if (!film->event)
		lane_lives_begin(film->lives, clock_ns());
	film->event = event;
	map_free(&film->threads);
	lane_lives_turn(film->lives);
}

void lane_film_free(struct lane_film *film)
{
	lane_lives_free(film->lives);
	map_free(&film->threads);
}
