// SPDX-License-Identifier: Apache-2.0
#include "show/show.h"

#include <string.h>

#include "film/pprof.h"

static void put_comments(struct pprof *p, const struct view *view)
{
	pprof_comment(p, "recorded by: %s", view->film->info.command);
	pprof_comment(p, "host: %s", view->film->info.hostname);
	/* readers show these comments: what is missing must be known there too */
	vec_foreach (&view->losses, loss)
		pprof_comment(p, "lost: %s %llu", loss->words, (unsigned long long)loss->count);
	vec_foreach (&view->stacks.reasons, reason)
		pprof_comment(p, "truncated stacks: %s %llu", reason->words,
			      (unsigned long long)reason->count);
}

static void put_samples(struct pprof *p, const struct view *view)
{
	const struct film_stack *paths = view->paths;

	vec_foreach (&view->weights, weight) {
		uint32_t stack = weight->stack, depth = 0;

		/* leaf first, as parents are followed */
		for (; stack && depth < TREE_DEPTH_MAX; stack = paths[stack].parent, depth++)
			pprof_frame(p, paths[stack].frame);
		if (stack)
			pprof_too_deep(p);
		pprof_sample(p, weight->group, weight->samples, weight->value);
	}
}

int show_pprof(const struct report *report, const struct show_options *options, FILE *out)
{
	const struct view *view = &report->view;
	const struct film_event *event = view->event;
	__int128 start = (__int128)view->from + view->film->info.wall_offset;
	const struct pprof_header header = {
		.counted = view->calls ? "calls" : "samples",
		.name = event->name,
		.unit = event->unit,
		.period = event->frequency && !strcmp(event->unit, "ns")
				  ? 1000000000ull / event->frequency
				  : 0,
		.time = start > 0 ? (uint64_t)start : 0,
		.duration = view->to - view->from,
		.marks = call_mark_names,
		.mark_count = CALL_MARKS,
	};
	struct pprof p;

	(void)options;
	pprof_start(&p, view->film, &header, out);
	put_comments(&p, view);
	put_samples(&p, view);
	return pprof_finish(&p);
}
