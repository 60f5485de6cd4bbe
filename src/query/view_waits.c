// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "query/device_waits.h"
#include "query/objects.h"
#include "query/view_fill.h"
#include "query/view_paths.h"
#include "query/wait_class.h"

/*
 * Waits seen through what only they have: what they were for, and who ended them. Both stand at the
 * root of their stacks: a mark for the class; a mark for the waker, its stack, and a mark behind
 * which the waiter's stack begins.
 */
struct collector {
	struct view_paths paths;
	const struct question *q;
	const struct filter_kept *kept;
	struct wait_classes classes;
	struct device_waits devices;
	int err;
};

/* What it was for: the work of a device, or else its class; in brackets. */
static void describe(struct collector *c, const struct film_waits *waits, size_t i, char *words,
		     size_t size)
{
	uint64_t end = waits->end[i], ns = waits->duration[i];
	const struct device_wait *device =
		device_waits_find(&c->devices, waits->thread[i], ns < end ? end - ns : 0, end);

	words[0] = '[';
	if (device)
		snprintf(words + 1, size - 2, "waits for %s",
			 object_name(c->paths.view->film, device->frame));
	else
		wait_class_words(&c->classes, waits, i, words + 1, size - 2);
	strcat(words, "]");
}

static uint32_t path_of(struct collector *c, const struct film_waits *waits, size_t i)
{
	const struct shape *shape = &c->q->shape;
	char words[256];
	uint32_t path = 0;

	if (shape->by_wait) {
		describe(c, waits, i, words, sizeof(words));
		path = view_paths_below_mark(&c->paths, path, words);
	}
	if (shape->by_waker)
		path = view_paths_below_waker(
			&c->paths, path,
			&(struct view_waker){waits->waker[i], waits->waker_stack[i],
					     waits->context[i], waits->flags[i]});
	return view_paths_below_stack(&c->paths, path, waits->stack[i]);
}

static int add_waits(void *context, const struct film_waits *waits)
{
	struct collector *c = context;
	uint64_t classes = c->q->filter.waits;

	for (size_t i = 0; !c->err && i < waits->count; i++) {
		if (!c->kept->threads[waits->thread[i]] || !c->kept->stacks[waits->stack[i]])
			continue;
		if (classes && !(classes >> wait_class_of(&c->classes, waits, i) & 1))
			continue;
		c->err = view_paths_add(&c->paths, path_of(c, waits, i), waits->thread[i],
					waits->stack[i], waits->duration[i]);
	}
	return c->err;
}

bool view_asks_of_waits(const struct question *q)
{
	return q->filter.waits || q->shape.by_wait || q->shape.by_waker;
}

int view_fill_waits(struct view *view, const struct question *q, const struct filter_kept *kept,
		    uint64_t from, uint64_t to, struct fail *why)
{
	struct collector c = {.q = q, .kept = kept};
	uint32_t event = (uint32_t)(view->event - view->film->events);
	int err;

	if (film_has_turns(view->film, event))
		return fail(why, -EINVAL,
			    "use --format states, or -e off-cpu, or add --by endpoint where the "
			    "film has requests",
			    "--wait, --by wait and --by waker cannot group the slices of %s alone",
			    view->event->name);
	if (view_is_calls(view->event) ||
	    (!film_has_waits(view->film, event) && view->film_samples))
		return fail(why, -EINVAL, "ask for an event of waits: -e off-cpu",
			    "%s has no waits: --wait, --by wait and --by waker say nothing there",
			    view->event->name);
	c.err = view_paths_begin(&c.paths, view, &q->shape);
	if (!c.err)
		c.err = wait_classes_init(&c.classes, view->film);
	err = c.err;
	if (!err)
		err = device_waits_load(&c.devices, view->film, from, why);
	if (!err)
		err = film_each_waits(view->film, event, from, to, add_waits, &c, why);
	if (!err && view->also)
		err = film_each_waits(view->film, view->also, from, to, add_waits, &c, why);
	if (view_paths_end(&c.paths) && !err)
		err = c.err = -ENOMEM;
	wait_classes_free(&c.classes);
	device_waits_free(&c.devices);
	if (c.err == -EOVERFLOW)
		return fail(why, err, NULL, "the waits of the film add up to more than 64 bits");
	return c.err ? fail_errno(why, err, NULL, "cannot add up the waits") : err;
}
