// SPDX-License-Identifier: Apache-2.0
#include "query/calls/open.h"

#include <errno.h>
#include <stdlib.h>

#include "base/fail.h"
#include "film/reader.h"
#include "query/calls/pass.h"
#include "query/calls/view.h"

static int add_probe(void *context, const struct film_probe *probe)
{
	struct call_view *calls = context;

	/* the last cost given holds; a call costs its callers no less than itself */
	calls->costs[probe->frame] = (struct call_cost){
		probe->own,
		probe->outer > probe->own ? probe->outer : probe->own,
		probe->error,
	};
	return 0;
}

static int load_costs(struct film *film, uint32_t event, struct call_view *calls, struct fail *why)
{
	if (calls->is_raw)
		return 0;
	calls->costs = calloc(film->frame_count + 1ull, sizeof(*calls->costs));
	if (!calls->costs)
		return fail_errno(why, -ENOMEM, NULL, "cannot add up the calls");
	return film_each_probe(film, event, add_probe, calls, why);
}

/*
 * What the paths that count had by themselves as measured, and have no more; and which had less
 * than that.
 */
static int count_subtracted(struct call_view *calls)
{
	size_t count = calls->paths.all.count;
	uint64_t *children = calloc(count, sizeof(*children));

	for (size_t i = count; children && i-- > 1;) {
		const struct call_path *path = &calls->paths.all.at[i];
		/* of a mark, no more is known than of what it called */
		uint64_t raw = path->calls ? path->raw : children[i];
		uint64_t self = raw > children[i] ? raw - children[i] : 0;

		children[path->parent] += raw;
		if (path->is_kept && self > path->self)
			calls->subtracted += self - path->self;
		if (path->is_kept && path->is_bound && calls->of_frame[path->frame])
			calls->of_frame[path->frame]->is_bound = true;
	}
	free(children);
	return children ? 0 : -ENOMEM;
}

struct summer {
	struct call_view *calls;
	const struct filter_kept *kept;
	struct film_sum *sums; /* per frame */
	uint64_t all;	       /* of all totals, so that nothing overflows */
	int err;
};

static int add_sum(void *context, const struct film_sum *sum)
{
	struct summer *s = context;
	struct film_sum *to = &s->sums[sum->frame];

	/* the parts of a sum are not larger than its total in a film that was not made up */
	if (__builtin_add_overflow(s->all, sum->total, &s->all) ||
	    __builtin_add_overflow(s->all, sum->self, &s->all) ||
	    __builtin_add_overflow(s->calls->calls, sum->calls, &s->calls->calls))
		return s->err = -EOVERFLOW;
	if (!sum->calls)
		return 0;
	if (!to->calls || sum->min < to->min)
		to->min = sum->min;
	if (!to->calls || sum->max > to->max)
		to->max = sum->max;
	to->calls += sum->calls;
	to->total += sum->total;
	to->self += sum->self;
	to->waited += sum->waited;
	to->recursive += sum->recursive;
	to->inferred += sum->inferred < sum->calls ? sum->inferred : sum->calls;
	for (int i = 0; i < FILM_SUM_BUCKETS; i++)
		to->buckets[i] += sum->buckets[i];
	return 0;
}

static uint64_t less(uint64_t ns, uint64_t cost)
{
	return ns > cost ? ns - cost : 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t part_of(uint64_t ns, uint64_t part, uint64_t whole)
{
	return (uint64_t)((unsigned __int128)ns * part / whole);
}

static uint64_t cost_of(const struct summer *s, uint32_t frame)
{
	uint64_t own = s->calls->costs ? s->calls->costs[frame].own : 0, cost;

	return __builtin_mul_overflow(s->sums[frame].calls, own, &cost) ? UINT64_MAX : cost;
}

/* What a function's calls took, without what the tracer took within each of them. */
static bool fill_stats(const struct summer *s, uint32_t frame, struct call_stats *stats)
{
	const struct film_sum *sum = &s->sums[frame];
	uint64_t cost = cost_of(s, frame), once = less(sum->total, sum->recursive);
	uint32_t own = s->calls->costs ? s->calls->costs[frame].own : 0;

	stats->calls = stats->measured = sum->calls;
	stats->sum = less(sum->total, cost);
	stats->is_bound = sum->total < cost || sum->self < cost;
	/* how many calls lie within others is not known: their part of the time stands for it */
	if (once < sum->total)
		cost = part_of(cost, once, sum->total);
	stats->total = less(once, cost);
	stats->min = less(sum->min, own);
	stats->max = less(sum->max, own);
	/* the longest one is within an outermost one, or is one */
	if (stats->total < stats->max)
		stats->total = stats->max;
	/* how much is unsure of which is not known: as much as of the number of calls */
	stats->inferred = sum->inferred;
	stats->unsure = part_of(stats->total, stats->inferred, stats->calls);
	stats->unsure_self = part_of(sum->self, stats->inferred, stats->calls);
	stats->waited = sum->waited;
	stats->own = own;
	if (s->calls->costs &&
	    __builtin_mul_overflow(sum->calls, s->calls->costs[frame].error, &stats->error))
		stats->error = UINT64_MAX;
	stats->latency.is_coarse = true;
	for (unsigned int i = 0; i < FILM_SUM_BUCKETS; i++)
		if (sum->buckets[i] && !latency_add(&stats->latency, 1ull << i, sum->buckets[i]))
			return false;
	return true;
}

/*
 * What all functions took by themselves. None took more in all, but what the tracer took within a
 * function's callees is still in its total: it cannot be known how much of that is its own.
 */
static uint64_t sum_of_self(const struct summer *s, uint32_t frames)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < frames; i++)
		sum += less(s->sums[i].self, cost_of(s, i));
	return sum;
}

static void limit(struct call_stats *stats, uint64_t most)
{
	uint64_t above = less(stats->total, most);

	stats->total -= above;
	stats->sum = less(stats->sum, above);
	stats->max = least(stats->max, stats->total);
	stats->min = least(stats->min, stats->max);
}

static int add_function(struct summer *s, uint32_t root, uint32_t frame, uint64_t most)
{
	const struct film_sum *sum = &s->sums[frame];
	struct call_view *calls = s->calls;
	uint32_t path;
	bool is_new, is_full;
	struct call_stats *stats;
	struct call_path *at;
	uint64_t total;

	if (!sum->calls || (s->kept->focus && !s->kept->focus[frame]) ||
	    (s->kept->ignored && s->kept->ignored[frame]))
		return 0;
	path = call_paths_child(&calls->paths, root, frame, &is_new, &is_full);
	if (is_full) {
		calls->no_path += sum->calls;
		return 0;
	}
	stats = path ? call_view_stats(calls, frame) : NULL;
	if (!stats || !fill_stats(s, frame, stats))
		return -ENOMEM;
	calls->calls += sum->calls;
	calls->inferred += stats->inferred;
	at = &calls->paths.all.at[path];
	total = less(sum->self, stats->sum < sum->total ? sum->total - stats->sum : 0);
	*at = (struct call_path){
		.parent = root,
		.frame = frame,
		.is_kept = true,
		.is_guess = stats->inferred > 0,
		.calls = sum->calls,
		.raw = sum->self,
		.waited = sum->waited,
		.total = total,
		.self = total,
	};
	calls->subtracted += sum->self - total;
	limit(stats, most);
	/* even if a film says otherwise, a function takes no less in all than by itself */
	if (stats->total < total)
		stats->total = total;
	return 0;
}

/*
 * Adds up the sums of an event, where no single calls were kept: a path for each function, below
 * one root. Sets calls->is_summary if there are any. Returns 0 or a negative errno with *why
 * filled.
 */
static int call_sums(struct film *film, uint32_t event, const struct call_question *q,
		     struct call_view *calls, struct fail *why)
{
	struct summer s = {
		.calls = calls,
		.kept = q->kept,
		.sums = calloc(film->frame_count + 1ull, sizeof(*s.sums)),
	};
	int err = s.sums ? film_each_sum(film, event, q->from, q->to, add_sum, &s, why)
			 : fail_errno(why, -ENOMEM, NULL, "cannot add up the calls");
	uint64_t most;
	uint32_t root;

	if (s.err)
		fail(why, err, NULL, "the sums of the film add up to more than 64 bits");
	calls->is_summary = calls->calls > 0;
	calls->film_calls = calls->calls;
	/* from here on, only what the filter keeps */
	calls->calls = 0;
	if (!err && calls->is_summary && !q->is_whole)
		err = fail(why, -EINVAL, "film without --summary",
			   "a film of --summary does not tell threads and processes apart");
	if (!err && calls->is_summary) {
		most = sum_of_self(&s, film->frame_count);
		root = call_paths_root(&calls->paths, 0);
		if (!root)
			err = -ENOMEM;
		for (uint32_t i = 0; !err && i < film->frame_count; i++)
			err = add_function(&s, root, i, most);
		if (err)
			fail_errno(why, err, NULL, "cannot add up the calls");
	}
	free(s.sums);
	return err;
}

int call_view_open(struct film *film, uint32_t event, const struct call_question *q,
		   struct call_view *calls, struct fail *why)
{
	int err;

	*calls = (struct call_view){.frame_count = film->frame_count, .is_raw = q->is_raw};
	calls->of_frame = calloc(film->frame_count + 1ull, sizeof(struct call_stats *));
	if (!calls->of_frame || call_paths_init(&calls->paths))
		return fail_errno(why, -ENOMEM, NULL, "cannot add up the calls");
	err = load_costs(film, event, calls, why);
	if (err)
		return err;
	calls->film_calls = film_call_count(film, event);
	if (!calls->film_calls)
		return call_sums(film, event, q, calls, why);
	err = call_pass(film, event, q, calls, why);
	if (!err && (call_paths_sum(&calls->paths, calls->costs, film->frame_count) ||
		     count_subtracted(calls)))
		err = fail_errno(why, -ENOMEM, NULL, "cannot add up the calls");
	return err;
}
