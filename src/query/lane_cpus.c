// SPDX-License-Identifier: Apache-2.0
#include "query/lane_cpus.h"

#include <assert.h>

#include "query/lanes.h"

/* A CPU, a pixel and a thread in one number. */
static_assert(LANES_MAX <= 1 << 20 && LANE_CPUS_PIXELS_MAX < 1 << 20, "keys have room for both");

static uint64_t pixel_of(const struct lane_cpus *cpus, uint64_t time)
{
	uint64_t pixel = time > cpus->from ? (time - cpus->from) / cpus->pixel : 0;

	return pixel < LANE_CPUS_PIXELS_MAX ? pixel : LANE_CPUS_PIXELS_MAX;
}

static bool has_room(struct lane_cpus *cpus)
{
	bool has = cpus->runs.count + cpus->shares.count < LANE_CPUS_RUNS_MAX;

	cpus->is_cut |= !has;
	return has;
}

static void add_to(struct cpu_run *share, const struct cpu_run *stay)
{
	share->start = stay->start < share->start ? stay->start : share->start;
	share->end = stay->end > share->end ? stay->end : share->end;
	share->dominant += stay->dominant;
	share->count++;
}

bool lane_cpus_add(struct lane_cpus *cpus, uint32_t cpu, uint32_t thread, uint64_t start,
		   uint64_t end)
{
	const struct cpu_run stay = {start, end, end - start, cpu, thread, 1};
	uint64_t key = (uint64_t)cpu << 40 | pixel_of(cpus, start) << 20 | thread, *known;

	if (end - start >= cpus->pixel)
		return !has_room(cpus) || vec_push(&cpus->runs, stay);
	known = map_get(&cpus->known, key);
	if (known) {
		add_to(&cpus->shares.at[*known], &stay);
		return true;
	}
	return !has_room(cpus) ||
	       (map_put(&cpus->known, key, cpus->shares.count) && vec_push(&cpus->shares, stay));
}

static int by_time(const void *a, const void *b)
{
	const struct cpu_run *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* All shares of a pixel become one run. */
static bool end_shares(struct lane_cpus *cpus)
{
	size_t first = cpus->runs.count;

	for (size_t i = 0; i < cpus->shares.count; i++) {
		const struct cpu_run *share = &cpus->shares.at[i];
		struct cpu_run *run = cpus->runs.count > first ? vec_last(&cpus->runs) : NULL;

		if (!run || run->cpu != share->cpu ||
		    pixel_of(cpus, run->start) != pixel_of(cpus, share->start)) {
			if (!vec_push(&cpus->runs, *share))
				return false;
			continue;
		}
		run->end = share->end > run->end ? share->end : run->end;
		run->count += share->count;
		if (share->dominant > run->dominant) {
			run->dominant = share->dominant;
			run->thread = share->thread;
		}
	}
	return true;
}

bool lane_cpus_end(struct lane_cpus *cpus)
{
	bool is_done;

	if (cpus->shares.count)
		qsort(cpus->shares.at, cpus->shares.count, sizeof(*cpus->shares.at), by_time);
	is_done = end_shares(cpus);
	vec_free(&cpus->shares);
	map_free(&cpus->known);
	if (cpus->runs.count)
		qsort(cpus->runs.at, cpus->runs.count, sizeof(*cpus->runs.at), by_time);
	return is_done;
}

void lane_cpus_free(struct lane_cpus *cpus)
{
	vec_free(&cpus->runs);
	vec_free(&cpus->shares);
	map_free(&cpus->known);
}
