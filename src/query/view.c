// SPDX-License-Identifier: Apache-2.0
#include "query/view.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/nearest.h"
#include "film/events.h"
#include "query/view_fill.h"

bool view_is_calls(const struct film_event *event)
{
	return event_of(event)->shape == SHAPE_CALLS;
}

int view_event(const struct film *film, const char *name, uint32_t *event, struct fail *why)
{
	struct nearest nearest = {.given = name ? name : ""};
	struct buf names = {0};
	uint32_t id = 1;

	/* the first one is what the film was made for */
	if (name)
		id = film_find_event(film, name);
	if (id && id < film->event_count) {
		*event = id;
		return 0;
	}
	*event = 0;
	if (film->event_count < 2) {
		fail(why, -ENOENT, NULL, "the film has no events");
		return -ENOENT;
	}
	for (id = 1; id < film->event_count; id++) {
		buf_printf(&names, "%s%s", id > 1 ? ", " : "", film->events[id].name);
		nearest_offer(&nearest, film->events[id].name);
	}
	if (nearest.name)
		buf_printf(&names, "; did you mean '%s'?", nearest.name);
	buf_put_u8(&names, 0);
	fail(why, -ENOENT, NULL, "the film has no event '%s', only %s", name,
	     names.failed ? "others" : (const char *)names.at);
	buf_free(&names);
	return -ENOENT;
}

int view_event_also(const struct film *film, const struct question *q, uint32_t event,
		    uint32_t *also, struct fail *why)
{
	*also = 0;
	if (!q->idle)
		return 0;
	if (event_of(&film->events[event]) != event_type(EVENT_OFF_CPU))
		return fail(why, -EINVAL, "-e off-cpu --idle shows both",
			    "--idle adds to off-cpu; it says nothing of %s",
			    film->events[event].name);
	*also = film_find_event(film, event_type(EVENT_IDLE)->name);
	return 0;
}

static int by_group_and_stack(const void *a, const void *b)
{
	const struct weight *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static void sort_weights(struct view *view)
{
	if (view->weights.count)
		qsort(view->weights.at, view->weights.count, sizeof(*view->weights.at),
		      by_group_and_stack);
}

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high)
{
	return value < low || high < low ? low : value > high ? high : value;
}

static int fill_kept(struct view *view, const struct question *q, const struct filter_kept *kept,
		     uint64_t from, uint64_t to, struct fail *why)
{
	int err = q->shape.by_cpu ? view_check_cpus(view, why) : 0;

	if (err)
		return err;
	if (view_asks_of_requests(q))
		return view_fill_requests(view, q, kept, from, to, why);
	if (view_asks_of_locks(view, q))
		return view_fill_locks(view, q, kept, from, to, why);
	if (view_asks_of_waits(q))
		return view_fill_waits(view, q, kept, from, to, why);
	if (view_is_calls(view->event))
		return view_fill_calls(view, q, kept, from, to, why);
	if (q->shape.by_cpu)
		return view_fill_cpus(view, q, kept, from, to, why);
	return view_fill_samples(view, &q->shape, kept, from, to, why);
}

static int fill(struct view *view, const struct question *q, struct fail *why)
{
	struct film *film = view->film;
	struct filter_kept kept;
	uint64_t from, to, total, more = 0;
	int err = filter_span(&q->filter, &film->info, &from, &to, why);

	if (err)
		return err;
	film_event_total(film, (uint32_t)(view->event - film->events), &view->film_samples, &total);
	if (view->also)
		film_event_total(film, view->also, &more, &total);
	view->film_samples += more;
	view->is_filtered = filter_is_set(&q->filter);
	view->from = clamp(from, film->info.start, film->info.end);
	view->to = clamp(to, film->info.start, film->info.end);
	err = filter_apply(&q->filter, film, &kept, why);
	if (!err)
		err = fill_kept(view, q, &kept, from, to, why);
	filter_kept_free(&kept);
	sort_weights(view);
	return err;
}

int view_open(struct film *film, const struct question *q, enum view_group group, struct view *view,
	      struct fail *why)
{
	uint32_t event;
	int err;

	*view = (struct view){.film = film, .group = group};
	err = view_event(film, q->event, &event, why);
	if (!err)
		view->event = &film->events[event];
	if (!err)
		err = view_event_also(film, q, event, &view->also, why);
	if (!err)
		err = fill(view, q, why);
	if (!err && view_count_losses(&view->losses, film, event, view->also))
		err = fail_errno(why, -ENOMEM, NULL, "cannot count the losses");
	return err;
}

void view_free(struct view *view)
{
	vec_free(&view->weights);
	free(view->processes);
	if (view->calls) {
		/* made for this view; the stacks of samples are the film's */
		free((void *)view->paths);
		call_view_free(view->calls);
		free(view->calls);
	}
	free(view->own_paths);
	vec_free(&view->marks);
	vec_free(&view->locks);
	name_pool_free(&view->mark_names);
	fold_free(&view->fold);
	view_free_reasons(&view->stacks.reasons);
	view_free_reasons(&view->losses);
	*view = (struct view){0};
}

const char *const *view_marks(const struct view *view, size_t *count)
{
	*count = view->own_paths ? view->marks.count : CALL_MARKS;
	return view->own_paths ? view->marks.at : call_mark_names;
}

const char *view_mark(const struct view *view, uint32_t frame)
{
	uint32_t frames = view->film->frame_count;
	size_t count;

	return frame < frames ? NULL : view_marks(view, &count)[frame - frames];
}
