// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "query/level.h"

/* What a process held at a moment. */
struct state {
	uint64_t time, value;
	uint32_t process; /* the first one of its number and name */
};

struct peaks {
	const struct film *film;
	const struct filter_kept *kept;
	const uint32_t *firsts;
	vec(struct state) states;
	struct map places; /* process and time to its place in states */
	size_t last;	   /* the place that was used last */
	int err;
};

static struct state *state_of(struct peaks *p, uint32_t process, uint64_t time)
{
	const uint64_t what[] = {process, time};
	uint64_t key, *known;

	if (p->states.count && p->states.at[p->last].process == process &&
	    p->states.at[p->last].time == time)
		return &p->states.at[p->last];
	key = hash_bytes(what, sizeof(what));
	known = map_get(&p->places, key);
	if (known) {
		p->last = *known;
		return &p->states.at[p->last];
	}
	if (!vec_push(&p->states, (struct state){.time = time, .process = process}) ||
	    !map_put(&p->places, key, p->states.count - 1))
		return NULL;
	p->last = p->states.count - 1;
	return vec_last(&p->states);
}

static int add_samples(void *context, const struct film_samples *samples)
{
	struct peaks *p = context;

	for (size_t i = 0; i < samples->count; i++) {
		uint32_t thread = samples->thread[i];
		struct state *state =
			state_of(p, p->firsts[p->film->threads[thread].process], samples->time[i]);

		if (!state)
			return p->err = -ENOMEM;
		if (p->kept->threads[thread] && p->kept->stacks[samples->stack[i]] &&
		    __builtin_add_overflow(state->value, samples->value[i], &state->value))
			return p->err = -EOVERFLOW;
	}
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct state *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/* Goes through all states: of each process counts the last one. */
static struct level_peak highest(struct peaks *p, uint64_t *held)
{
	struct level_peak peak = {0};
	uint64_t sum = 0;

	if (p->states.count)
		qsort(p->states.at, p->states.count, sizeof(*p->states.at), by_time);
	for (size_t i = 0; i < p->states.count; i++) {
		const struct state *state = &p->states.at[i];

		sum -= held[state->process];
		held[state->process] = state->value;
		if (__builtin_add_overflow(sum, state->value, &sum))
			return (struct level_peak){0};
		if ((i + 1 == p->states.count || state[1].time != state->time) && sum > peak.value)
			peak = (struct level_peak){sum, state->time};
	}
	return peak;
}

int level_peak(struct film *film, uint32_t event, uint64_t from, uint64_t to,
	       const struct filter_kept *kept, struct level_peak *peak, struct fail *why)
{
	uint32_t *firsts = level_processes(film);
	uint64_t *held = calloc(film->process_count + 1ull, sizeof(*held));
	struct peaks p = {.film = film, .kept = kept, .firsts = firsts};
	int err = -ENOMEM;

	*peak = (struct level_peak){0};
	if (firsts && held)
		err = film_each_samples(film, event, from, to, add_samples, &p, why);
	if (!err && !p.err)
		*peak = highest(&p, held);
	free(firsts);
	free(held);
	vec_free(&p.states);
	map_free(&p.places);
	/* without one where the bytes add up to more than 64 bits */
	err = p.err == -ENOMEM ? p.err : err;
	return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot look for the highest state")
			      : err;
}
