// SPDX-License-Identifier: Apache-2.0
/* A heat map: as SVG, or, where the width of a terminal is known, as text. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "film/events.h"
#include "query/heat.h"
#include "show/markup.h"
#include "show/show.h"
#include "show/words.h"

enum {
	SHADES = 9,
	LEFT = 64, /* for the parts of a second */
	TOP = 66,
	BELOW = 62,
	ROW = 7, /* pixels of a cell's height */
	WIDEST = 40,
	PICTURE = 1120, /* pixels for all columns, as far as they are not narrower than one */
	LINES = 25,	/* of text: a line is two rows */
	TEXT_LEFT = 8,	/* columns of text before the map */
	TEXT_RIGHT = 2,
	LABEL = 70, /* pixels for a time below the map */
};

/*
 * From little to much (ColorBrewer's YlOrRd, which also grows darker for people who see no
 * colours).
 */
static const uint32_t shades[SHADES] = {
	0xffffcc, 0xffeda0, 0xfed976, 0xfeb24c, 0xfd8d3c, 0xfc4e2a, 0xe31a1c, 0xbd0026, 0x800026,
};

/* The same of a terminal with 256 colours, on a dark ground: from dark to bright. */
static const unsigned int terminal[SHADES] = {52, 88, 124, 160, 196, 202, 208, 214, 226};

/* Darker for more; 0 for the smallest value that is not 0. */
static unsigned int shade_of(const struct heat *heat, uint64_t value)
{
	return (unsigned int)((unsigned __int128)(value - 1) * SHADES / heat->most);
}

/* What a cell's value is per second: "0.51 CPUs", "1.2 MB/s". */
static void rate_words(const struct heat *heat, uint64_t value, char *to, size_t size)
{
	const struct event_type *type = event_of(heat->event);
	const uint64_t step = HEAT_STEP;
	char amount[32];

	if (type->quantity == EVENT_TIME) {
		snprintf(to, size, "%.2f %s", (double)value / (double)step, type->rate);
		return;
	}
	words_value(amount, sizeof(amount), heat->event->unit,
		    type->is_level ? value : value * HEAT_ROWS);
	snprintf(to, size, "%s%s", amount, type->is_level ? "" : "/s");
}

static void clock_words(uint64_t second, char *to, size_t size)
{
	time_t time = (time_t)second;
	struct tm local;

	if (!localtime_r(&time, &local) || !strftime(to, size, "%H:%M:%S", &local))
		snprintf(to, size, "%s", "");
}

static void title_words(const struct heat *heat, const struct film_info *info, char *to,
			size_t size)
{
	const struct event_type *type = event_of(heat->event);
	char from[32], host[128];

	clock_words(heat->first, from, sizeof(from));
	text_make_safe(host, sizeof(host), info->hostname);
	snprintf(to, size, "%s, %" PRIu32 " s on %s, from %s",
		 type->title ? type->title : heat->event->name, heat->seconds, host, from);
}

/* How many seconds lie between two times that are written. */
static uint32_t label_step(uint32_t seconds, uint32_t labels)
{
	static const uint32_t steps[] = {1, 2, 5, 10, 15, 30, 60, 120, 300, 600};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (seconds / steps[i] < labels)
			return steps[i];
	return 1200;
}

struct drawing {
	const struct heat *heat;
	FILE *out;
	double column; /* pixels */
	double width, height;
};

static void put_cell(const struct drawing *d, uint32_t second, unsigned int row, uint64_t value)
{
	char words[64], clock[32];

	clock_words(d->heat->first + second, clock, sizeof(clock));
	rate_words(d->heat, value, words, sizeof(words));
	fprintf(d->out,
		"<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"#%06" PRIx32
		"\"><title>%s.%02u: ",
		LEFT + second * d->column, TOP + (int)row * ROW, d->column, ROW,
		shades[shade_of(d->heat, value)], clock, row * 2);
	markup_text(d->out, words);
	fputs("</title></rect>\n", d->out);
}

static void put_axes(const struct drawing *d)
{
	uint32_t step =
		label_step(d->heat->seconds, (uint32_t)(d->heat->seconds * d->column / LABEL) + 1);
	char clock[32];

	for (int part = 0; part <= 1000; part += 200)
		fprintf(d->out,
			"<text x=\"%d\" y=\"%d\" text-anchor=\"end\" fill-opacity=\".7\">%d "
			"ms</text>\n",
			LEFT - 8, TOP + part * HEAT_ROWS * ROW / 1000 + 4, part);
	for (uint32_t second = 0; second < d->heat->seconds; second++) {
		if ((d->heat->first + second) % step)
			continue;
		clock_words(d->heat->first + second, clock, sizeof(clock));
		fprintf(d->out,
			"<path d=\"M%.2f %dv5\" stroke=\"#1b1d21\" stroke-opacity=\".4\"/>"
			"<text x=\"%.2f\" y=\"%d\" fill-opacity=\".7\">%s</text>\n",
			LEFT + second * d->column, TOP + HEAT_ROWS * ROW, LEFT + second * d->column,
			TOP + HEAT_ROWS * ROW + 18, clock);
	}
}

static void put_legend(const struct drawing *d)
{
	double y = d->height - 24, x = LEFT;
	char words[64];

	fprintf(d->out, "<text x=\"%.0f\" y=\"%.0f\" fill-opacity=\".7\">0</text>", x, y + 10);
	for (unsigned int i = 0; i < SHADES; i++)
		fprintf(d->out,
			"<rect x=\"%.0f\" y=\"%.0f\" width=\"22\" height=\"12\" fill=\"#%06" PRIx32
			"\"/>",
			x + 14 + i * 22, y, shades[i]);
	rate_words(d->heat, d->heat->most, words, sizeof(words));
	fprintf(d->out, "<text x=\"%.0f\" y=\"%.0f\" fill-opacity=\".7\">", x + 22 + SHADES * 22,
		y + 10);
	markup_text(d->out, words);
	fputs("</text>\n", d->out);
}

static void put_svg(const struct heat *heat, const struct film_info *info, FILE *out)
{
	struct drawing d = {.heat = heat, .out = out};
	char title[320], total[32], count[32];

	d.column = heat->seconds ? (double)PICTURE / heat->seconds : 1;
	d.column = d.column > WIDEST ? WIDEST : d.column < 1 ? 1 : d.column;
	d.width = LEFT + heat->seconds * d.column + 24;
	d.width = d.width < 560 ? 560 : d.width;
	d.height = TOP + HEAT_ROWS * ROW + BELOW;
	title_words(heat, info, title, sizeof(title));
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		"viewBox=\"0 0 %.0f %.0f\" font-size=\"11\" "
		"font-family=\"system-ui,sans-serif\">\n<title>",
		d.width, d.height, d.width, d.height);
	markup_text(out, title);
	fprintf(out,
		"</title>\n<style>text{fill:#1b1d21}.cells rect:hover{stroke:#1b1d21}</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		"<text x=\"%d\" y=\"26\" font-size=\"17\" font-weight=\"600\">",
		LEFT);
	markup_text_cut(out, title, 100);
	words_value(total, sizeof(total), heat->event->unit, heat->total);
	text_count(count, sizeof(count), heat->samples);
	fprintf(out,
		"</text>\n<text x=\"%d\" y=\"48\" fill-opacity=\".7\">total %s in %s %s</text>\n",
		LEFT, total, count, event_of(heat->event)->noun);
	fprintf(out,
		"<rect x=\"%d\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"#f4f4f2\"/>\n<g "
		"class=\"cells\">\n",
		LEFT, TOP, heat->seconds * d.column, HEAT_ROWS * ROW);
	for (uint32_t second = 0; second < heat->seconds; second++)
		for (unsigned int row = 0; row < HEAT_ROWS; row++)
			if (heat->cells[second * HEAT_ROWS + row])
				put_cell(&d, second, row, heat->cells[second * HEAT_ROWS + row]);
	fputs("</g>\n", out);
	put_axes(&d);
	put_legend(&d);
	fputs("</svg>\n", out);
}

/* Two rows in one character: the upper one in its colour, the lower one in that of its ground. */
static void print_colours(const struct heat *heat, const uint64_t *cells, FILE *out)
{
	unsigned int upper = cells[0] ? terminal[shade_of(heat, cells[0])] : 0;
	unsigned int lower = cells[1] ? terminal[shade_of(heat, cells[1])] : 0;

	if (upper && lower)
		fprintf(out, "\033[38;5;%u;48;5;%um▀\033[0m", upper, lower);
	else if (upper || lower)
		fprintf(out, "\033[38;5;%um%s\033[0m", upper ? upper : lower, upper ? "▀" : "▄");
	else
		fputc(' ', out);
}

static void print_signs(const struct heat *heat, const uint64_t *cells, FILE *out)
{
	static const char signs[SHADES + 1] = ".:-=+*#%@";
	uint64_t more = cells[0] > cells[1] ? cells[0] : cells[1];

	fputc(more ? signs[shade_of(heat, more)] : ' ', out);
}

static void print_text(const struct heat *heat, const struct film_info *info,
		       const struct show_options *options, FILE *out)
{
	uint32_t room = options->width > TEXT_LEFT + TEXT_RIGHT + 10
				? options->width - TEXT_LEFT - TEXT_RIGHT
				: 10;
	uint32_t first = heat->seconds > room ? heat->seconds - room : 0;
	uint32_t step = label_step(heat->seconds - first, room / 12 + 1), written = 0;
	char title[320], most[64], clock[32];

	title_words(heat, info, title, sizeof(title));
	rate_words(heat, heat->most, most, sizeof(most));
	fprintf(out, "%s; a line is 40 ms, a column 1 s; most: %s\n", title, most);
	if (first)
		fprintf(out, "the last %" PRIu32 " seconds; --to and --from choose others\n", room);
	for (unsigned int line = 0; line < LINES; line++) {
		if (line % 5)
			fprintf(out, "%*s|", TEXT_LEFT - 1, "");
		else
			fprintf(out, "%4u ms|", line * 1000 / LINES);
		for (uint32_t second = first; second < heat->seconds; second++) {
			const uint64_t *cells = &heat->cells[second * HEAT_ROWS + 2 * line];

			if (options->color)
				print_colours(heat, cells, out);
			else
				print_signs(heat, cells, out);
		}
		fputs("|\n", out);
	}
	fprintf(out, "%*s", TEXT_LEFT, "");
	for (uint32_t second = first; second < heat->seconds; second++) {
		if ((heat->first + second) % step || written > second - first)
			continue;
		clock_words(heat->first + second, clock, sizeof(clock));
		fprintf(out, "%*s%s", (int)(second - first - written), "", clock);
		written = second - first + (uint32_t)strlen(clock) + 1;
		fputc(' ', out);
	}
	fputc('\n', out);
}

int show_heatmap(struct film *film, const struct question *q, const struct show_options *options,
		 FILE *out, uint64_t *samples, struct fail *why)
{
	struct heat heat;
	int err = heat_of_film(film, q, &heat, why);

	*samples = err ? 0 : heat.samples;
	if (!err && heat.samples && options->width)
		print_text(&heat, &film->info, options, out);
	else if (!err && heat.samples)
		put_svg(&heat, &film->info, out);
	heat_free(&heat);
	return err;
}
