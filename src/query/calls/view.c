// SPDX-License-Identifier: Apache-2.0
#include "query/calls/view.h"

#include <stdlib.h>

void call_view_free(struct call_view *calls)
{
	for (uint32_t i = 0; calls->of_frame && i < calls->frame_count; i++)
		call_stats_free(calls->of_frame[i]);
	free(calls->of_frame);
	free(calls->costs);
	call_paths_free(&calls->paths);
	*calls = (struct call_view){0};
}

struct call_stats *call_view_stats(struct call_view *calls, uint32_t frame)
{
	if (!calls->of_frame[frame])
		calls->of_frame[frame] = calloc(1, sizeof(struct call_stats));
	return calls->of_frame[frame];
}

bool call_stats_measure(struct call_stats *stats, uint64_t ns)
{
	if (!stats->measured || ns < stats->min)
		stats->min = ns;
	if (!stats->measured || ns > stats->max)
		stats->max = ns;
	stats->measured++;
	stats->sum += ns;
	return latency_add(&stats->latency, ns, 1);
}

bool call_stats_merge(struct call_stats *stats, const struct call_stats *other)
{
	if (other->measured && (!stats->measured || other->min < stats->min))
		stats->min = other->min;
	if (other->max > stats->max)
		stats->max = other->max;
	stats->calls += other->calls;
	stats->inferred += other->inferred;
	stats->unsure += other->unsure;
	stats->unsure_self += other->unsure_self;
	stats->open += other->open;
	stats->cut += other->cut;
	stats->measured += other->measured;
	stats->clamped += other->clamped;
	stats->is_bound |= other->is_bound;
	stats->sum += other->sum;
	stats->error += other->error;
	stats->total += other->total;
	stats->own = other->own > stats->own ? other->own : stats->own;
	return latency_merge(&stats->latency, &other->latency);
}

void call_stats_free(struct call_stats *stats)
{
	if (stats)
		latency_free(&stats->latency);
	free(stats);
}

uint64_t call_stats_average(const struct call_stats *stats)
{
	return stats->measured ? stats->sum / stats->measured : 0;
}

uint64_t call_stats_error(const struct call_stats *stats)
{
	return stats->measured ? stats->error / stats->measured : 0;
}

uint64_t call_stats_quantile(const struct call_stats *stats, unsigned int of_thousand)
{
	uint64_t value = latency_quantile(&stats->latency, of_thousand);

	value = value > stats->own ? value - stats->own : 0;
	return value < stats->min ? stats->min : value > stats->max ? stats->max : value;
}
