// SPDX-License-Identifier: Apache-2.0
#include "exchange/gather.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "film/events.h"
#include "base/saturated.h"

struct gathering {
	struct gathered *to;
	struct map group_of; /* by a hash of service and container */
	uint32_t *groups;    /* by process */
	struct map sum_of;   /* by thread and stack, of the event at hand: index of a sum */
	uint32_t event;
	bool no_memory;
};

static uint64_t hash_text(uint64_t hash, const char *s)
{
	return hash_u64(hash ^ hash_bytes(s, strlen(s)));
}

static uint32_t find_group(struct gathering *g, const char *service, const char *container)
{
	uint64_t key = hash_text(hash_text(0, service), container), *known;
	struct gathered_group group = {.container = container};

	/* where two share a hash, the next one is another's */
	while ((known = map_get(&g->group_of, key))) {
		const struct gathered_group *there = &g->to->groups.at[*known];

		if (!strcmp(there->service, service) && !strcmp(there->container, container))
			return (uint32_t)*known;
		key++;
	}
	snprintf(group.service, sizeof(group.service), "%s", service);
	if (!vec_push(&g->to->groups, group) ||
	    !map_put(&g->group_of, key, g->to->groups.count - 1))
		g->no_memory = true;
	return g->to->groups.count ? (uint32_t)g->to->groups.count - 1 : 0;
}

static int group_processes(struct gathering *g, bool by_container, service_function *service_of,
			   void *context)
{
	const struct film *film = g->to->film;
	char service[SERVICE_MAX + 1];

	g->groups = calloc(film->process_count + 1ull, sizeof(*g->groups));
	if (!g->groups)
		return -ENOMEM;
	for (uint32_t i = 0; i < film->process_count; i++) {
		const struct film_process *process = &film->processes[i];

		/* threads without a process belong to the one that is none */
		if (i)
			service_of(context, process, service, sizeof(service));
		else
			strcpy(service, "unknown");
		g->groups[i] = find_group(g, service, by_container ? process->container : "");
	}
	if (!film->process_count)
		g->groups[0] = find_group(g, "unknown", "");
	return g->no_memory ? -ENOMEM : 0;
}

static int add_samples(void *context, const struct film_samples *samples)
{
	struct gathering *g = context;

	for (size_t i = 0; i < samples->count; i++) {
		uint32_t thread = samples->thread[i];
		uint64_t key = (uint64_t)thread << 32 | samples->stack[i];
		uint64_t *known = map_get(&g->sum_of, key);
		struct gathered_sum *sum;

		if (!known) {
			uint32_t process = g->to->film->threads[thread].process;
			const struct gathered_sum new = {g->groups[process], g->event, thread,
							 samples->stack[i],  0,	       0};

			if (!vec_push(&g->to->sums, new) ||
			    !map_put(&g->sum_of, key, g->to->sums.count - 1))
				return -ENOMEM;
			sum = vec_last(&g->to->sums);
		} else {
			sum = &g->to->sums.at[*known];
		}
		sum->samples++;
		sum->value = add_saturated(sum->value, samples->value[i]);
	}
	return 0;
}

static int compare_u32(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

static int by_part(const void *a, const void *b)
{
	const struct gathered_sum *x = a, *y = b;
	int order = compare_u32(x->group, y->group);

	order = order ? order : compare_u32(x->event, y->event);
	order = order ? order : compare_u32(x->thread, y->thread);
	return order ? order : compare_u32(x->stack, y->stack);
}

static int find_parts(struct gathered *to)
{
	struct gathered_part *part = NULL;

	if (to->sums.count)
		qsort(to->sums.at, to->sums.count, sizeof(*to->sums.at), by_part);
	for (size_t i = 0; i < to->sums.count; i++) {
		const struct gathered_sum *sum = &to->sums.at[i];

		if (!part || part->group != sum->group || part->event != sum->event) {
			if (!vec_push(&to->parts,
				      (struct gathered_part){sum->group, sum->event, i, 0}))
				return -ENOMEM;
			part = vec_last(&to->parts);
		}
		part->count++;
	}
	return 0;
}

static int add_events(struct gathering *g, struct fail *why)
{
	struct film *film = g->to->film;
	int err = 0;

	for (uint32_t i = 1; !err && i < film->event_count; i++) {
		g->event = i;
		map_free(&g->sum_of);
		g->sum_of = (struct map){0};
		err = film_each_samples(film, i, 0, UINT64_MAX, add_samples, g, why);
	}
	return err;
}

static void set_times(struct gathered *to)
{
	const struct film_info *info = &to->film->info;
	__int128 from = (__int128)info->start + info->wall_offset;
	__int128 end = (__int128)info->end + info->wall_offset;

	to->from = from > 0 && from < INT64_MAX ? (uint64_t)from : 0;
	to->to = end > from && end < INT64_MAX ? (uint64_t)end : to->from;
}

int gather(const char *path, bool by_container, service_function *service_of, void *context,
	   struct gathered *gathered, struct fail *why)
{
	struct gathering g = {.to = gathered};
	int err;

	*gathered = (struct gathered){0};
	err = film_open(path, &gathered->film, why);
	if (err)
		return err;
	set_times(gathered);
	err = group_processes(&g, by_container, service_of, context);
	if (!err)
		err = add_events(&g, why);
	if (!err)
		err = find_parts(gathered);
	if (err == -ENOMEM)
		fail_errno(why, err, NULL, "cannot read the film %s", path);
	free(g.groups);
	map_free(&g.group_of);
	map_free(&g.sum_of);
	return err;
}

void gathered_free(struct gathered *gathered)
{
	film_free(gathered->film);
	vec_free(&gathered->groups);
	vec_free(&gathered->sums);
	vec_free(&gathered->parts);
}

const char *gathered_event(const struct gathered *gathered, uint32_t event)
{
	const struct film_event *e = &gathered->film->events[event];

	return event_type_abroad(e->name, e->unit);
}

uint64_t gathered_period(const struct gathered *gathered, uint32_t event)
{
	const struct film_event *e = &gathered->film->events[event];

	return event_period(e->unit, e->frequency);
}

uint64_t gathered_lost(const struct gathered *gathered, uint32_t event)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < gathered->film->loss_count; i++)
		if (gathered->film->losses[i].event == event)
			lost = add_saturated(lost, gathered->film->losses[i].count);
	return lost;
}

bool gathered_is_silent(const struct gathered *gathered, uint32_t event)
{
	vec_foreach (&gathered->parts, part)
		if (part->event == event)
			return false;
	/* what is of no event is reported with any part */
	return gathered_lost(gathered, event) ||
	       (!gathered->parts.count && gathered_lost(gathered, 0));
}
