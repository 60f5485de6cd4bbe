// SPDX-License-Identifier: Apache-2.0
#include "query/level.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

struct looking {
	const struct film *film;
	uint64_t *last; /* by process */
};

/* The process that stands for all of its number and name; 0: no memory. */
static uint32_t first_of(const struct film *film, struct map *known, uint32_t id)
{
	const struct film_process *process = &film->processes[id];
	uint64_t key = hash_u64(hash_bytes(process->comm, strlen(process->comm)) ^ process->pid);
	uint64_t *first = map_get(known, key);

	if (first)
		return (uint32_t)*first;
	return map_put(known, key, id) ? id : 0;
}

uint32_t *level_processes(const struct film *film)
{
	uint32_t *firsts = calloc(film->process_count + 1ull, sizeof(*firsts));
	struct map known = {0};
	bool done = firsts;

	for (uint32_t i = 1; done && i < film->process_count; i++) {
		firsts[i] = first_of(film, &known, i);
		done = firsts[i];
	}
	map_free(&known);
	if (done)
		return firsts;
	free(firsts);
	return NULL;
}

static bool share(struct looking *l)
{
	uint32_t *firsts = level_processes(l->film);

	if (!firsts)
		return false;
	for (uint32_t i = 1; i < l->film->process_count; i++)
		if (l->last[i] > l->last[firsts[i]])
			l->last[firsts[i]] = l->last[i];
	for (uint32_t i = 1; i < l->film->process_count; i++)
		l->last[i] = l->last[firsts[i]];
	free(firsts);
	return true;
}

static int add_samples(void *context, const struct film_samples *samples)
{
	struct looking *l = context;

	for (size_t i = 0; i < samples->count; i++) {
		uint64_t *last = &l->last[l->film->threads[samples->thread[i]].process];

		if (samples->time[i] > *last)
			*last = samples->time[i];
	}
	return 0;
}

uint64_t *level_last(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		     struct fail *why)
{
	struct looking l = {.film = film};
	int err;

	l.last = calloc(film->process_count + 1ull, sizeof(*l.last));

	if (!l.last) {
		fail_errno(why, -ENOMEM, NULL, "cannot look for the last state");
		return NULL;
	}
	err = film_each_samples(film, event, from, to, add_samples, &l, why);
	if (!err && !share(&l))
		err = fail_errno(why, -ENOMEM, NULL, "cannot look for the last state");
	if (!err)
		return l.last;
	free(l.last);
	return NULL;
}
