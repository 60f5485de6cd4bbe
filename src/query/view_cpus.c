// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "film/events.h"
#include "query/view_fill.h"
#include "query/view_paths.h"

/* Samples by the CPU that each was made on, which is a mark at the root of their stacks. */
struct collector {
	struct view_paths paths;
	const struct filter_kept *kept;
	int err;
};

static int add_samples(void *context, const struct film_samples *samples)
{
	struct collector *c = context;

	for (size_t i = 0; !c->err && i < samples->count; i++) {
		uint32_t thread = samples->thread[i], stack = samples->stack[i], path;

		if (!c->kept->threads[thread] || !c->kept->stacks[stack])
			continue;
		path = view_paths_below_cpu(&c->paths, 0, samples->cpu ? samples->cpu[i] : 0);
		path = view_paths_below_stack(&c->paths, path, stack);
		c->err = view_paths_add(&c->paths, path, thread, stack, samples->value[i]);
	}
	return c->err;
}

int view_check_cpus(const struct view *view, struct fail *why)
{
	uint32_t event = (uint32_t)(view->event - view->film->events);

	if (view_is_calls(view->event) || event_of(view->event)->is_level ||
	    film_has_waits(view->film, event) || film_has_locks(view->film, event) ||
	    film_has_turns(view->film, event) || film_has_requests(view->film, event))
		return fail(
			why, -EINVAL, "ask for another event, such as -e on-cpu",
			"%s has no samples that were made on a CPU: --by cpu says nothing there",
			view->event->name);
	return 0;
}

int view_fill_cpus(struct view *view, const struct question *q, const struct filter_kept *kept,
		   uint64_t from, uint64_t to, struct fail *why)
{
	uint32_t event = (uint32_t)(view->event - view->film->events);
	struct collector c = {.kept = kept};
	int err;

	c.err = view_paths_begin(&c.paths, view, &q->shape);
	err = c.err ? c.err : film_each_samples(view->film, event, from, to, add_samples, &c, why);
	if (view_paths_end(&c.paths) && !err)
		err = c.err = -ENOMEM;
	if (c.err == -EOVERFLOW)
		return fail(why, err, NULL, "the samples of the film add up to more than 64 bits");
	return c.err ? fail_errno(why, err, NULL, "cannot add up the samples") : err;
}

int view_need_cpus(const struct view *view, const struct question *q, struct fail *why)
{
	if (!q->shape.by_cpu || !view->samples || view->has_cpus)
		return 0;
	return fail(why, -EINVAL, "'stackcam record -e on-cpu --sample-cpu' records it",
		    "the film does not say on which CPUs its samples of %s were made",
		    view->event->name);
}
