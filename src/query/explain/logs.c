// SPDX-License-Identifier: Apache-2.0
/* What the threads of an explanation logged meanwhile. */
#include "query/explain/logs.h"

#include "base/search.h"

/* Whether a thread worked for the goroutine at a time. */
static bool ran(const struct explainer *e, const struct explanation *x, uint32_t thread,
		uint64_t time)
{
	size_t count;
	const struct served_run *runs =
		served_lane_runs(&e->served_lanes, x->thread, time, time + 1, &count);

	return count && runs->on == thread;
}

static bool is_meant(const struct explainer *e, const struct explanation *x,
		     const struct log_line *line)
{
	if (explain_is_of_lane(e, x))
		return ran(e, x, line->thread, line->time);
	return line->thread == x->thread ||
	       (x->request && (line->thread == x->request->row.thread ||
			       line->thread == x->request->row.answerer));
}

size_t explain_each_log(const struct explainer *e, const struct explanation *x,
			void (*emit)(void *context, const struct log_line *line), void *context)
{
	const struct log_line *lines = e->logs.all.at;
	size_t count = 0;

	for (size_t i = search_first(e->logs.all.count, k, lines[k].time < x->from);
	     i < e->logs.all.count && lines[i].time < x->to; i++) {
		if (!is_meant(e, x, &lines[i]))
			continue;
		emit(context, &lines[i]);
		count++;
	}
	return count;
}
