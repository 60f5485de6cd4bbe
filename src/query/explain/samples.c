// SPDX-License-Identifier: Apache-2.0
#include "query/explain/samples.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

static int add_samples(void *context, const struct film_samples *rows)
{
	struct explain_samples *samples = context;

	for (size_t i = 0; i < rows->count; i++)
		if (!vec_push(samples, (struct explain_sample){rows->time[i], rows->thread[i],
							       rows->stack[i]}))
			return -ENOMEM;
	return 0;
}

static int by_thread_and_time(const void *left, const void *right)
{
	const struct explain_sample *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->time < b->time ? -1 : a->time > b->time;
}

int explain_samples_load(struct explain_samples *samples, struct film *film, uint32_t event,
			 uint64_t from, uint64_t to, struct fail *why)
{
	int err = film_each_samples(film, event, from, to, add_samples, samples, why);

	samples->first = calloc(film->thread_count + 2ull, sizeof(*samples->first));
	if (!err && !samples->first)
		err = -ENOMEM;
	if (err)
		return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot read the samples") : err;
	if (samples->count)
		qsort(samples->at, samples->count, sizeof(*samples->at), by_thread_and_time);
	for (size_t i = 0; i < samples->count; i++)
		samples->first[samples->at[i].thread + 1]++;
	for (uint32_t i = 0; i < film->thread_count; i++)
		samples->first[i + 1] += samples->first[i];
	return 0;
}

void explain_samples_free(struct explain_samples *samples)
{
	free(samples->at);
	free(samples->first);
	*samples = (struct explain_samples){0};
}

/* Of the samples [low, high) of a thread, the first one at or behind a time. */
static size_t find(const struct explain_samples *samples, size_t low, size_t high, uint64_t time)
{
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (samples->at[middle].time < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct explain_sample *explain_samples_in(const struct explain_samples *samples,
						uint32_t thread, uint64_t from, uint64_t to,
						size_t *count)
{
	size_t first, last;

	*count = 0;
	if (!samples->first)
		return NULL;
	last = samples->first[thread + 1];
	first = find(samples, samples->first[thread], last, from);
	*count = find(samples, first, last, to) - first;
	return *count ? &samples->at[first] : NULL;
}
