// SPDX-License-Identifier: Apache-2.0
#include "query/calls/functions.h"

#include <errno.h>
#include <string.h>

/*
 * The labels of all functions that were called, also where the filter leaves their own calls out:
 * they may have called others that count.
 */
static int find_labels(struct tree *tree, const struct view *view, struct call_functions *calls)
{
	const struct film *film = view->film;
	struct frame_labels labels;
	int err = frame_labels_init(&labels, &tree->labels, film);

	calls->label_of_frame = malloc((film->frame_count + 1ull) * sizeof(*calls->label_of_frame));
	if (!calls->label_of_frame)
		err = -ENOMEM;
	else
		memset(calls->label_of_frame, 0xff,
		       (film->frame_count + 1ull) * sizeof(*calls->label_of_frame));
	for (uint32_t i = 1; !err && i < view->path_count; i++) {
		const struct call_path *path = &view->calls->paths.all.at[i];
		const struct label_use *use;
		uint32_t count;

		if (!path->parent || path->frame >= film->frame_count ||
		    calls->label_of_frame[path->frame] != LABEL_NONE)
			continue;
		use = frame_labels_of(&labels, path->frame, &count);
		if (use)
			calls->label_of_frame[path->frame] = use->label;
		else
			err = -ENOMEM;
	}
	frame_labels_free(&labels);
	calls->count = tree->labels.all.count;
	return err;
}

static int add_stats(const struct view *view, struct call_functions *calls)
{
	calls->of_label = calloc(calls->count + 1, sizeof(struct call_stats *));
	if (!calls->of_label)
		return -ENOMEM;
	for (uint32_t i = 0; i < view->film->frame_count; i++) {
		struct call_stats **to;

		if (calls->label_of_frame[i] == LABEL_NONE || !view->calls->of_frame[i])
			continue;
		to = &calls->of_label[calls->label_of_frame[i]];
		if (!*to)
			*to = calloc(1, sizeof(struct call_stats));
		if (!*to || !call_stats_merge(*to, view->calls->of_frame[i]))
			return -ENOMEM;
	}
	return 0;
}

/* What is known while the paths are walked. */
struct waits {
	const struct view *view;
	struct call_functions *calls;
	uint32_t *open; /* per label: how often it stands on the way to the path */
};

/* A path's wait counts unless a function of the same label leads to it. */
static void enter(void *context, uint32_t path)
{
	struct waits *w = context;
	const struct call_path *at = &w->view->calls->paths.all.at[path];
	uint32_t label = call_functions_label(w->calls, w->view, path);

	if (label == LABEL_NONE)
		return;
	if (!w->open[label]++ && at->is_kept && w->calls->of_label[label])
		w->calls->of_label[label]->waited += at->waited;
}

static void leave(void *context, uint32_t path)
{
	struct waits *w = context;
	uint32_t label = call_functions_label(w->calls, w->view, path);

	if (label != LABEL_NONE)
		w->open[label]--;
}

static int add_waits(const struct view *view, struct call_functions *calls)
{
	struct waits w = {view, calls, calloc(calls->count + 1, sizeof(*w.open))};
	int err = w.open ? call_paths_walk(&view->calls->paths, enter, leave, &w) : -ENOMEM;

	free(w.open);
	return err;
}

uint32_t call_functions_label(const struct call_functions *calls, const struct view *view,
			      uint32_t path)
{
	const struct call_path *at = &view->calls->paths.all.at[path];

	return at->frame < view->film->frame_count ? calls->label_of_frame[at->frame] : LABEL_NONE;
}

int call_functions_of(struct tree *tree, const struct view *view, struct call_functions *calls)
{
	int err;

	*calls = (struct call_functions){0};
	if (!view->calls)
		return 0;
	err = find_labels(tree, view, calls);
	if (!err)
		err = add_stats(view, calls);
	return err ? err : add_waits(view, calls);
}

void call_functions_free(struct call_functions *calls)
{
	for (size_t i = 0; calls->of_label && i < calls->count; i++)
		call_stats_free(calls->of_label[i]);
	free(calls->of_label);
	free(calls->label_of_frame);
	*calls = (struct call_functions){0};
}

/*
 * What tracing costs is taken off each call by itself, which cannot be below 0, and off a
 * function's total as a whole, where errors cancel out: a shortest call that was cut off at what it
 * called could be longer than the average.
 */
static void agree(struct call_stats *stats, uint64_t total)
{
	if (stats->clamped && stats->measured && stats->min > total / stats->measured)
		stats->min = total / stats->measured;
}

void call_functions_add_to(struct call_functions *calls, const struct tree *tree,
			   const struct view *view, enum tree_side side,
			   struct functions *functions)
{
	if (!calls->of_label)
		return;
	for (size_t i = 0; i < functions->count; i++) {
		struct function *f = &functions->at[i];
		size_t label = (size_t)(f->label - tree->labels.all.at);

		if (label >= calls->count || !calls->of_label[label])
			continue;
		f->calls[side] = calls->of_label[label];
		calls->of_label[label] = NULL;
		if (view->calls->is_summary && f->calls[side]->total > f->total[side])
			f->total[side] = f->calls[side]->total;
		if (!view->calls->is_summary)
			agree(f->calls[side], f->total[side]);
	}
}
