// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "film/events.h"
#include "query/slices.h"
#include "query/unlinked.h"
#include "query/view_fill.h"
#include "query/view_paths.h"
#include "query/wait_class.h"

/*
 * What threads did for requests: for one of them, or by endpoint, with the endpoint at the root of
 * the stacks. What lasts, a wait or a slice, is cut where the requests of its thread change, so
 * that its parts add up to it.
 */
/* Beside the marks of served.h: a sum of waits is of no endpoint. */
#define SUMMED_UP (SERVED_SEVERAL - 1)

struct collector {
	struct view_paths paths;
	const struct question *q;
	const struct filter_kept *kept;
	const struct served *served;
	struct wait_classes classes;
	struct unlinked unlinked;
	uint8_t *processes; /* a byte for each: 1 where something was done for requests */
	bool lasts;	    /* the event's values are times that end when a sample was taken */
	int err;
};

/* What is seen: of a thread, with a stack, and what it was, "[lock]", or "". */
struct seen {
	uint32_t thread, stack;
	uint64_t from, to, value;
	const char *kind;
	bool is_sum;  /* of waits of a period, not of one time */
	uint32_t cpu; /* as of struct film_sample */
};

static bool is_kept(const struct collector *c, uint32_t endpoint)
{
	return endpoint != SERVED_NONE || !c->q->filter.request;
}

static uint32_t root_of(struct collector *c, uint32_t endpoint, const struct seen *seen)
{
	const struct film *film = c->paths.view->film;
	const char *name;
	uint32_t path = 0;

	if (c->q->shape.by_cpu)
		path = view_paths_below_cpu(&c->paths, path, seen->cpu);
	if (c->q->shape.by_endpoint) {
		if (endpoint == SERVED_SEVERAL)
			name = "[several endpoints at once]";
		else if (endpoint == SUMMED_UP)
			name = "[waits summed up]";
		else if (endpoint == SERVED_NONE)
			name = "[no request]";
		else
			name = film->functions[film->frames[endpoint].function].name;
		path = view_paths_below_mark(&c->paths, path, *name ? name : NAME_UNKNOWN);
	}
	return *seen->kind ? view_paths_below_mark(&c->paths, path, seen->kind) : path;
}

static int add_part(struct collector *c, const struct seen *seen, uint32_t endpoint, uint64_t value)
{
	uint32_t root = root_of(c, endpoint, seen);
	if (endpoint != SERVED_NONE && endpoint != SUMMED_UP)
		c->processes[c->paths.view->film->threads[seen->thread].process] = 1;
	/* a slice without a stack has its kind alone */
	uint32_t path = *seen->kind && !seen->stack
				? root
				: view_paths_below_stack(&c->paths, root, seen->stack);

	return view_paths_add(&c->paths, path, seen->thread, seen->stack, value);
}

static int add(struct collector *c, const struct seen *seen)
{
	struct served_part part;

	/* what threads did at other times tells, too, that they run tasks */
	unlinked_add(&c->unlinked, c->paths.view->film, seen->thread, seen->stack);
	if (!c->kept->threads[seen->thread] || !c->kept->stacks[seen->stack])
		return 0;
	if (seen->is_sum && c->q->filter.request) {
		c->paths.view->unplaced += seen->value;
		return 0;
	}
	if (seen->is_sum)
		return add_part(c, seen, SUMMED_UP, seen->value);
	if (seen->from >= seen->to) {
		part = served_part(c->served, seen->thread, seen->from, seen->from);
		return is_kept(c, part.endpoint) ? add_part(c, seen, part.endpoint, seen->value)
						 : 0;
	}
	for (uint64_t at = seen->from; !c->err && at < seen->to; at = part.to) {
		part = served_part(c->served, seen->thread, at, seen->to);
		if (is_kept(c, part.endpoint))
			c->err = add_part(c, seen, part.endpoint, part.to - at);
	}
	return c->err;
}

static int add_samples(void *context, const struct film_samples *samples)
{
	struct collector *c = context;

	for (size_t i = 0; !c->err && i < samples->count; i++) {
		uint64_t time = samples->time[i], value = samples->value[i];

		c->err = add(c, &(struct seen){
					.thread = samples->thread[i],
					.stack = samples->stack[i],
					.from = c->lasts && value <= time ? time - value : time,
					.to = time,
					.value = value,
					.kind = "",
					.cpu = samples->cpu ? samples->cpu[i] : 0,
				});
	}
	return c->err;
}

static int add_waits(void *context, const struct film_waits *waits)
{
	struct collector *c = context;
	uint64_t classes = c->q->filter.waits;
	char words[256];

	for (size_t i = 0; !c->err && i < waits->count; i++) {
		uint64_t end = waits->end[i], duration = waits->duration[i];

		if (classes && !(classes >> wait_class_of(&c->classes, waits, i) & 1))
			continue;
		words[0] = '[';
		wait_class_words(&c->classes, waits, i, words + 1, sizeof(words) - 2);
		strcat(words, "]");
		c->err = add(c, &(struct seen){
					.thread = waits->thread[i],
					.stack = waits->stack[i],
					.from = duration <= end ? end - duration : end,
					.to = end,
					.value = duration,
					.is_sum = waits->flags[i] & FILM_WAIT_SAMPLED,
					.kind = c->q->shape.by_wait ? words : "",
				});
	}
	return c->err;
}

/* Without --by wait only what waits, as a view of slices has it otherwise. */
static int add_slice(void *context, const struct slice *slice,
		     const struct slice_evidence *evidence)
{
	struct collector *c = context;
	bool by_wait = c->q->shape.by_wait, is_wait = slice_is_wait(slice->kind);
	uint64_t classes = c->q->filter.waits;
	char words[256];

	(void)evidence;
	if (!by_wait && !is_wait)
		return 0;
	if (classes && (!is_wait || !(classes >> slice_wait_class(slice->kind) & 1)))
		return 0;
	words[0] = '[';
	slice_words(c->paths.view->film, slice, words + 1, sizeof(words) - 2);
	strcat(words, "]");
	return c->err = add(c, &(struct seen){
				       .thread = slice->thread,
				       .stack = is_wait ? slice->stack : 0,
				       .from = slice->start,
				       .to = slice->end,
				       .value = slice->end - slice->start,
				       .kind = by_wait ? words : "",
			       });
}

static int add_all(struct collector *c, uint32_t event, uint64_t from, uint64_t to,
		   struct fail *why)
{
	struct film *film = c->paths.view->film;

	if (film_has_turns(film, event))
		return slices_each(film, event, from, to, add_slice, c, why);
	if (film_has_waits(film, event))
		return film_each_waits(film, event, from, to, add_waits, c, why);
	return film_each_samples(film, event, from, to, add_samples, c, why);
}

bool view_asks_of_requests(const struct question *q)
{
	return q->filter.request || q->shape.by_endpoint;
}

/* Whether waits of an event are of goroutines, of which it does not say on which threads. */
static bool is_of_no_thread(const struct film_event *event)
{
	static const enum event_id of_lanes[] = {EVENT_GO_WAIT, EVENT_GO_QUEUE, EVENT_GO_IDLE};

	for (size_t i = 0; i < sizeof(of_lanes) / sizeof(of_lanes[0]); i++)
		if (event_of(event) == event_type(of_lanes[i]))
			return true;
	return false;
}

/* Which tasks share the threads that worked on requests; a goroutine is known by its lane. */
static void find_unlinked(struct collector *c, uint32_t event)
{
	struct view *view = c->paths.view;

	if (slices_are_of_lanes(view->film, event))
		return;
	for (uint32_t i = 1; i < view->film->process_count; i++)
		if (c->processes[i])
			view->unlinked |= c->unlinked.of_process[i];
	if (c->served->no_lane)
		view->unlinked |= unlinked_lanes(view->film);
}

static int check(const struct view *view, const struct question *q, uint32_t event,
		 struct fail *why)
{
	const struct shape *shape = &q->shape;

	if (view_is_calls(view->event) || event_of(view->event)->is_level)
		return fail(why, -EINVAL, "ask for another event, such as -e on-cpu",
			    "%s is not seen by request", view->event->name);
	if (is_of_no_thread(view->event))
		return fail(why, -EINVAL,
			    "'stackcam record -e requests,go-lanes' records which goroutine worked "
			    "on a request, and -e go-lanes shows it",
			    "%s does not say for which request a goroutine waited",
			    view->event->name);
	if (shape->by_lock || shape->by_holder || shape->by_waker)
		return fail(why, -EINVAL, "--by endpoint,wait is possible",
			    "requests cannot be seen by lock, holder or waker");
	if (view_asks_of_waits(q) && !film_has_turns(view->film, event) &&
	    !film_has_waits(view->film, event) && view->film_samples)
		return fail(why, -EINVAL, "ask for an event of waits: -e off-cpu, or -e threads",
			    "%s has no waits: --wait and --by wait say nothing there",
			    view->event->name);
	return 0;
}

int view_fill_requests(struct view *view, const struct question *q, const struct filter_kept *kept,
		       uint64_t from, uint64_t to, struct fail *why)
{
	uint32_t event = (uint32_t)(view->event - view->film->events);
	struct collector c = {.q = q, .kept = kept, .lasts = event_of(view->event)->is_interval};
	struct served served;
	int err = check(view, q, event, why);

	if (err)
		return err;
	err = served_load(&served, view->film, q->filter.request, why);
	c.served = &served;
	view->others = served.others;
	if (err) {
		served_free(&served);
		return err;
	}
	c.err = view_paths_begin(&c.paths, view, &q->shape);
	if (!c.err)
		c.err = wait_classes_init(&c.classes, view->film);
	c.processes = calloc(view->film->process_count + 1ull, 1);
	if (!c.err && (!c.processes || unlinked_begin(view->film, &c.unlinked)))
		c.err = -ENOMEM;
	if (!c.err)
		err = add_all(&c, event, from, to, why);
	if (!err && !c.err && view->also)
		err = add_all(&c, view->also, from, to, why);
	if (!err && !c.err)
		find_unlinked(&c, event);
	if (view_paths_end(&c.paths) && !c.err)
		c.err = -ENOMEM;
	wait_classes_free(&c.classes);
	unlinked_free(&c.unlinked);
	free(c.processes);
	served_free(&served);
	if (c.err == -EOVERFLOW)
		return fail(why, c.err, NULL, "the times of the film add up to more than 64 bits");
	return c.err ? fail_errno(why, c.err, NULL, "cannot add up what was done for requests")
		     : err;
}
