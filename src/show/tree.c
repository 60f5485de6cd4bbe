// SPDX-License-Identifier: Apache-2.0
#include "show/show.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "show/call_notes.h"
#include "show/words.h"

#define INLINED " (inlined)"

enum {
	NUMBERS = 31, /* columns before the branches */
	NAME_WIDTH_MIN = 24
};

/*
 * A line per node. Only where a stack forks is the text indented: a lone child stands below its
 * parent, so that a path of sixty frames stays readable.
 */
struct drawing {
	const struct flame *flame;
	FILE *out;
	uint64_t smallest; /* what has less is summed up */
	bool color;
	size_t width, name_width; /* as in struct show_options */
	uint8_t *more;		  /* per level: another branch follows below */
	uint32_t *level;	  /* per depth: how far its node is indented */
};

/* Whether a node's children stand apart: two of them, or one and what was summed up. */
static bool forks(const struct drawing *d, uint32_t node)
{
	const struct flame_node *nodes = d->flame->nodes;
	uint32_t first = nodes[node].first_child;

	return first && nodes[first].next_sibling && nodes[first].total >= d->smallest;
}

static void print_numbers(const struct drawing *d, uint64_t total, uint64_t self)
{
	uint64_t whole = d->flame->nodes[0].total;
	char value[32];

	words_value(value, sizeof(value), d->flame->unit, total);
	fprintf(d->out, "%6.2f%% ", words_percent(total, whole));
	if (self)
		fprintf(d->out, "%6.2f%%", words_percent(self, whole));
	else
		fprintf(d->out, "%7s", "");
	fprintf(d->out, " %13s  ", value);
}

static void print_branches(const struct drawing *d, uint32_t level, bool is_branch)
{
	for (uint32_t i = 1; i <= level; i++) {
		if (i == level && is_branch)
			fputs(d->more[i] ? "├─ " : "└─ ", d->out);
		else
			fputs(d->more[i] ? "│  " : "   ", d->out);
	}
}

/* Names such as "[kernel]" have their brackets. */
static void print_image(const struct drawing *d, const char *image)
{
	bool brackets = *image != '[';

	fprintf(d->out, "  %s%s", d->color ? "\033[2m" : "", brackets ? "[" : "");
	text_print_safe(d->out, image);
	fprintf(d->out, "%s%s", brackets ? "]" : "", d->color ? "\033[0m" : "");
}

/* The columns that a name can have in its line; 0: any. */
static size_t room_for_name(const struct drawing *d, const struct flame_node *at, uint32_t level)
{
	size_t others = NUMBERS + 3 * (size_t)level + (at->inlined ? strlen(INLINED) : 0);

	if (!d->width)
		return d->name_width;
	if (*at->image)
		others += strlen("  []") + words_width(name_of_image(at->image));
	return d->width > others + NAME_WIDTH_MIN ? d->width - others : NAME_WIDTH_MIN;
}

static int print_node(const struct drawing *d, uint32_t node, uint32_t level, bool is_branch)
{
	const struct flame_node *at = &d->flame->nodes[node];
	char *name = words_function(at->name, at->file, at->line, at->guess ? " ?" : "",
				    room_for_name(d, at, level));

	if (!name)
		return -ENOMEM;
	print_numbers(d, at->total, at->self);
	print_branches(d, level, is_branch);
	fputs(name, d->out);
	free(name);
	if (at->inlined)
		fputs(INLINED, d->out);
	if (*at->image)
		print_image(d, name_of_image(at->image));
	fputc('\n', d->out);
	return 0;
}

/* One line for the siblings from node on, which are too small to be shown. */
static void print_small(const struct drawing *d, uint32_t node, uint32_t level, bool is_branch)
{
	const struct flame_node *nodes = d->flame->nodes;
	uint64_t total = 0;
	uint32_t count = 0;
	char words[32];

	for (; node; node = nodes[node].next_sibling, count++)
		total += nodes[node].total;
	text_count(words, sizeof(words), count);
	print_numbers(d, total, 0);
	print_branches(d, level, is_branch);
	fprintf(d->out, "… %s smaller\n", words);
}

/* The node after this one and all below it. */
static uint32_t skip(const struct flame *flame, uint32_t node, uint32_t *depth)
{
	while (node && !flame->nodes[node].next_sibling) {
		node = flame->nodes[node].parent;
		--*depth;
	}
	return node ? flame->nodes[node].next_sibling : 0;
}

static int draw(struct drawing *d)
{
	const struct flame_node *nodes = d->flame->nodes;
	uint32_t node = 0, depth = 0;
	int err = print_node(d, 0, 0, false);

	d->level[0] = 0;
	node = flame_next(d->flame, 0, &depth);
	while (node && !err) {
		uint32_t parent = nodes[node].parent;
		bool branch = forks(d, parent);
		uint32_t level = d->level[depth - 1] + branch;

		d->level[depth] = level;
		if (branch)
			d->more[level] =
				nodes[node].next_sibling && nodes[node].total >= d->smallest;
		if (nodes[node].total < d->smallest) {
			print_small(d, node, level, branch);
			/* no sibling that follows is larger */
			depth--;
			node = skip(d->flame, parent, &depth);
			continue;
		}
		err = print_node(d, node, level, branch);
		node = flame_next(d->flame, node, &depth);
	}
	return err;
}

int show_flame_tree(const struct flame *flame, const struct show_options *options, FILE *out)
{
	uint64_t whole = flame->nodes[0].total;
	struct drawing d = {
		.flame = flame,
		.out = out,
		.smallest = options->min_percent < 100
				    ? (uint64_t)ceil(options->min_percent / 100 * (double)whole)
				    : whole,
		.color = options->color,
		.width = options->width,
		.name_width = options->name_width,
		.more = calloc(TREE_DEPTH_MAX + 2, sizeof(*d.more)),
		.level = calloc(TREE_DEPTH_MAX + 2, sizeof(*d.level)),
	};
	int err = -ENOMEM;

	fprintf(out, "%s%7s %7s %13s  %s%s\n", options->color ? "\033[1m" : "", "Total%", "Self%",
		"Total", "Function", options->color ? "\033[0m" : "");
	if (d.more && d.level)
		err = draw(&d);
	free(d.more);
	free(d.level);
	return err;
}

int show_tree(const struct report *report, const struct show_options *options, FILE *out)
{
	int err;

	words_heading(&report->view, out);
	fputc('\n', out);
	err = show_flame_tree(&report->flame, options, out);
	if (report->view.calls)
		call_notes(report, out);
	return err;
}
