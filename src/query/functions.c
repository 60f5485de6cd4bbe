// SPDX-License-Identifier: Apache-2.0
#include "query/functions.h"

#include <errno.h>
#include <stdlib.h>
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

/*
 * Adds each node to its function; open counts how often a function stands on the path to the node.
 */
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
	return 0;
}

void functions_sort(struct functions *functions)
{
	if (functions->count)
		qsort(functions->at, functions->count, sizeof(*functions->at), most_self_first);
}

void functions_free(struct functions *functions)
{
	for (size_t i = 0; i < functions->count; i++) {
		call_stats_free(functions->at[i].calls[TREE_NOW]);
		call_stats_free(functions->at[i].calls[TREE_BEFORE]);
	}
	free(functions->at);
	*functions = (struct functions){0};
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t function_unsure_total(const struct function *f, enum tree_side side)
{
	return f->calls[side] ? least(f->calls[side]->unsure, f->total[side]) : 0;
}

uint64_t function_unsure_self(const struct function *f, enum tree_side side)
{
	return f->calls[side] ? least(f->calls[side]->unsure_self, f->self[side]) : 0;
}

static uint64_t key_of(const struct function *f, enum function_order order)
{
	const struct call_stats *calls = f->calls[TREE_NOW];

	if (order == FUNCTIONS_BY_SELF)
		return f->self[TREE_NOW] - function_unsure_self(f, TREE_NOW);
	if (order == FUNCTIONS_BY_TOTAL)
		return f->total[TREE_NOW] - function_unsure_total(f, TREE_NOW);
	if (!calls)
		return 0;
	if (order == FUNCTIONS_BY_CALLS)
		return calls->calls;
	if (order == FUNCTIONS_BY_AVERAGE)
		return call_stats_average(calls);
	if (order == FUNCTIONS_BY_MAX)
		return calls->max;
	return order == FUNCTIONS_BY_P99 ? call_stats_quantile(calls, 990) : 0;
}

/* Of equal ones the one that would stand first in functions that are sorted. */
static int comes_first(const void *x, const void *y, enum function_order order)
{
	const struct function *a = x, *b = y;
	uint64_t key_a = key_of(a, order), key_b = key_of(b, order);

	if (key_a != key_b)
		return key_a > key_b ? -1 : 1;
	return most_self_first(a, b);
}

static int first_first(const void *x, const void *y, void *context)
{
	return comes_first(*(const struct function *const *)x, *(const struct function *const *)y,
			   *(const enum function_order *)context);
}

/* In a heap whose top comes last: moves what stands at i down to where it belongs. */
static void sink(const struct function **heap, size_t count, size_t i, enum function_order order)
{
	const struct function *moved = heap[i];
	size_t child;

	for (; (child = 2 * i + 1) < count; i = child) {
		if (child + 1 < count && comes_first(heap[child], heap[child + 1], order) < 0)
			child++;
		if (comes_first(moved, heap[child], order) > 0)
			break;
		heap[i] = heap[child];
	}
	heap[i] = moved;
}

const struct function **functions_first(const struct functions *functions,
					enum function_order order, size_t *most)
{
	size_t count = *most < functions->count ? *most : functions->count, i;
	const struct function **rows = calloc(count + 1, sizeof(*rows));

	*most = count;
	if (!rows || !count)
		return rows;
	for (i = 0; i < count; i++)
		rows[i] = &functions->at[i];
	for (i = count / 2; i-- > 0;)
		sink(rows, count, i, order);
	for (i = count; i < functions->count; i++) {
		if (comes_first(&functions->at[i], rows[0], order) > 0)
			continue;
		rows[0] = &functions->at[i];
		sink(rows, count, 0, order);
	}
	qsort_r(rows, count, sizeof(*rows), first_first, &order);
	return rows;
}

const struct function **functions_in_order(const struct functions *functions,
					   enum function_order order)
{
	size_t count = functions->count;
	const struct function **rows;

	if (order != FUNCTIONS_AS_THEY_ARE)
		return functions_first(functions, order, &count);
	rows = calloc(count + 1, sizeof(*rows));
	for (size_t i = 0; rows && i < count; i++)
		rows[i] = &functions->at[i];
	return rows;
}

uint64_t function_on_cpu(const struct function *f, enum tree_side side)
{
	uint64_t waited = f->calls[side] ? f->calls[side]->waited : 0;

	return f->total[side] > waited ? f->total[side] - waited : 0;
}
