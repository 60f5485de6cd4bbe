// SPDX-License-Identifier: Apache-2.0
#include "query/functions.h"

#include <errno.h>
#include <string.h>

static int most_self_first(const void *x, const void *y)
{
	const struct function *a = x, *b = y;
	int order;

	for (int side = TREE_NOW; side <= TREE_BEFORE; side++) {
		if (a->self[side] != b->self[side])
			return a->self[side] > b->self[side] ? -1 : 1;
		if (a->total[side] != b->total[side])
			return a->total[side] > b->total[side] ? -1 : 1;
	}
	order = strcmp(a->label->name, b->label->name);
	if (!order)
		order = strcmp(a->label->image, b->label->image);
	return order ? order : a->label < b->label ? -1 : a->label > b->label;
}

/* Adds each node to its function; open counts how often a function stands on the path to the node. */
static void add_nodes(const struct tree *tree, const struct flame *flame, struct function *rows,
		      uint32_t *open)
{
	uint32_t path[TREE_DEPTH_MAX + 1];
	uint32_t node = 0, depth = 0, length = 0;

	do {
		const struct tree_node *at = &tree->nodes.at[node];
		struct function *row = &rows[at->label];

		row->label = &tree->labels.all.at[at->label];
		row->guess |= at->guess;
		while (length > depth)
			open[path[--length]]--;
		for (int side = TREE_NOW; side <= TREE_BEFORE; side++) {
			row->self[side] += at->self[side];
			if (!open[at->label])
				row->total[side] += at->total[side];
		}
		open[at->label]++;
		path[length++] = at->label;
		node = flame_next(flame, node, &depth);
	} while (node);
}

int functions_of(const struct tree *tree, const struct flame *flame, struct functions *functions)
{
	size_t count = tree->labels.all.count, i;
	struct function *rows = calloc(count, sizeof(*rows));
	uint32_t *open = calloc(count, sizeof(*open));

	*functions = (struct functions){.at = rows};
	if (!rows || !open) {
		free(open);
		return -ENOMEM;
	}
	add_nodes(tree, flame, rows, open);
	free(open);
	for (i = 0; i < count; i++) {
		/* kind 0: the root and the groups are no functions, nothing is spent in themselves;
		   no label: no node has it, frames may lie too deep to be shown */
		if (rows[i].label && rows[i].label->kind)
			rows[functions->count++] = rows[i];
	}
	qsort(rows, functions->count, sizeof(*rows), most_self_first);
	return 0;
}

void functions_free(struct functions *functions)
{
	free(functions->at);
	*functions = (struct functions){0};
}
