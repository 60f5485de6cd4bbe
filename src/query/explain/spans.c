// SPDX-License-Identifier: Apache-2.0
#include "query/explain/spans.h"

#include <errno.h>

#include "query/explain/parts.h"

/* Appends a path, whose waits get other places. False: no memory. */
static bool append(struct critical_path *all, const struct critical_path *path)
{
	const uint32_t before = (uint32_t)all->waits.count;

	vec_foreach (&path->waits, wait) {
		struct critical_wait new = *wait;

		new.parent += new.parent ? before : 0;
		if (!vec_push(&all->waits, new))
			return false;
	}
	vec_foreach (&path->steps, step) {
		struct critical_step new = *step;

		new.wait += new.wait ? before : 0;
		if (!vec_push(&all->steps, new))
			return false;
	}
	all->too_deep += path->too_deep;
	return true;
}

/* The part of a span in which a thread lived, within what the explainer has. */
static struct explain_span cut(const struct explainer *e, uint32_t thread, struct explain_span span)
{
	const struct histories *h = &e->histories;
	size_t first = h->first[thread], next = h->first[thread + 1];
	uint64_t born = next > first ? h->slices[first].start : h->to;
	uint64_t dead = next > first ? h->slices[next - 1].end : h->to;

	born = born > e->from ? born : e->from;
	dead = dead < e->to ? dead : e->to;
	span.start = span.start > born ? span.start : born;
	span.end = span.end < dead ? span.end : dead;
	return span;
}

int explain_spans(struct explainer *e, uint32_t thread, const struct explain_span *spans,
		  size_t count, struct explanation *x)
{
	struct critical_path all = {0};
	int err = 0;

	*x = (struct explanation){.thread = thread, .from = count ? spans[0].start : 0};
	x->to = x->from;
	for (size_t i = 0; !err && i < count; i++) {
		const struct explain_span span = cut(e, thread, spans[i]);
		struct critical_path path;

		if (span.start >= span.end)
			continue;
		x->to += span.end - span.start;
		err = critical_find(&path, &e->histories, thread, span.start, span.end, true);
		if (!err && !append(&all, &path))
			err = -ENOMEM;
		critical_free(&path);
	}
	if (!err)
		err = explain_sum_up(e, &all, 0, x);
	x->steps = all.steps.count;
	x->waits = all.waits.count;
	x->too_deep = all.too_deep;
	critical_free(&all);
	return err ? err : explain_link_parts(x);
}
