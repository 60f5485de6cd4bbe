// SPDX-License-Identifier: Apache-2.0
#include "query/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is known while one view is added. */
struct adder {
	struct tree *tree;
	const struct view *view;
	enum tree_side side;
	struct frame_labels labels;
	uint32_t *node_of; /* per stack: its node, below the root that */
	uint32_t *seen_in; /* this says; roots of groups are counted from 1 here */
	uint32_t root_number;
	vec(uint32_t) path;
};

int tree_init(struct tree *tree, const struct shape *shape, bool across_films)
{
	uint32_t root;

	*tree = (struct tree){.shape = *shape};
	tree->labels = (struct labels){.shape = &tree->shape, .across_films = across_films};
	root = label_intern_name(&tree->labels, "all", 0);
	if (root == LABEL_NONE || !vec_push(&tree->nodes, (struct tree_node){.label = root}))
		return -ENOMEM;
	return 0;
}

void tree_free(struct tree *tree)
{
	labels_free(&tree->labels);
	vec_free(&tree->nodes);
	map_free(&tree->child_of);
	vec_free(&tree->groups);
	*tree = (struct tree){0};
}

enum view_group tree_group(const struct shape *shape)
{
	return shape->by_thread ? VIEW_THREAD : shape->by_process ? VIEW_PROCESS : VIEW_WHOLE;
}

uint32_t tree_child(struct tree *tree, uint32_t parent, uint32_t label, bool inlined)
{
	uint64_t key = (uint64_t)parent << 32 | label;
	const uint64_t *known;
	struct tree_node node = {
		.parent = parent,
		.label = label,
		.inlined = inlined,
	};

	/* one frame for a run of frames of one image; also all that lies too deep */
	if (parent && tree->nodes.at[parent].label == label &&
	    (tree->shape.by_image || tree->nodes.at[parent].depth >= TREE_DEPTH_MAX))
		return parent;
	known = map_get(&tree->child_of, key);
	if (known) {
		tree->nodes.at[*known].inlined &= inlined;
		return (uint32_t)*known;
	}
	node.depth = tree->nodes.at[parent].depth + 1;
	if (tree->nodes.count >= UINT32_MAX || !vec_push(&tree->nodes, node) ||
	    !map_put(&tree->child_of, key, tree->nodes.count - 1))
		return 0;
	return (uint32_t)tree->nodes.count - 1;
}

static uint32_t child_name(struct tree *tree, uint32_t parent, const char *name, unsigned int kind)
{
	uint32_t label = label_intern_name(&tree->labels, name, kind);

	return label == LABEL_NONE ? 0 : tree_child(tree, parent, label, false);
}

/*
 * The frame of a group, "redis-server (1234)". Numbers of processes differ from one film to the
 * next: across films the name alone tells groups apart.
 */
static uint32_t child_group(struct tree *tree, uint32_t parent, const char *prefix,
			    const char *comm, uint32_t number)
{
	char name[256];

	if (!*comm)
		comm = NAME_UNKNOWN;
	if (tree->labels.across_films)
		snprintf(name, sizeof(name), "%s%.200s", prefix, comm);
	else
		snprintf(name, sizeof(name), "%s%.200s (%u)", prefix, comm, number);
	return child_name(tree, parent, name, 0);
}

/* The node below which a group's stacks hang; UINT32_MAX: no memory. */
static uint32_t group_node(struct adder *a, uint32_t group)
{
	const struct film *film = a->view->film;
	struct tree *tree = a->tree;
	const struct film_thread *thread = NULL;
	uint32_t node = 0, thread_id = 0;

	if (a->view->group == VIEW_THREAD) {
		thread_id = group;
		thread = &film->threads[group];
		group = thread->process;
	}
	if (tree->shape.by_process) {
		const struct film_process *process = &film->processes[group];
		char service[SHAPE_SERVICE_SIZE];
		const char *name = shape_process_group(&tree->shape, process, service);

		node = name ? child_name(tree, node, name, 0)
			    : child_group(tree, node, "", process->comm, process->pid);
		if (!node)
			return UINT32_MAX;
	}
	if (tree->shape.by_thread) {
		node = child_group(tree, node, "[thread] ", thread->comm, thread->tid);
		if (!node)
			return UINT32_MAX;
	}
	if (node && a->side == TREE_NOW && !tree->nodes.at[node].group) {
		if (!vec_push(&tree->groups, (struct tree_group){node, group, thread_id, 0}))
			return UINT32_MAX;
		tree->nodes.at[node].group = (uint32_t)tree->groups.count;
	}
	return node;
}

/* A mark below a node; in a tree that is full, the one that says so. */
static uint32_t child_mark(struct tree *tree, uint32_t node, const char *mark)
{
	if (tree->nodes.at[node].depth >= TREE_DEPTH_MAX - 1)
		mark = TREE_TOO_DEEP;
	return child_name(tree, node, mark, FILM_FRAME_MARK);
}

/* Goes from a node to what one more entry of a stack adds to it; UINT32_MAX: no memory. */
static uint32_t enter(struct adder *a, uint32_t node, const struct film_stack *stack)
{
	struct tree *tree = a->tree;
	uint32_t count, i;
	const char *mark = view_mark(a->view, stack->frame);
	const struct label_use *uses;

	if (mark) {
		node = child_mark(tree, node, mark);
		return node ? node : UINT32_MAX;
	}
	uses = frame_labels_of(&a->labels, stack->frame, &count);
	for (i = 0; uses && i < count; i++) {
		if (tree->nodes.at[node].depth >= TREE_DEPTH_MAX - 1)
			node = child_mark(tree, node, TREE_TOO_DEEP);
		else
			node = tree_child(tree, node, uses[i].label, uses[i].inlined);
		if (!node)
			return UINT32_MAX;
	}
	if (!uses)
		return UINT32_MAX;
	if (stack->how == FILM_HOW_FRAME_POINTER)
		tree->nodes.at[node].guess = true;
	return node;
}

static uint32_t node_of_stack(struct adder *a, uint32_t stack, uint32_t root)
{
	const struct film_stack *paths = a->view->paths;
	uint32_t node = root;

	if (!stack)
		return child_name(a->tree, root, NAME_UNKNOWN, FILM_FRAME_MARK);
	a->path.count = 0;
	for (; stack && a->seen_in[stack] != a->root_number; stack = paths[stack].parent)
		if (!vec_push(&a->path, stack))
			return UINT32_MAX;
	if (stack)
		node = a->node_of[stack];
	while (a->path.count) {
		stack = a->path.at[--a->path.count];
		node = enter(a, node, &paths[stack]);
		if (node == UINT32_MAX)
			return node;
		a->node_of[stack] = node;
		a->seen_in[stack] = a->root_number;
	}
	return node;
}

static bool add_weights(struct adder *a)
{
	uint32_t root = UINT32_MAX;

	vec_foreach (&a->view->weights, weight) {
		uint32_t node;

		if (weight == a->view->weights.at || weight->group != weight[-1].group) {
			uint32_t next = group_node(a, weight->group);

			if (next == UINT32_MAX)
				return false;
			/* groups that are not shown apart share what is known of their stacks */
			a->root_number += next != root;
			root = next;
		}
		node = node_of_stack(a, weight->stack, root);
		if (node == UINT32_MAX || (!weight->stack && !node))
			return false;
		a->tree->nodes.at[node].self[a->side] += weight->value;
		if (a->tree->nodes.at[root].group && a->side == TREE_NOW)
			a->tree->groups.at[a->tree->nodes.at[root].group - 1].samples +=
				weight->samples;
	}
	return true;
}

int tree_add(struct tree *tree, const struct view *view, enum tree_side side)
{
	uint32_t stacks = view->path_count;
	struct adder a = {.tree = tree, .view = view, .side = side};
	int err = frame_labels_init(&a.labels, &tree->labels, view->film);

	a.node_of = calloc(stacks + 1ull, sizeof(*a.node_of));
	a.seen_in = calloc(stacks + 1ull, sizeof(*a.seen_in));
	if (!err && (!a.node_of || !a.seen_in || !add_weights(&a)))
		err = -ENOMEM;
	free(a.node_of);
	free(a.seen_in);
	vec_free(&a.path);
	frame_labels_free(&a.labels);
	return err;
}

static int largest_first(const void *x, const void *y, void *context)
{
	const struct tree *tree = context;
	const struct tree_node *a = &tree->nodes.at[*(const uint32_t *)x];
	const struct tree_node *b = &tree->nodes.at[*(const uint32_t *)y];
	int order;

	for (int side = TREE_NOW; side <= TREE_BEFORE; side++)
		if (a->total[side] != b->total[side])
			return a->total[side] > b->total[side] ? -1 : 1;
	order = strcmp(tree->labels.all.at[a->label].name, tree->labels.all.at[b->label].name);
	return order ? order : a->label < b->label ? -1 : a->label > b->label;
}

/* Puts the children of a node into order; room for all of them. */
static void sort_children(struct tree *tree, struct tree_node *node, uint32_t *children)
{
	uint32_t n = 0, i;

	for (i = node->first_child; i; i = tree->nodes.at[i].next_sibling)
		children[n++] = i;
	if (n < 2)
		return;
	qsort_r(children, n, sizeof(*children), largest_first, tree);
	node->first_child = children[0];
	for (i = 0; i < n; i++)
		tree->nodes.at[children[i]].next_sibling = i + 1 < n ? children[i + 1] : 0;
}

void tree_total(struct tree *tree)
{
	/* children come behind their parents: each is put before those that came after it */
	for (size_t i = tree->nodes.count; i-- > 0;) {
		struct tree_node *node = &tree->nodes.at[i];
		struct tree_node *parent = &tree->nodes.at[node->parent];

		for (int side = TREE_NOW; side <= TREE_BEFORE; side++) {
			node->total[side] += node->self[side];
			if (i)
				parent->total[side] += node->total[side];
		}
		if (i) {
			node->next_sibling = parent->first_child;
			parent->first_child = (uint32_t)i;
		}
	}
}

int tree_sum(struct tree *tree)
{
	uint32_t *children = calloc(tree->nodes.count, sizeof(*children));

	if (!children)
		return -ENOMEM;
	tree_total(tree);
	vec_foreach (&tree->nodes, node)
		sort_children(tree, node, children);
	free(children);
	return 0;
}
