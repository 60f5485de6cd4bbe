// SPDX-License-Identifier: Apache-2.0
/*
 * A flame graph as one SVG picture: the root at the bottom, callees above their caller, width is
 * the share of the total. It needs no script; what a frame is stands in its <title>, which browsers
 * show under the pointer. Frames too narrow to be seen are drawn as one with their neighbours.
 */
#include "show/show.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "film/film.h"
#include "show/markup.h"
#include "show/palette.h"
#include "show/words.h"

#define WIDTH	      1200.0
#define MARGIN	      10.0
#define GRAPH_WIDTH   (WIDTH - 2 * MARGIN)
#define SMALLEST_PART 1000 /* of the total: a thousandth is what is still drawn on its own */
#define ROW	      18
#define HEAD	      62
#define FOOT	      46
#define FONT_SIZE     12
#define COLUMN_WIDTH  7.25 /* of a fixed-width font of that size */

/* Where a node is drawn. Only nodes that are wide enough are. */
struct place {
	double x;
	uint32_t level;
	bool drawn;
};

struct picture {
	const struct flame *flame;
	FILE *out;
	struct place *places; /* one per node */
	double pixels;	      /* per unit of value */
	uint64_t smallest;    /* value of the narrowest frame drawn on its own */
	uint32_t levels, drawn, gone;
	bool has_guess;
	bool has_kind[PALETTE_KINDS];
};

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

/* A node's share of the later film minus its share of the earlier one. */
static double change_of(const struct flame *flame, const struct flame_node *node)
{
	const struct flame_node *root = &flame->nodes[0];

	return share(node->total, root->total) - share(node->before_total, root->before_total);
}

static bool is_gone(const struct flame_node *node)
{
	return node->total == 0 && node->before_total > 0;
}

static void lay_out_children(struct picture *p, uint32_t parent)
{
	const struct flame_node *nodes = p->flame->nodes;
	struct place *from = &p->places[parent];
	double x = from->x;
	uint32_t i;

	for (i = nodes[parent].first_child; i; i = nodes[i].next_sibling) {
		struct place *place = &p->places[i];

		place->x = x;
		place->level = from->level + 1;
		place->drawn = from->drawn && nodes[i].total >= p->smallest;
		x += (double)nodes[i].total * p->pixels;
	}
}

/* A parent comes before its children, so one pass over the array is enough. */
static void lay_out(struct picture *p)
{
	const struct flame_node *nodes = p->flame->nodes;
	uint32_t i;

	p->places[0] = (struct place){.x = MARGIN, .drawn = true};
	for (i = 0; i < p->flame->count; i++) {
		const struct place *place = &p->places[i];

		lay_out_children(p, i);
		if (!place->drawn) {
			p->gone += is_gone(&nodes[i]);
			continue;
		}
		p->drawn++;
		p->has_guess |= nodes[i].guess;
		p->has_kind[palette_kind_slot(nodes[i].kind)] = true;
		/* one more for the row of what is too narrow above this one */
		if (place->level + 2 > p->levels)
			p->levels = place->level + 2;
	}
}

static double height_of(const struct picture *p)
{
	return HEAD + (double)p->levels * ROW + FOOT;
}

static double top_of(const struct picture *p, uint32_t level)
{
	return HEAD + (double)(p->levels - 1 - level) * ROW;
}

static void put_share(struct picture *p, const char *word, uint64_t value, uint64_t whole)
{
	char text[32];

	words_value(text, sizeof(text), p->flame->unit, value);
	fprintf(p->out, "\n%s %s (%.2f%%)", word, text, 100 * share(value, whole));
}

static const char *shown_name(const struct picture *p, uint32_t i)
{
	const char *name = p->flame->nodes[i].name;

	if (name[0])
		return name;
	return i ? "[unnamed]" : "all";
}

/* What the browser shows under the pointer. */
static void put_title(struct picture *p, uint32_t i)
{
	const struct flame_node *root = &p->flame->nodes[0], *node = &p->flame->nodes[i];

	fputs("<title>", p->out);
	markup_text(p->out, shown_name(p, i));
	if (node->image[0]) {
		fputc('\n', p->out);
		markup_text(p->out, node->image);
	}
	if (node->file[0]) {
		fputc('\n', p->out);
		markup_text(p->out, node->file);
		fprintf(p->out, ":%" PRIu32, node->line);
	}
	put_share(p, "total", node->total, root->total);
	put_share(p, "self", node->self, root->total);
	if (p->flame->is_diff) {
		put_share(p, "before", node->before_total, root->before_total);
		fprintf(p->out, "\nchange %+.2f points", 100 * change_of(p->flame, node));
	}
	if (node->inlined)
		fputs("\ninlined", p->out);
	if (node->guess)
		fprintf(p->out, "\n%s", words_guess(p->flame));
	fputs("</title>", p->out);
}

static uint32_t fill_of(const struct picture *p, uint32_t i)
{
	const struct flame_node *node = &p->flame->nodes[i];
	unsigned int shade = 0;

	if (p->flame->is_diff)
		return palette_change(PALETTE_LIGHT,
				      palette_change_step(change_of(p->flame, node)));
	if (node->kind)
		shade = hash_bytes(node->name, strlen(node->name)) % PALETTE_SHADES;
	return palette_kind(PALETTE_LIGHT, palette_kind_slot(node->kind), shade);
}

static void put_rect(struct picture *p, double x, uint32_t level, double width, const char *fill)
{
	/* half a pixel stays free at the right and one below, so that frames stand apart */
	fprintf(p->out, "<rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" fill=\"%s\"/>", x,
		top_of(p, level), width > 1 ? width - 0.5 : width, ROW - 1, fill);
}

static void put_label(struct picture *p, double x, uint32_t level, double width, const char *name)
{
	size_t columns = width > 8 ? (size_t)((width - 6) / COLUMN_WIDTH) : 0;

	if (columns < 3)
		return;
	fprintf(p->out, "<text x=\"%.2f\" y=\"%.0f\">", x + 3, top_of(p, level) + 13);
	markup_text_cut(p->out, name, columns);
	fputs("</text>", p->out);
}

static void put_frame(struct picture *p, uint32_t i)
{
	const struct flame_node *node = &p->flame->nodes[i];
	const struct place *place = &p->places[i];
	double width = (double)node->total * p->pixels;
	char fill[8];

	snprintf(fill, sizeof(fill), "#%06" PRIx32, fill_of(p, i));
	fputs("<g>", p->out);
	put_title(p, i);
	put_rect(p, place->x, place->level, width, fill);
	if (node->guess && width > 3)
		put_rect(p, place->x, place->level, width, "url(#guess)");
	put_label(p, place->x, place->level, width, shown_name(p, i));
	fputs("</g>\n", p->out);
}

/*
 * Draws the children that are too narrow as one. Siblings are sorted, so they stand side by side.
 */
static void put_narrow_children(struct picture *p, uint32_t parent)
{
	const struct flame_node *nodes = p->flame->nodes;
	uint32_t i = nodes[parent].first_child, first, count = 0;
	uint64_t total = 0;

	while (i && p->places[i].drawn)
		i = nodes[i].next_sibling;
	first = i;
	for (; i && nodes[i].total; i = nodes[i].next_sibling) {
		total += nodes[i].total;
		count++;
	}
	if (total == 0 || total < p->smallest)
		return;
	fprintf(p->out, "<g><title>%" PRIu32 " narrower %s", count,
		count == 1 ? "frame" : "frames");
	put_share(p, "total", total, nodes[0].total);
	fputs("</title>", p->out);
	put_rect(p, p->places[first].x, p->places[first].level, (double)total * p->pixels,
		 "#ededed");
	put_label(p, p->places[first].x, p->places[first].level, (double)total * p->pixels, "…");
	fputs("</g>\n", p->out);
}

/* What is measured, how much there is, and how much the picture leaves out. */
static void put_summary(struct picture *p)
{
	const struct flame *flame = p->flame;
	uint32_t narrow = flame->count - p->drawn - p->gone;
	char text[32];

	fprintf(p->out, "<text class=\"w\" x=\"%.0f\" y=\"48\" fill-opacity=\".7\">", MARGIN);
	markup_text_cut(p->out, flame->event, 40);
	words_value(text, sizeof(text), flame->unit, flame->nodes[0].total);
	fprintf(p->out, ", total %s</text>\n", text);
	if (!narrow && !p->gone)
		return;
	fprintf(p->out,
		"<text class=\"w\" x=\"%.0f\" y=\"48\" fill-opacity=\".7\" text-anchor=\"end\">",
		WIDTH - MARGIN);
	text_count(text, sizeof(text), flame->count);
	fprintf(p->out, "of %s frames ", text);
	text_count(text, sizeof(text), narrow);
	fprintf(p->out, "%s are narrower than %g%%: merged or left out", text,
		100.0 / SMALLEST_PART);
	if (p->gone) {
		text_count(text, sizeof(text), p->gone);
		fprintf(p->out, ", %s are gone since", text);
	}
	fputs("</text>\n", p->out);
}

static void put_head(struct picture *p)
{
	const struct flame *flame = p->flame;

	fprintf(p->out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		"viewBox=\"0 0 %.0f %.0f\" font-size=\"%d\" font-family=\"monospace\">\n<title>",
		WIDTH, height_of(p), WIDTH, height_of(p), FONT_SIZE);
	markup_text(p->out, flame->title);
	fputs("</title>\n"
	      "<style>.w{font-family:system-ui,sans-serif}text{fill:#1b1d21}"
	      ".frames text{pointer-events:none}.frames g:hover rect{stroke:#1b1d21}</style>\n"
	      "<defs><pattern id=\"guess\" width=\"6\" height=\"6\" "
	      "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
	      "<rect width=\"1.5\" height=\"6\" fill=\"#000\" fill-opacity=\".16\"/>"
	      "</pattern></defs>\n"
	      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
	      p->out);
	fprintf(p->out,
		"<text class=\"w\" x=\"%.0f\" y=\"28\" font-size=\"17\" font-weight=\"600\">",
		MARGIN);
	markup_text_cut(p->out, flame->title, 120);
	fputs("</text>\n", p->out);
	put_summary(p);
}

/* One swatch of the legend; returns where the next one goes. */
static double put_swatch(struct picture *p, double x, const char *fill, const char *word)
{
	double y = height_of(p) - 22;

	fprintf(p->out,
		"<rect x=\"%.0f\" y=\"%.0f\" width=\"12\" height=\"12\" fill=\"%s\" "
		"stroke=\"#000\" stroke-opacity=\".25\"/>"
		"<text class=\"w\" x=\"%.0f\" y=\"%.0f\">%s</text>\n",
		x, y, fill, x + 18, y + 10.5, word);
	return x + 34 + (double)strlen(word) * 7;
}

static double put_change_legend(struct picture *p, double x)
{
	int step;

	for (step = -PALETTE_STEPS; step <= PALETTE_STEPS; step++) {
		char fill[8], word[32] = "same";

		snprintf(fill, sizeof(fill), "#%06" PRIx32, palette_change(PALETTE_LIGHT, step));
		if (step)
			snprintf(word, sizeof(word), "%c%g", step < 0 ? '-' : '+',
				 palette_step_points(abs(step)));
		x = put_swatch(p, x, fill, word);
	}
	fprintf(p->out,
		"<text class=\"w\" x=\"%.0f\" y=\"%.1f\">points of share (blue: less, red: more)"
		"</text>\n",
		x, height_of(p) - 11.5);
	return x + 270;
}

static double put_kind_legend(struct picture *p, double x)
{
	unsigned int kind;

	for (kind = 1; kind < PALETTE_KINDS; kind++) {
		char fill[8];

		if (!p->has_kind[kind])
			continue;
		snprintf(fill, sizeof(fill), "#%06" PRIx32, palette_kind(PALETTE_LIGHT, kind, 0));
		x = put_swatch(p, x, fill, film_frame_kind_name(kind));
	}
	return x;
}

static void put_foot(struct picture *p)
{
	double x = p->flame->is_diff ? put_change_legend(p, MARGIN) : put_kind_legend(p, MARGIN);

	if (p->has_guess)
		put_swatch(p, x, "url(#guess)", words_guess(p->flame));
	fputs("</svg>\n", p->out);
}

int show_svg(const struct flame *flame, FILE *out)
{
	struct picture p = {.flame = flame, .out = out};
	uint64_t total;
	uint32_t i;

	if (flame->count == 0)
		return -EINVAL;
	p.places = calloc(flame->count, sizeof(*p.places));
	if (!p.places)
		return -ENOMEM;
	total = flame->nodes[0].total;
	p.pixels = total ? GRAPH_WIDTH / (double)total : 0;
	/* rounded up; nothing of no width is drawn, but the root is */
	p.smallest = total / SMALLEST_PART + (total % SMALLEST_PART || !total);
	lay_out(&p);
	put_head(&p);
	fputs("<g class=\"frames\">\n", out);
	for (i = 0; i < flame->count; i++) {
		if (!p.places[i].drawn)
			continue;
		put_frame(&p, i);
		put_narrow_children(&p, i);
	}
	fputs("</g>\n", out);
	put_foot(&p);
	free(p.places);
	return 0;
}
