// SPDX-License-Identifier: Apache-2.0
#include "query/sandwich.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/report.h"

enum side {
	CALLERS,
	CALLEES
};

struct maker {
	const struct flame *flame;
	const char *name, *image;
	struct tree *trees;
	uint32_t *place; /* by node: where it is among the callees; counted from 1, 0: it is not */
	uint64_t self;
};

static bool is_function(const struct maker *m, const struct flame_node *node)
{
	return !strcmp(node->name, m->name) && (!m->image || !strcmp(node->image, m->image));
}

static uint32_t intern(struct tree *tree, const struct flame_node *node)
{
	return label_intern(&tree->labels, &(struct label){
						   .name = node->name,
						   .image = node->image,
						   .kind = node->kind,
						   .file = node->file,
						   .line = node->line,
					   });
}

/*
 * The child of a node of one of the trees that stands for a node of the flame; UINT32_MAX: no
 * memory.
 */
static uint32_t enter(struct tree *tree, uint32_t parent, const struct flame_node *node)
{
	uint32_t label = intern(tree, node), child;

	if (label == LABEL_NONE)
		return UINT32_MAX;
	child = tree_child(tree, parent, label, node->inlined);
	if (!child)
		return UINT32_MAX;
	tree->nodes.at[child].guess |= node->guess;
	return child;
}

static int add_callers(struct maker *m, uint32_t i)
{
	struct tree *tree = &m->trees[CALLERS];
	const struct flame_node *nodes = m->flame->nodes;
	uint32_t at = 0;

	for (uint32_t up = nodes[i].parent; i && up; up = nodes[up].parent) {
		at = enter(tree, at, &nodes[up]);
		if (at == UINT32_MAX)
			return -ENOMEM;
	}
	tree->nodes.at[at].self[TREE_NOW] += nodes[i].total;
	return 0;
}

static int add_callee(struct maker *m, uint32_t i)
{
	struct tree *tree = &m->trees[CALLEES];
	const struct flame_node *node = &m->flame->nodes[i];
	uint32_t parent = i ? m->place[node->parent] : 0, at = 0;

	if (parent)
		at = enter(tree, parent - 1, node);
	if (at == UINT32_MAX)
		return -ENOMEM;
	m->place[i] = at + 1;
	tree->nodes.at[at].self[TREE_NOW] += node->self;
	return 0;
}

/* Parents come first: what is known of a node's parent tells whether it lies below the function. */
static int look_at(struct maker *m, uint32_t i)
{
	const struct flame_node *node = &m->flame->nodes[i];
	bool is_below = i && m->place[node->parent], is_found = is_function(m, node);
	int err;

	if (is_found)
		m->self += node->self;
	if (!is_below && !is_found)
		return 0;
	err = add_callee(m, i);
	return err || is_below ? err : add_callers(m, i);
}

static int start_tree(struct maker *m, struct tree *tree)
{
	static const struct shape shape;
	struct label label = {.name = m->name, .image = m->image ? m->image : "", .file = ""};

	if (tree_init(tree, &shape, false))
		return -ENOMEM;
	/* of what kind it is, the first one that is found says */
	for (uint32_t i = 0; i < m->flame->count; i++)
		if (is_function(m, &m->flame->nodes[i])) {
			tree->nodes.at[0].label = intern(tree, &m->flame->nodes[i]);
			return tree->nodes.at[0].label == LABEL_NONE ? -ENOMEM : 0;
		}
	label.kind = FILM_FRAME_NATIVE;
	tree->nodes.at[0].label = label_intern(&tree->labels, &label);
	return tree->nodes.at[0].label == LABEL_NONE ? -ENOMEM : 0;
}

static int make_flame(struct maker *m, struct tree *tree, struct flame *flame)
{
	const struct film_event event = {.name = m->flame->event, .unit = m->flame->unit};
	const struct view view = {.event = &event};
	int err = tree_sum(tree);

	return err ? err : flame_of_tree(tree, &view, false, flame);
}

int sandwich_make(const struct flame *flame, const char *name, const char *image,
		  struct sandwich *sandwich)
{
	struct maker m = {.flame = flame, .name = name, .image = image, .trees = sandwich->trees};
	int err = 0;

	*sandwich = (struct sandwich){0};
	m.place = calloc(flame->count + 1ull, sizeof(*m.place));
	if (!m.place || start_tree(&m, &m.trees[CALLERS]) || start_tree(&m, &m.trees[CALLEES]))
		err = -ENOMEM;
	for (uint32_t i = 0; !err && i < flame->count; i++)
		err = look_at(&m, i);
	free(m.place);
	if (!err)
		err = make_flame(&m, &m.trees[CALLERS], &sandwich->callers);
	if (!err)
		err = make_flame(&m, &m.trees[CALLEES], &sandwich->callees);
	if (err)
		return err;
	sandwich->self = m.self;
	sandwich->total = sandwich->callees.nodes[0].total;
	return 0;
}

void sandwich_free(struct sandwich *sandwich)
{
	flame_free(&sandwich->callers);
	flame_free(&sandwich->callees);
	tree_free(&sandwich->trees[CALLERS]);
	tree_free(&sandwich->trees[CALLEES]);
}
