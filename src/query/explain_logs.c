// SPDX-License-Identifier: Apache-2.0
/* What the threads of an explanation logged meanwhile. */
#include "query/explain_logs.h"

#include "base/search.h"

static bool is_meant(const struct explanation *x, const struct log_line *line)
{
	return line->thread == x->thread ||
	       (x->request && (line->thread == x->request->row.thread ||
			       line->thread == x->request->row.answerer));
}

size_t explain_each_log(const struct explainer *e, const struct explanation *x,
			void (*take)(void *context, const struct log_line *line), void *context)
{
	const struct log_line *lines = e->logs.all.at;
	size_t count = 0;

	for (size_t i = search_first(e->logs.all.count, k, lines[k].time < x->from);
	     i < e->logs.all.count && lines[i].time < x->to; i++) {
		if (!is_meant(x, &lines[i]))
			continue;
		take(context, &lines[i]);
		count++;
	}
	return count;
}
