// SPDX-License-Identifier: Apache-2.0
#include "sources/sched/off_cpu_open.h"

void open_waits_put(struct open_waits *open, uint32_t tid, const struct open_wait *wait)
{
	const uint64_t *known = map_get(&open->places, tid);

	if (known)
		open->all.at[*known] = *wait;
	else if (vec_push(&open->all, *wait) && !map_put(&open->places, tid, open->all.count - 1))
		open->all.count--;
}

const struct open_wait *open_waits_get(const struct open_waits *open, uint32_t tid, uint64_t start)
{
	const uint64_t *known = map_get(&open->places, tid);

	return known && open->all.at[*known].start == start ? &open->all.at[*known] : NULL;
}

void open_waits_forget(struct open_waits *open)
{
	map_free(&open->places);
	vec_free(&open->all);
}
