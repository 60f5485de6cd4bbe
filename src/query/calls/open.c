// SPDX-License-Identifier: Apache-2.0
#include "query/calls/open.h"

#include <errno.h>
#include <stdlib.h>

#include "query/calls/pass.h"
#include "query/calls/sums.h"

static int take_probe(void *context, const struct film_probe *probe)
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
	return film_each_probe(film, event, take_probe, calls, why);
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
