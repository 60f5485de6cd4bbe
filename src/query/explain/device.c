// SPDX-License-Identifier: Apache-2.0
/* What devices ran while threads waited for them. */
#include "query/explain/device.h"

#include <errno.h>
#include <stdlib.h>

struct adding {
	struct explain_workeds *all;
	uint32_t part;
};

static int add_work(void *context, const struct device_work *work)
{
	struct adding *adding = context;

	return vec_push(adding->all, (struct explain_worked){*work, adding->part}) ? 0 : -ENOMEM;
}

int explain_device_add(const struct explainer *e, const struct slice *slice, uint64_t from,
		       uint64_t to, struct explain_workeds *all, uint32_t part)
{
	struct adding adding = {all, part};

	return device_works_of_wait(&e->device_works, slice->thread, from, to, add_work, &adding);
}

/* Those of one part and name lie together. */
static int by_name(const struct explain_worked *a, const struct explain_worked *b)
{
	if (a->part != b->part)
		return a->part < b->part ? -1 : 1;
	if (a->work.device != b->work.device)
		return a->work.device < b->work.device ? -1 : 1;
	if (a->work.stream != b->work.stream)
		return a->work.stream < b->work.stream ? -1 : 1;
	if (a->work.is_copy != b->work.is_copy)
		return a->work.is_copy ? 1 : -1;
	return a->work.name < b->work.name ? -1 : a->work.name > b->work.name;
}

static int by_name_and_start(const void *left, const void *right)
{
	const struct explain_worked *a = left, *b = right;
	int order = by_name(a, b);

	return order ? order : a->work.start < b->work.start ? -1 : a->work.start > b->work.start;
}

static void keep(struct explain_part *part, struct explain_device_work work)
{
	for (size_t i = 0; i < EXPLAIN_NAMED; i++) {
		struct explain_device_work before = part->works[i];

		if (work.ns <= before.ns)
			continue;
		part->works[i] = work;
		work = before;
	}
}

void explain_device_sum(struct explain_workeds *all, struct explanation *x)
{
	size_t i, k;

	if (all->count)
		qsort(all->at, all->count, sizeof(*all->at), by_name_and_start);
	for (i = 0; i < all->count; i = k) {
		const struct device_work *first = &all->at[i].work;
		struct explain_device_work sum = {.name = first->name,
						  .device = first->device,
						  .stream = first->stream,
						  .is_copy = first->is_copy};
		uint64_t until = 0;

		/* a stream may run several at once, as of a graph: each ns counts once */
		for (k = i; k < all->count && !by_name(&all->at[i], &all->at[k]); k++) {
			const struct device_work *work = &all->at[k].work;
			uint64_t start = work->start > until ? work->start : until;

			if (work->end <= start)
				continue;
			sum.ns += work->end - start;
			until = work->end;
		}
		keep(&x->parts.at[all->at[i].part], sum);
	}
}
