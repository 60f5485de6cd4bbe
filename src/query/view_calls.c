// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "query/calls/open.h"
#include "query/view_fill.h"

/* The group that each path belongs to is that of its root, which stands before it. */
static bool add_weights(struct view *view, uint32_t *group)
{
	const struct film *film = view->film;

	for (uint32_t i = 1; i < view->path_count; i++) {
		const struct call_path *path = &view->calls->paths.all.at[i];
		uint32_t process;

		group[i] = path->parent ? group[path->parent] : path->frame;
		if (!path->parent || !path->is_kept || !path->calls)
			continue;
		process = view->group == VIEW_THREAD ? film->threads[group[i]].process : group[i];
		if (view->processes)
			view->processes[process] += path->self;
		view->total += path->self;
		if (!vec_push(&view->weights,
			      (struct weight){
				      .group = view->group == VIEW_WHOLE ? 0 : group[i],
				      .stack = i,
				      .samples = path->calls,
				      .value = path->self,
			      }))
			return false;
	}
	return true;
}

/* The paths as stacks: roots are no frames. */
static bool make_paths(struct view *view)
{
	size_t count = view->calls->paths.all.count;
	struct film_stack *paths = calloc(count, sizeof(*paths));

	for (size_t i = 1; paths && i < count; i++) {
		const struct call_path *path = &view->calls->paths.all.at[i];

		if (!path->parent)
			continue;
		if (view->calls->paths.all.at[path->parent].parent)
			paths[i].parent = path->parent;
		paths[i].frame = path->frame;
		paths[i].how = path->is_guess ? FILM_HOW_FRAME_POINTER : FILM_HOW_EXACT;
	}
	view->paths = paths;
	view->path_count = paths ? (uint32_t)count : 0;
	return paths;
}

/* Adds to the count of a reason, unless it is 0. */
static bool add_reason(struct view_reasons *reasons, const char *words, uint64_t count)
{
	struct map known = {0};
	bool done = !count || view_count_reason(reasons, &known, words, strlen(words), count);

	map_free(&known);
	return done;
}

static bool count_lost(struct view *view)
{
	static const char *const reasons[CALL_MARKS] = {
		[CALL_MARK_LOST] = "caller lost",
		[CALL_MARK_NOT_KEPT] = "caller not kept",
		[CALL_MARK_UNKNOWN] = "caller not known: those before had no exit probe",
	};
	const struct call_view *calls = view->calls;

	for (int i = 0; i < CALL_MARKS; i++) {
		view->stacks.truncated += calls->below[i];
		if (!add_reason(&view->stacks.reasons, reasons[i], calls->below[i]))
			return false;
	}
	view->stacks.complete = view->samples - view->stacks.truncated;
	view->stacks.guessed = calls->inferred;
	view_sort_reasons(&view->stacks.reasons);
	return add_reason(&view->losses, "calls on too many stacks", calls->no_track);
}

int view_fill_calls(struct view *view, const struct question *q, const struct filter_kept *kept,
		    uint64_t from, uint64_t to, struct fail *why)
{
	const struct filter *f = &q->filter;
	struct film *film = view->film;
	struct call_question question = {
		.kept = kept,
		.from = from,
		.to = to,
		.by_thread = view->group == VIEW_THREAD,
		.is_raw = q->is_raw,
		.is_whole = !f->pids.count && !f->tids.count && !f->comms.count &&
			    !q->shape.by_process && !q->shape.by_thread,
	};
	uint32_t event = (uint32_t)(view->event - film->events);
	uint32_t *group;
	bool done;
	int err;

	view->calls = calloc(1, sizeof(*view->calls));
	if (!view->calls)
		return fail_errno(why, -ENOMEM, NULL, "cannot add up the calls");
	view->film_samples = film_call_count(film, event);
	err = call_view_open(film, event, &question, view->calls, why);
	if (err)
		return err;
	if (view->calls->is_summary) {
		view->film_samples = view->calls->film_calls;
		view->group = VIEW_WHOLE;
	} else {
		view->processes = calloc(film->process_count + 1ull, sizeof(*view->processes));
	}
	view->samples = view->calls->calls;
	done = make_paths(view) && (view->processes || view->calls->is_summary);
	group = done ? calloc(view->path_count, sizeof(*group)) : NULL;
	done = group && add_weights(view, group) && count_lost(view);
	free(group);
	if (!done)
		return fail_errno(why, -ENOMEM, NULL, "cannot add up the calls");
	return 0;
}
