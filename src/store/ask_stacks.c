// SPDX-License-Identifier: Apache-2.0
/* The stacks of films, as one tree. */
#include <errno.h>
#include <stdlib.h>

#include "query/report.h"
#include "store/ask_private.h"
#include "store/index_series.h"

struct merger {
	struct tree *tree;
	enum tree_side side;
	struct store_answer_private *private;
	struct store_sum *sum;
	struct fail *why;
};

/* Labels that came with a film get strings of their own: the film goes. */
static bool adopt(struct merger *m, size_t from)
{
	struct labels *labels = &m->tree->labels;

	for (size_t i = from; i < labels->all.count; i++) {
		struct label *label = &labels->all.at[i];
		const char *name = name_pool_add(&m->private->names, label->name);
		const char *image = name_pool_add(&m->private->names, label->image);
		const char *file = name_pool_add(&m->private->names, label->file);

		label->name = name ? name : "";
		label->image = image ? image : "";
		label->file = file ? file : "";
		if (label->of_image) {
			struct film_image *copy = malloc(sizeof(*copy));

			if (copy)
				*copy = *label->of_image;
			label->of_image = copy;
			if (!copy || !vec_push(&m->private->images, copy)) {
				free(copy);
				label->of_image = NULL;
				return false;
			}
			copy->path = label->image;
		}
		if (!name || !image || !file)
			return false;
	}
	return true;
}

/* What a film says of its calls, added to those of other films. */
static int merge_calls(struct merger *m, const struct view *view)
{
	struct call_functions found, *all = &m->private->calls;
	int err = call_functions_of(m->tree, view, &found);

	m->private->is_summary |= view->calls->is_summary;
	if (!err && found.count > all->count) {
		struct call_stats **grown =
			realloc(all->of_label, found.count * sizeof(struct call_stats *));

		err = grown ? 0 : -ENOMEM;
		for (size_t i = all->count; grown && i < found.count; i++)
			grown[i] = NULL;
		all->of_label = grown ? grown : all->of_label;
		all->count = grown ? found.count : all->count;
	}
	for (size_t i = 0; !err && i < found.count; i++) {
		struct call_stats *stats = found.of_label[i];

		if (stats && all->of_label[i]) {
			all->of_label[i]->waited += stats->waited;
			err = call_stats_merge(all->of_label[i], stats) ? 0 : -ENOMEM;
		} else if (stats) {
			all->of_label[i] = stats;
			found.of_label[i] = NULL;
		}
	}
	call_functions_free(&found);
	return err;
}

static int merge_film(void *context, const struct ask_film *of)
{
	struct merger *m = context;
	size_t labels = m->tree->labels.all.count;
	struct view view = {0};
	bool has;
	int err = asked_view(of, tree_group(&m->tree->shape), &view, &m->private->request, &has,
			     m->why);

	if (!err && has) {
		m->tree->shape = view_shape(&view, &m->tree->shape);
		err = sum_add(m->sum, view.samples, view.total, m->why);
		m->sum->truncated += view.stacks.truncated;
		m->sum->guessed += view.stacks.guessed;
	}
	if (!err && has &&
	    (tree_add(m->tree, &view, m->side) ||
	     (m->private->wants_calls && view.calls && merge_calls(m, &view)) || !adopt(m, labels)))
		err = fail_errno(m->why, -ENOMEM, NULL, "cannot merge the stacks");
	view_free(&view);
	return !err && m->tree->nodes.count > ASK_NODES_MAX ? ASK_ENOUGH : err;
}

int films_add(const struct asked *asked, struct tree *tree, enum tree_side side,
	      struct store_answer_private *private, struct store_sum *sum, struct fail *why)
{
	struct merger merger = {tree, side, private, sum, why};
	struct identity *rules = tree->shape.by_service ? index_rules(asked->index) : NULL;
	int err;

	if (tree->shape.by_service && !rules)
		return fail_errno(why, -ENOMEM, NULL, "cannot copy the rules for services");
	tree->shape.rules = rules;
	err = ask_films(asked, film_open, sum, merge_film, &merger, why);
	tree->shape.rules = NULL;
	identity_free(rules);
	return err;
}
