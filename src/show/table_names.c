// SPDX-License-Identifier: Apache-2.0
#include "show/table_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "show/words.h"

/*
 * In a file or a pipe, names longer than this do not push the images of all other rows to the
 * right.
 */
enum {
	NAME_WIDTH_MAX = 60,
	NAME_WIDTH_MIN = 16,
	IMAGE_WIDTH = 24
};

size_t table_room_for_names(const struct function *const *rows, size_t count,
			    const struct show_options *options, size_t numbers)
{
	size_t others = strlen("  Image");

	if (!options->width)
		return options->name_width;
	for (size_t i = 0; i < count && others < IMAGE_WIDTH; i++) {
		const char *image = rows[i]->label->image;
		size_t wanted = *image ? 2 + words_width(name_of_image(image)) : 0;

		if (wanted > others)
			others = wanted < IMAGE_WIDTH ? wanted : IMAGE_WIDTH;
	}
	others += numbers;
	return options->width > others + NAME_WIDTH_MIN ? options->width - others : NAME_WIDTH_MIN;
}

/* In at most that many columns (0: any), to be freed; null: no memory. */
static char *name_of_row(const struct function *f, size_t room)
{
	return words_function(f->label->name, f->label->file, f->label->line, f->guess ? " ?" : "",
			      room);
}

int table_measure_names(const struct function *const *rows, size_t count,
			const struct show_options *options, size_t room, size_t *width)
{
	size_t most = options->width ? room : NAME_WIDTH_MAX;

	*width = NAME_WIDTH_MIN;
	for (size_t i = 0; i < count && *width < most; i++) {
		char *name = name_of_row(rows[i], room);
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
	fprintf(out, "  %s", options->color ? TABLE_FAINT : "");
	if (options->width && words_width(image) > IMAGE_WIDTH - 2)
		words_column(out, image, IMAGE_WIDTH - 2);
	else
		fputs(image, out);
	fputs(options->color ? TABLE_PLAIN : "", out);
}

int table_print_names(const struct function *f, const struct show_options *options, size_t room,
		      size_t width, FILE *out)
{
	char *name = name_of_row(f, room);
	char *image = text_safe(*f->label->image ? name_of_image(f->label->image) : "", "");
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

void table_print_rest(const struct function *const *rows, size_t count, size_t shown,
		      uint64_t total, FILE *out)
{
	uint64_t self = 0;

	for (size_t i = shown; i < count; i++)
		self += rows[i]->self[TREE_NOW];
	words_rest(count - shown, self, total, out);
}

void table_print_legend(const struct function *const *rows, size_t shown, bool of_calls, FILE *out)
{
	for (size_t i = 0; i < shown; i++)
		if (rows[i]->guess) {
			fputs(of_calls ? "? guessed: the return of some calls was not seen\n"
				       : "? guessed: some samples came here by following a "
					 "frame pointer\n",
			      out);
			return;
		}
}
