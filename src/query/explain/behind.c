// SPDX-License-Identifier: Apache-2.0
/* The threads that ran on a CPU while another one was ready to run there. */
#include <errno.h>

#include "query/explain/parts.h"

int explain_behind(struct explainer *e, uint32_t cpu, uint64_t from, uint64_t to,
		   struct explain_besides *besides, uint32_t part)
{
	const struct history_slice *slices = e->histories.slices;
	const struct occupants *ran = &e->occupants;

	if (occupants_make(&e->occupants, &e->histories))
		return -ENOMEM;
	if (cpu >= ran->cpus)
		return 0;
	for (size_t i = occupants_find(ran, cpu, from);
	     i < ran->first[cpu + 1] && slices[ran->ran[i]].start < to; i++) {
		const struct history_slice *slice = &slices[ran->ran[i]];
		uint64_t start = slice->start > from ? slice->start : from;
		uint64_t end = slice->end < to ? slice->end : to;

		if (end > start &&
		    !vec_push(besides, (struct explain_beside){part, slice->thread, end - start}))
			return -ENOMEM;
	}
	return 0;
}
