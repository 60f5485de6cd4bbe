// SPDX-License-Identifier: Apache-2.0
/*
 * A flame graph as one HTML page that needs nothing else. The page itself is web/src/offline/,
 * which draws with the flame graph of the web page; here the answer is written into it, as JSON:
 *
 *	event, unit	as in struct flame
 *	images, files	tables of paths
 *	frames		columns name, image, kind (a slot of the palette), file, line, inlined: one
 *			entry per different frame
 *	levels		one object of columns per level of the tree, level 0 is the root alone:
 *			frame, self, children (how many; they stand side by side in the next level,
 *			in the order of their parents), guess (which nodes of the level are one),
 *			before (the earlier film's self, in a diff)
 *
 * A node's total is its self and the totals of its children, so it is not written.
 */
#include "show/show.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "offline_page.h"
#include "show/markup.h"
#include "show/palette.h"

struct page {
	const struct flame *flame;
	struct json json;
	uint32_t *sorted;   /* nodes, those of the same frame side by side */
	uint32_t *frame_of; /* index of each node's frame */
	uint32_t *order;    /* nodes level by level, each level from left to right */
};

/* By image and file first, so that equal images and equal files are neighbours as well. */
static int compare_frames(const struct flame_node *a, const struct flame_node *b)
{
	int order = strcmp(a->image, b->image);

	if (order == 0)
		order = strcmp(a->file, b->file);
	if (order == 0)
		order = strcmp(a->name, b->name);
	if (order == 0)
		order = (a->kind > b->kind) - (a->kind < b->kind);
	if (order == 0)
		order = (a->line > b->line) - (a->line < b->line);
	if (order == 0)
		order = a->inlined - b->inlined;
	return order;
}

static int compare_nodes(const void *a, const void *b, void *context)
{
	const struct flame_node *nodes = context;

	return compare_frames(&nodes[*(const uint32_t *)a], &nodes[*(const uint32_t *)b]);
}

static void find_frames(struct page *p)
{
	struct flame_node *nodes = p->flame->nodes;
	uint32_t i, frame = 0;

	for (i = 0; i < p->flame->count; i++)
		p->sorted[i] = i;
	qsort_r(p->sorted, p->flame->count, sizeof(*p->sorted), compare_nodes, nodes);
	for (i = 0; i < p->flame->count; i++) {
		if (i && compare_frames(&nodes[p->sorted[i - 1]], &nodes[p->sorted[i]]) != 0)
			frame++;
		p->frame_of[p->sorted[i]] = frame;
	}
}

/* The i-th of the sorted nodes, if it is the first of its frame, else null. */
static const struct flame_node *frame_at(const struct page *p, uint32_t i)
{
	if (i && p->frame_of[p->sorted[i]] == p->frame_of[p->sorted[i - 1]])
		return NULL;
	return &p->flame->nodes[p->sorted[i]];
}

static const char *image_of(const struct flame_node *node)
{
	return node->image;
}

static const char *file_of(const struct flame_node *node)
{
	return node->file;
}

/* Writes the paths in the order of the frames; put_path_indices() counts them the same way. */
static void put_paths(struct page *p, const char *key,
		      const char *(*path_of)(const struct flame_node *node))
{
	const char *last = NULL;
	uint32_t i;

	json_open(&p->json, key, '[');
	for (i = 0; i < p->flame->count; i++) {
		const char *path = path_of(&p->flame->nodes[p->sorted[i]]);

		if (!last || strcmp(path, last) != 0)
			json_text(&p->json, NULL, path);
		last = path;
	}
	json_close(&p->json, ']');
}

static void put_path_indices(struct page *p, const char *key,
			     const char *(*path_of)(const struct flame_node *node))
{
	const char *last = NULL;
	uint32_t i, index = 0;

	json_open(&p->json, key, '[');
	for (i = 0; i < p->flame->count; i++) {
		const char *path = path_of(&p->flame->nodes[p->sorted[i]]);

		index += last && strcmp(path, last) != 0;
		last = path;
		if (frame_at(p, i))
			json_u64(&p->json, NULL, index);
	}
	json_close(&p->json, ']');
}

static void put_frame_numbers(struct page *p, const char *key,
			      uint64_t (*number_of)(const struct flame_node *node))
{
	uint32_t i;

	json_open(&p->json, key, '[');
	for (i = 0; i < p->flame->count; i++) {
		const struct flame_node *node = frame_at(p, i);

		if (node)
			json_u64(&p->json, NULL, number_of(node));
	}
	json_close(&p->json, ']');
}

static uint64_t kind_of(const struct flame_node *node)
{
	return palette_kind_slot(node->kind);
}

static uint64_t line_of(const struct flame_node *node)
{
	return node->line;
}

static uint64_t inlined_of(const struct flame_node *node)
{
	return node->inlined;
}

static void put_frames(struct page *p)
{
	uint32_t i;

	put_paths(p, "images", image_of);
	put_paths(p, "files", file_of);
	json_open(&p->json, "frames", '{');
	json_open(&p->json, "name", '[');
	for (i = 0; i < p->flame->count; i++) {
		const struct flame_node *node = frame_at(p, i);

		if (node)
			json_text(&p->json, NULL, node->name);
	}
	json_close(&p->json, ']');
	put_path_indices(p, "image", image_of);
	put_path_indices(p, "file", file_of);
	put_frame_numbers(p, "kind", kind_of);
	put_frame_numbers(p, "line", line_of);
	put_frame_numbers(p, "inlined", inlined_of);
	json_close(&p->json, '}');
}

static uint32_t count_children(const struct flame_node *nodes, uint32_t parent)
{
	uint32_t i, count = 0;

	for (i = nodes[parent].first_child; i; i = nodes[i].next_sibling)
		count++;
	return count;
}

/* Writes the nodes order[from] … order[to - 1]. */
static void put_level(struct page *p, uint32_t from, uint32_t to)
{
	const struct flame_node *nodes = p->flame->nodes;
	struct json *j = &p->json;
	uint32_t i;

	json_open(j, NULL, '{');
	json_open(j, "frame", '[');
	for (i = from; i < to; i++)
		json_u64(j, NULL, p->frame_of[p->order[i]]);
	json_close(j, ']');
	json_open(j, "self", '[');
	for (i = from; i < to; i++)
		json_u64(j, NULL, nodes[p->order[i]].self);
	json_close(j, ']');
	json_open(j, "children", '[');
	for (i = from; i < to; i++)
		json_u64(j, NULL, count_children(nodes, p->order[i]));
	json_close(j, ']');
	json_open(j, "guess", '[');
	for (i = from; i < to; i++) {
		if (nodes[p->order[i]].guess)
			json_u64(j, NULL, i - from);
	}
	json_close(j, ']');
	if (p->flame->is_diff) {
		json_open(j, "before", '[');
		for (i = from; i < to; i++)
			json_u64(j, NULL, nodes[p->order[i]].before_self);
		json_close(j, ']');
	}
	json_close(j, '}');
}

static void put_levels(struct page *p)
{
	const struct flame_node *nodes = p->flame->nodes;
	uint32_t from = 0, to = 1, next, i, child;

	json_open(&p->json, "levels", '[');
	p->order[0] = 0;
	while (from < to) {
		put_level(p, from, to);
		next = to;
		for (i = from; i < to; i++) {
			child = nodes[p->order[i]].first_child;
			for (; child; child = nodes[child].next_sibling)
				p->order[next++] = child;
		}
		from = to;
		to = next;
	}
	json_close(&p->json, ']');
}

static void put_data(struct page *p)
{
	const struct flame *flame = p->flame;
	struct json *j = &p->json;

	json_open(j, NULL, '{');
	json_text(j, "event", flame->event);
	json_text(j, "unit", flame->unit);
	put_frames(p);
	put_levels(p);
	json_close(j, '}');
}

bool show_has_page(void)
{
	return offline_head[0];
}

int show_html(const struct flame *flame, FILE *out)
{
	struct page p = {.flame = flame, .json = {.out = out}};
	int err = -ENOMEM;

	if (flame->count == 0)
		return -EINVAL;
	if (!show_has_page())
		return -ENOTSUP;
	p.sorted = calloc(flame->count, sizeof(*p.sorted));
	p.frame_of = calloc(flame->count, sizeof(*p.frame_of));
	p.order = calloc(flame->count, sizeof(*p.order));
	if (!p.sorted || !p.frame_of || !p.order)
		goto out;
	find_frames(&p);
	fputs(offline_head, out);
	markup_text(out, flame->title);
	fputs(offline_middle, out);
	put_data(&p);
	fputs(offline_tail, out);
	err = 0;
out:
	free(p.order);
	free(p.frame_of);
	free(p.sorted);
	return err;
}
