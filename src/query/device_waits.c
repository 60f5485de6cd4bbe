// SPDX-License-Identifier: Apache-2.0
#include "query/device_waits.h"

#include <errno.h>
#include <stdlib.h>

#include "base/saturated.h"
#include "base/search.h"
#include "film/events.h"

struct loading {
	struct device_waits *waits;
	const struct film *film;
};

/* While they are read, ns is the longest part, and start the length of the wait. */
static int add_samples(void *context, const struct film_samples *samples)
{
	struct loading *loading = context;
	struct device_waits *waits = loading->waits;

	for (size_t i = 0; i < samples->count; i++) {
		const struct film_stack *stack = &loading->film->stacks[samples->stack[i]];
		struct device_wait new = {
			.end = samples->time[i],
			.start = samples->value[i],
			.ns = samples->value[i],
			.thread = samples->thread[i],
			.frame = stack->frame,
		};

		/* without a stack it is a sum of waits of any threads */
		if (stack->parent && !vec_push(&waits->all, new))
			return -ENOMEM;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct device_wait *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return x->ns > y->ns ? -1 : x->ns < y->ns;
}

/* Parts of a wait become one, the longest first; and none begins before the last one ended. */
static void join_parts(struct device_waits *waits)
{
	size_t count = 0;

	for (size_t i = 0; i < waits->all.count; i++) {
		struct device_wait *part = &waits->all.at[i],
				   *before = count ? &waits->all.at[count - 1] : NULL;

		if (before && before->thread == part->thread && before->end == part->end)
			before->start = add_saturated(before->start, part->start);
		else
			waits->all.at[count++] = *part;
	}
	waits->all.count = count;
	for (size_t i = 0; i < count; i++) {
		struct device_wait *wait = &waits->all.at[i];

		wait->start = wait->start < wait->end ? wait->end - wait->start : 0;
		if (i && wait[-1].thread == wait->thread && wait[-1].end > wait->start)
			wait->start = wait[-1].end;
	}
}

int device_waits_load(struct device_waits *waits, struct film *film, uint64_t from,
		      struct fail *why)
{
	struct loading loading = {waits, film};
	uint32_t event = film_find_event(film, event_type(EVENT_GPU_WAIT)->name);
	int err;

	*waits = (struct device_waits){0};
	if (!event)
		return 0;
	err = film_each_samples(film, event, from, UINT64_MAX, add_samples, &loading, why);
	if (err == -ENOMEM)
		fail_errno(why, err, NULL, "cannot read waits for devices");
	if (!err && waits->all.count)
		qsort(waits->all.at, waits->all.count, sizeof(*waits->all.at), compare);
	join_parts(waits);
	return err;
}

void device_waits_free(struct device_waits *waits)
{
	vec_free(&waits->all);
}

const struct device_wait *device_waits_find(const struct device_waits *waits, uint32_t thread,
					    uint64_t start, uint64_t end)
{
	const struct device_wait *best = NULL;
	uint64_t most = 0;
	/* the first one of the thread that ends behind start */
	size_t first = search_first(
		waits->all.count, i,
		waits->all.at[i].thread < thread ||
			(waits->all.at[i].thread == thread && waits->all.at[i].end <= start));

	for (size_t i = first; i < waits->all.count && waits->all.at[i].thread == thread &&
			       waits->all.at[i].start < end;
	     i++) {
		const struct device_wait *at = &waits->all.at[i];
		uint64_t from = at->start > start ? at->start : start;
		uint64_t to = at->end < end ? at->end : end;

		if (to > from && to - from > most) {
			most = to - from;
			best = at;
		}
	}
	return most >= (end - start) / 2 ? best : NULL;
}
