// SPDX-License-Identifier: Apache-2.0
#include "query/flame_prune.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "film/film.h"

struct pruner {
	const struct flame *flame;
	struct flame *pruned;
	uint8_t *kept;	   /* by node */
	uint32_t *place;   /* by node: where a kept one is in pruned */
	uint32_t *smaller; /* by node: where its mark is; 0: it has none */
	uint32_t *last;	   /* by node of pruned: its last child */
};

/* No node has more than its parent. */
static uint64_t key_of(const struct flame_node *node)
{
	return node->total > node->before_total ? node->total : node->before_total;
}

/*
 * The least of the *wanted largest keys; *wanted becomes how many of those that have just that
 * belong to them.
 */
static uint64_t threshold(const struct flame *flame, uint32_t *wanted)
{
	uint64_t prefix = 0, mask = 0, largest = key_of(&flame->nodes[0]);
	int shift = 56;

	while (shift && !(largest >> shift))
		shift -= 8;
	for (; shift >= 0; shift -= 8) {
		uint32_t count[256] = {0}, i;
		unsigned int byte = 255;

		for (i = 0; i < flame->count; i++) {
			uint64_t key = key_of(&flame->nodes[i]);

			if ((key & mask) == prefix)
				count[key >> shift & 255]++;
		}
		while (count[byte] < *wanted)
			*wanted -= count[byte--];
		prefix |= (uint64_t)byte << shift;
		mask |= 255ull << shift;
	}
	return prefix;
}

/* Keeps that many nodes, each with its parent; returns how many marks are needed then. */
static uint32_t keep(struct pruner *p, uint32_t wanted)
{
	const struct flame_node *nodes = p->flame->nodes;
	uint64_t least = threshold(p->flame, &wanted);
	uint32_t i, marks = 0;

	/* of equal ones the first: parents come before their children */
	for (i = 0; i < p->flame->count; i++) {
		uint64_t key = key_of(&nodes[i]);

		p->smaller[i] = 0;
		p->kept[i] = key > least || (key == least && wanted);
		wanted -= p->kept[i] && key == least;
	}
	for (i = 1; i < p->flame->count; i++)
		if (!p->kept[i] && p->kept[nodes[i].parent] && !p->smaller[nodes[i].parent]) {
			p->smaller[nodes[i].parent] = 1;
			marks++;
		}
	return marks;
}

/* As many as possible, so that they and their marks fit. Returns how many nodes there will be. */
static uint32_t choose(struct pruner *p, uint32_t most)
{
	uint32_t wanted = p->flame->count < most ? p->flame->count : most;
	uint32_t marks = keep(p, wanted);

	for (int attempt = 0; wanted + marks > most && attempt < 6; attempt++) {
		wanted = (uint32_t)((uint64_t)wanted * most / (wanted + marks));
		marks = keep(p, wanted);
	}
	if (wanted + marks > most) {
		wanted = most / 2;
		marks = keep(p, wanted);
	}
	return wanted + marks;
}

static void append(struct pruner *p, uint32_t parent, const struct flame_node *node)
{
	struct flame *pruned = p->pruned;
	uint32_t i = pruned->count++;

	pruned->nodes[i] = *node;
	pruned->nodes[i].parent = parent;
	pruned->nodes[i].first_child = pruned->nodes[i].next_sibling = 0;
	if (!i)
		return;
	if (p->last[parent])
		pruned->nodes[p->last[parent]].next_sibling = i;
	else
		pruned->nodes[parent].first_child = i;
	p->last[parent] = i;
}

static void copy_kept(struct pruner *p)
{
	uint32_t node = 0, depth = 0;

	do {
		const struct flame_node *at = &p->flame->nodes[node];

		if (p->kept[node]) {
			p->place[node] = p->pruned->count;
			append(p, p->place[at->parent], at);
		}
		node = flame_next(p->flame, node, &depth);
	} while (node);
}

static int largest_first(const void *x, const void *y, void *context)
{
	const struct flame_node *nodes = context;
	const struct flame_node *a = &nodes[*(const uint32_t *)x],
				*b = &nodes[*(const uint32_t *)y];
	int order;

	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	if (a->before_total != b->before_total)
		return a->before_total > b->before_total ? -1 : 1;
	order = strcmp(a->name, b->name);
	if (!order)
		order = strcmp(a->image, b->image);
	return order ? order : a < b ? -1 : 1;
}

/* The children of each node in order; room for all nodes. */
static void sort_siblings(struct pruner *p, uint32_t *children)
{
	struct flame_node *nodes = p->pruned->nodes;

	for (uint32_t i = 0; i < p->pruned->count; i++) {
		uint32_t n = 0, k;

		for (k = nodes[i].first_child; k; k = nodes[k].next_sibling)
			children[n++] = k;
		if (n < 2)
			continue;
		qsort_r(children, n, sizeof(*children), largest_first, nodes);
		nodes[i].first_child = children[0];
		for (k = 0; k < n; k++)
			nodes[children[k]].next_sibling = k + 1 < n ? children[k + 1] : 0;
		p->last[i] = children[n - 1];
	}
}

static void add_marks(struct pruner *p)
{
	const struct flame_node *nodes = p->flame->nodes;
	const struct flame_node mark = {
		.name = FLAME_SMALLER, .image = "", .kind = FILM_FRAME_MARK, .file = ""};

	for (uint32_t i = 0; i < p->flame->count; i++)
		if (p->smaller[i]) {
			p->smaller[i] = p->pruned->count;
			append(p, p->place[i], &mark);
		}
	for (uint32_t i = 1; i < p->flame->count; i++) {
		struct flame_node *to;

		if (p->kept[i] || !p->kept[nodes[i].parent])
			continue;
		to = &p->pruned->nodes[p->smaller[nodes[i].parent]];
		to->self = to->total += nodes[i].total;
		to->before_self = to->before_total += nodes[i].before_total;
		to->guess |= nodes[i].guess;
	}
}

int flame_prune(const struct flame *flame, uint32_t most, struct flame *pruned, uint32_t *hidden)
{
	uint32_t count = flame->count, room, marks = 0, *children = NULL;
	struct pruner p = {.flame = flame, .pruned = pruned};
	int err = -ENOMEM;

	*pruned = *flame;
	pruned->nodes = NULL;
	pruned->count = *hidden = 0;
	p.kept = calloc(count + 1ull, sizeof(*p.kept));
	p.place = calloc(count + 1ull, sizeof(*p.place));
	p.smaller = calloc(count + 1ull, sizeof(*p.smaller));
	if (!count || !p.kept || !p.place || !p.smaller)
		goto out;
	room = choose(&p, most);
	pruned->nodes = calloc(room, sizeof(*pruned->nodes));
	p.last = calloc(room, sizeof(*p.last));
	if (!pruned->nodes || !p.last)
		goto out;
	copy_kept(&p);
	children = calloc(room, sizeof(*children));
	if (!children)
		goto out;
	sort_siblings(&p, children);
	marks = pruned->count;
	add_marks(&p);
	*hidden = count - marks;
	err = 0;
out:
	free(p.kept);
	free(p.place);
	free(p.smaller);
	free(p.last);
	free(children);
	if (err)
		flame_free(pruned);
	return err;
}
