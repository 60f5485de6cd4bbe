// SPDX-License-Identifier: Apache-2.0
#include "query/occupants.h"

#include <errno.h>
#include <stdlib.h>

static int by_start(const void *left, const void *right, void *context)
{
	const struct slice *slices = context;
	uint64_t a = slices[*(const size_t *)left].start, b = slices[*(const size_t *)right].start;

	return a < b ? -1 : a > b;
}

/* Sorts the times on CPUs of all threads by CPU and by time. */
int occupants_make(struct occupants *occupants, const struct histories *histories)
{
	size_t *next;

	if (occupants->ran)
		return 0;
	occupants->histories = histories;

	for (size_t i = 0; i < histories->count; i++)
		if (histories->slices[i].kind == SLICE_ON_CPU &&
		    histories->slices[i].cpu >= occupants->cpus)
			occupants->cpus = histories->slices[i].cpu + 1u;
	occupants->first = calloc(occupants->cpus + 2ull, sizeof(*occupants->first));
	occupants->ran = malloc((histories->count + 1) * sizeof(*occupants->ran));
	next = calloc(occupants->cpus + 1ull, sizeof(*next));
	if (!occupants->first || !occupants->ran || !next) {
		free(next);
		return -ENOMEM;
	}
	for (size_t i = 0; i < histories->count; i++)
		if (histories->slices[i].kind == SLICE_ON_CPU)
			occupants->first[histories->slices[i].cpu + 1]++;
	for (uint32_t i = 0; i < occupants->cpus; i++) {
		occupants->first[i + 1] += occupants->first[i];
		next[i] = occupants->first[i];
	}
	for (size_t i = 0; i < histories->count; i++)
		if (histories->slices[i].kind == SLICE_ON_CPU)
			occupants->ran[next[histories->slices[i].cpu]++] = i;
	free(next);
	for (uint32_t i = 0; i < occupants->cpus; i++)
		if (occupants->first[i + 1] > occupants->first[i])
			qsort_r(occupants->ran + occupants->first[i],
				occupants->first[i + 1] - occupants->first[i],
				sizeof(*occupants->ran), by_start, histories->slices);
	return 0;
}

void occupants_free(struct occupants *occupants)
{
	free(occupants->ran);
	free(occupants->first);
	*occupants = (struct occupants){0};
}

size_t occupants_find(const struct occupants *occupants, uint32_t cpu, uint64_t time)
{
	size_t low = occupants->first[cpu], high = occupants->first[cpu + 1];

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (occupants->histories->slices[occupants->ran[middle]].end <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
