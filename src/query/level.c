// SPDX-License-Identifier: Apache-2.0
#include "query/level.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

struct looking {
	const struct film *film;
	uint64_t *last;	  /* by process */
	struct map first; /* by number and name, the first process that has them */
};

/* The process that stands for all of its number and name; 0: no memory. */
static uint32_t first_of(struct looking *l, uint32_t id)
{
	const struct film_process *process = &l->film->processes[id];
	uint64_t key = hash_u64(hash_bytes(process->comm, strlen(process->comm)) ^ process->pid);
	uint64_t *known = map_get(&l->first, key);

	if (known)
		return (uint32_t)*known;
	return map_put(&l->first, key, id) ? id : 0;
}

static bool share(struct looking *l)
{
	for (uint32_t i = 1; i < l->film->process_count; i++) {
		uint32_t first = first_of(l, i);

		if (!first)
			return false;
		if (l->last[i] > l->last[first])
			l->last[first] = l->last[i];
	}
	for (uint32_t i = 1; i < l->film->process_count; i++)
		l->last[i] = l->last[first_of(l, i)];
	return true;
}

static int take_samples(void *context, const struct film_samples *samples)
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
	err = film_each_samples(film, event, from, to, take_samples, &l, why);
	if (!err && !share(&l))
		err = fail_errno(why, -ENOMEM, NULL, "cannot look for the last state");
	map_free(&l.first);
	if (!err)
		return l.last;
	free(l.last);
	return NULL;
}
