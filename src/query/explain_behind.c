// SPDX-License-Identifier: Apache-2.0
/* Who ran on a CPU while a thread was ready to run there. */
#include <errno.h>
#include <stdlib.h>

#include "query/explain_parts.h"

static int by_start(const void *left, const void *right, void *context)
{
	const struct history_slice *slices = context;
	uint64_t a = slices[*(const size_t *)left].start, b = slices[*(const size_t *)right].start;

	return a < b ? -1 : a > b;
}

/* Sorts the times on CPUs of all threads by CPU and by time. */
static int make_ran(struct explainer *e)
{
	const struct histories *histories = &e->histories;
	size_t *next = NULL;

	for (size_t i = 0; i < histories->count; i++)
		if (histories->slices[i].kind == SLICE_ON_CPU &&
		    histories->slices[i].cpu >= e->cpus)
			e->cpus = histories->slices[i].cpu + 1u;
	e->ran_first = calloc(e->cpus + 2ull, sizeof(*e->ran_first));
	e->ran = malloc((histories->count + 1) * sizeof(*e->ran));
	next = calloc(e->cpus + 1ull, sizeof(*next));
	if (!e->ran_first || !e->ran || !next) {
		free(next);
		return -ENOMEM;
	}
	for (size_t i = 0; i < histories->count; i++)
		if (histories->slices[i].kind == SLICE_ON_CPU)
			e->ran_first[histories->slices[i].cpu + 1]++;
	for (uint32_t i = 0; i < e->cpus; i++) {
		e->ran_first[i + 1] += e->ran_first[i];
		next[i] = e->ran_first[i];
	}
	for (size_t i = 0; i < histories->count; i++)
		if (histories->slices[i].kind == SLICE_ON_CPU)
			e->ran[next[histories->slices[i].cpu]++] = i;
	free(next);
	for (uint32_t i = 0; i < e->cpus; i++)
		if (e->ran_first[i + 1] > e->ran_first[i])
			qsort_r(e->ran + e->ran_first[i], e->ran_first[i + 1] - e->ran_first[i],
				sizeof(*e->ran), by_start, histories->slices);
	return 0;
}

int explain_behind(struct explainer *e, uint32_t cpu, uint64_t from, uint64_t to,
		   struct explain_besides *besides, uint32_t part)
{
	const struct history_slice *slices = e->histories.slices;
	size_t low, high;

	if (!e->ran && make_ran(e))
		return -ENOMEM;
	if (cpu >= e->cpus)
		return 0;
	low = e->ran_first[cpu];
	high = e->ran_first[cpu + 1];
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (slices[e->ran[middle]].end <= from)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < e->ran_first[cpu + 1] && slices[e->ran[low]].start < to; low++) {
		const struct history_slice *slice = &slices[e->ran[low]];
		uint64_t start = slice->start > from ? slice->start : from;
		uint64_t end = slice->end < to ? slice->end : to;

		if (end <= start)
			continue;
		if (!vec_push(besides, (struct explain_beside){part, slice->thread, end - start}))
			return -ENOMEM;
	}
	return 0;
}
