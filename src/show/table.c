// SPDX-License-Identifier: Apache-2.0
#include "show/show.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "query/names.h"
#include "show/groups.h"
#include "show/words.h"

#define BOLD  "\033[1m"
#define FAINT "\033[2m"
#define PLAIN "\033[0m"

/*
 * In a file or a pipe, names longer than this do not push the images of all other rows to the
 * right.
 */
enum {
	NAME_WIDTH_MAX = 60,
	NAME_WIDTH_MIN = 16,
	IMAGE_WIDTH = 24
};

/* The columns of a table before its names, with the space after them. */
enum {
	REPORT_NUMBERS = 48,
	DIFF_NUMBERS = 54
};

/* The columns that names can have besides the images of the first rows; 0: any. */
static size_t room_for_names(const struct functions *functions, size_t count,
			     const struct show_options *options, size_t numbers)
{
	size_t others = strlen("  Image");

	if (!options->width)
		return options->name_width;
	for (size_t i = 0; i < count && others < IMAGE_WIDTH; i++) {
		const char *image = functions->at[i].label->image;
		size_t wanted = *image ? 2 + words_width(name_of_image(image)) : 0;

		if (wanted > others)
			others = wanted < IMAGE_WIDTH ? wanted : IMAGE_WIDTH;
	}
	others += numbers;
	return options->width > others + NAME_WIDTH_MIN ? options->width - others : NAME_WIDTH_MIN;
}

/* In so many columns (0: any), to be freed; null: no memory. */
static char *name_of_row(const struct function *f, size_t room)
{
	return words_function(f->label->name, f->label->file, f->label->line, f->guess ? " ?" : "",
			      room);
}

/* How wide the names of the first rows are, as far as that matters. */
static int measure_names(const struct function *rows, size_t count,
			 const struct show_options *options, size_t room, size_t *width)
{
	size_t most = options->width ? room : NAME_WIDTH_MAX;

	*width = NAME_WIDTH_MIN;
	for (size_t i = 0; i < count && *width < most; i++) {
		char *name = name_of_row(&rows[i], room);
		size_t wanted = name ? words_width(name) : 0;

		if (!name)
			return -ENOMEM;
		free(name);
		if (wanted > *width)
			*width = wanted < most ? wanted : most;
	}
	return 0;
}

static void print_image(const char *image, const struct show_options *options, FILE *out)
{
	if (!*image)
		return;
	fprintf(out, "  %s", options->color ? FAINT : "");
	if (options->width && words_width(image) > IMAGE_WIDTH - 2)
		words_column(out, image, IMAGE_WIDTH - 2);
	else
		fputs(image, out);
	fputs(options->color ? PLAIN : "", out);
}

static int print_names(const struct function *f, const struct show_options *options, size_t room,
		       size_t width, FILE *out)
{
	char *name = name_of_row(f, room);
	char *image = words_safe(*f->label->image ? name_of_image(f->label->image) : "", "");
	bool done = name && image;

	if (done) {
		bool cut = options->width && words_width(name) > room;

		if (cut || (*image && words_width(name) <= width))
			words_column(out, name, cut ? room : width);
		else
			fputs(name, out);
		print_image(image, options, out);
		fputc('\n', out);
	}
	free(name);
	free(image);
	return done ? 0 : -ENOMEM;
}

static void print_rest(const struct functions *functions, size_t shown, uint64_t total, FILE *out)
{
	uint64_t self = 0;

	for (size_t i = shown; i < functions->count; i++)
		self += functions->at[i].self[TREE_NOW];
	words_rest(functions->count - shown, self, total, out);
}

static void print_legend(const struct functions *functions, size_t shown, FILE *out)
{
	for (size_t i = 0; i < shown; i++)
		if (functions->at[i].guess) {
			fputs("? guessed: some samples came here by following a frame pointer\n",
			      out);
			return;
		}
}

int show_table(const struct report *report, const struct show_options *options, FILE *out)
{
	const struct functions *functions = &report->functions;
	const struct view *view = &report->view;
	size_t count = words_rows(functions->count, options->limit), width;
	size_t room = room_for_names(functions, count, options, REPORT_NUMBERS);
	int err = measure_names(functions->at, count, options, room, &width);

	words_heading(view, out);
	if (!count)
		return err;
	if (report->groups.count)
		return show_groups(report, options, out);
	fprintf(out, "\n%s%13s %7s %13s %7s  %-*s  %s%s\n", options->color ? BOLD : "", "Self",
		"Self%", "Total", "Total%", (int)width, "Function", "Image",
		options->color ? PLAIN : "");
	for (size_t i = 0; !err && i < count; i++) {
		const struct function *f = &functions->at[i];
		char self[32], total[32];

		words_value(self, sizeof(self), view->event->unit, f->self[TREE_NOW]);
		words_value(total, sizeof(total), view->event->unit, f->total[TREE_NOW]);
		fprintf(out, "%13s %6.2f%% %13s %6.2f%%  ", self,
			words_percent(f->self[TREE_NOW], view->total), total,
			words_percent(f->total[TREE_NOW], view->total));
		err = print_names(f, options, room, width, out);
	}
	print_rest(functions, count, view->total, out);
	print_legend(functions, count, out);
	return err;
}

int show_diff_table(const struct diff *diff, const struct show_options *options, FILE *out)
{
	const struct functions *functions = &diff->functions;
	size_t count = words_rows(functions->count, options->limit), width;
	size_t room = room_for_names(functions, count, options, DIFF_NUMBERS);
	int err = measure_names(functions->at, count, options, room, &width);

	fputs("before: ", out);
	words_heading(&diff->before, out);
	fputs("\nnow:    ", out);
	words_heading(&diff->now, out);
	if (!count)
		return err;
	fprintf(out, "\n%s%8s %8s %8s  %8s %8s %8s  %-*s  %s%s\n", options->color ? BOLD : "",
		"Self%", "before", "change", "Total%", "before", "change", (int)width, "Function",
		"Image", options->color ? PLAIN : "");
	for (size_t i = 0; !err && i < count; i++) {
		const struct function *f = &functions->at[i];

		fprintf(out, "%7.2f%% %7.2f%% %+8.2f  %7.2f%% %7.2f%% %+8.2f  ",
			words_percent(f->self[TREE_NOW], diff->now.total),
			words_percent(f->self[TREE_BEFORE], diff->before.total),
			100 * diff_self_growth(diff, f),
			words_percent(f->total[TREE_NOW], diff->now.total),
			words_percent(f->total[TREE_BEFORE], diff->before.total),
			100 * diff_total_growth(diff, f));
		err = print_names(f, options, room, width, out);
	}
	print_rest(functions, count, diff->now.total, out);
	print_legend(functions, count, out);
	return err;
}
