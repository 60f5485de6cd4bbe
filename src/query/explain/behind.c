// SPDX-License-Identifier: Apache-2.0
/* What ran while a thread, or a goroutine, was ready to run there. */
#include <errno.h>

#include "query/explain/parts.h"

int explain_behind(struct explainer *e, uint32_t cpu, uint64_t from, uint64_t to,
		   struct explain_besides *besides, uint32_t part)
{
	const struct slice *slices = e->histories.slices;
	const struct occupants *ran = &e->occupants;

	if (occupants_make(&e->occupants, &e->histories))
		return -ENOMEM;
	if (cpu >= ran->cpus)
		return 0;
	for (size_t i = occupants_find(ran, cpu, from);
	     i < ran->first[cpu + 1] && slices[ran->ran[i]].start < to; i++) {
		const struct slice *slice = &slices[ran->ran[i]];
		uint64_t start = slice->start > from ? slice->start : from;
		uint64_t end = slice->end < to ? slice->end : to;

		if (end > start &&
		    !vec_push(besides, (struct explain_beside){part, slice->thread, end - start}))
			return -ENOMEM;
	}
	return 0;
}

/* Of what is ready for less, it is not worth to look at all goroutines. */
#define LONG_NS 100000ull

int explain_behind_lane(struct explainer *e, uint32_t lane, uint64_t from, uint64_t to,
			struct explain_besides *besides, uint32_t part)
{
	const struct histories *h = &e->histories;
	const struct film_thread *threads = e->film->threads;

	for (uint32_t id = 1; to - from >= LONG_NS && id < e->film->thread_count; id++) {
		size_t i;

		if (id == lane || !histories_is_lane(h, id) ||
		    threads[id].process != threads[lane].process)
			continue;
		i = histories_find(h, id, from);
		for (i = i == HISTORY_NONE ? h->first[id] : i;
		     i < h->first[id + 1] && h->slices[i].start < to; i++) {
			const struct slice *slice = &h->slices[i];
			uint64_t start = slice->start > from ? slice->start : from;
			uint64_t end = slice->end < to ? slice->end : to;

			if (slice->kind == SLICE_RUNNING && end > start &&
			    !vec_push(besides, (struct explain_beside){part, id, end - start}))
				return -ENOMEM;
		}
	}
	return 0;
}
