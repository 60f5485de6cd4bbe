// SPDX-License-Identifier: Apache-2.0
#include "query/calls/graph.h"

#include <errno.h>

/* What is known while the paths are walked. */
struct walk {
	const struct view *view;
	const struct call_functions *calls;
	struct call_graph *graph;
	struct map edge_of; /* by caller and callee */
	uint32_t *open;	    /* per label: how often it stands on the way to the path */
	uint64_t *times;    /* per path: what of its time the filter keeps */
	bool failed;
};

static bool is_function(uint32_t label)
{
	return label < CALL_GRAPH_FIRST_MARK;
}

static uint32_t end_of(const struct walk *w, uint32_t path)
{
	const struct call_path *at = &w->view->calls->paths.all.at[path];
	uint32_t label, frames = w->view->film->frame_count;

	if (!at->parent)
		return CALL_GRAPH_OUTSIDE;
	if (at->frame >= frames)
		return CALL_GRAPH_FIRST_MARK + (at->frame - frames);
	label = call_functions_label(w->calls, w->view, path);
	return label == LABEL_NONE ? CALL_GRAPH_FIRST_MARK + CALL_MARK_NOT_KEPT : label;
}

static struct call_edge *edge_of(struct walk *w, uint32_t caller, uint32_t callee)
{
	uint64_t key = (uint64_t)caller << 32 | callee;
	const uint64_t *known = map_get(&w->edge_of, key);

	if (known)
		return &w->graph->at[*known];
	if (!vec_push(w->graph, (struct call_edge){.caller = caller, .callee = callee}) ||
	    !map_put(&w->edge_of, key, w->graph->count - 1))
		return NULL;
	return vec_last(w->graph);
}

static void enter(void *context, uint32_t path)
{
	struct walk *w = context;
	const struct call_path *at = &w->view->calls->paths.all.at[path];
	uint32_t callee = end_of(w, path), caller = end_of(w, at->parent);
	struct call_edge *edge;

	if (at->is_kept && at->calls && is_function(callee)) {
		edge = edge_of(w, caller, callee);
		if (edge) {
			edge->calls += at->calls;
			edge->time_in += w->open[callee] ? 0 : w->times[path];
			/* the caller itself is one of those that are open */
			if (!is_function(caller) || w->open[caller] == 1)
				edge->time_out += w->times[path];
		} else {
			w->failed = true;
		}
	}
	if (is_function(callee))
		w->open[callee]++;
}

static void leave(void *context, uint32_t path)
{
	struct walk *w = context;
	uint32_t label = end_of(w, path);

	if (is_function(label))
		w->open[label]--;
}

int call_graph_of(const struct view *view, const struct call_functions *calls,
		  struct call_graph *graph)
{
	struct walk w = {.view = view, .calls = calls, .graph = graph};
	int err = -ENOMEM;

	*graph = (struct call_graph){0};
	if (!view->calls || view->calls->is_summary)
		return 0;
	w.open = calloc(calls->count + 1, sizeof(*w.open));
	w.times = calloc(view->path_count, sizeof(*w.times));
	for (uint32_t i = view->path_count; w.times && i-- > 1;) {
		const struct call_path *path = &view->calls->paths.all.at[i];

		w.times[i] += path->is_kept ? path->self : 0;
		w.times[path->parent] += w.times[i];
	}
	if (w.open && w.times)
		err = call_paths_walk(&view->calls->paths, enter, leave, &w);
	if (w.failed)
		err = -ENOMEM;
	map_free(&w.edge_of);
	free(w.open);
	free(w.times);
	return err;
}

void call_graph_free(struct call_graph *graph)
{
	vec_free(graph);
}
