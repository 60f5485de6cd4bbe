// SPDX-License-Identifier: Apache-2.0
#include "cmd/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cmd/verb.h"

/* Names of C++ can have thousands of characters, also where no terminal cuts them. */
enum {
	NAME_WIDTH_MAX = 120
};

static void warn_of_ending(const char *ending)
{
	fputs("stackcam: the ending '", stderr);
	text_print_safe(stderr, ending);
	fputs("' names no format: a table is written; --format names another\n", stderr);
}

int cmd_choose_format(const char *verb, const char *name, const char *output,
		      const struct show_format **format)
{
	bool is_diff = !strcmp(verb, "diff");
	const char *unknown = NULL;
	char names[128];

	show_format_names(is_diff, names, sizeof(names));
	*format =
		name ? show_format_find(name) : show_format_of_path(output ? output : "", &unknown);
	if (!*format)
		return cmd_usage(verb, "there is no format '%s'; these are: %s", name, names);
	if (is_diff && !(*format)->diff)
		return cmd_usage(verb,
				 "%s%s%s cannot hold a comparison of two films; these can: %s",
				 name ? "" : output, name ? "" : ": ", (*format)->name, names);
	if (unknown)
		warn_of_ending(unknown);
	return 0;
}

void cmd_fit_output(struct show_options *options, const struct output *output, bool wide,
		    bool no_color)
{
	options->color = output->is_terminal && !no_color && !getenv("NO_COLOR");
	options->width = wide ? 0 : output->width;
	options->name_width = wide ? 0 : NAME_WIDTH_MAX;
}

int cmd_check_span(const char *verb, const struct question *question, const struct film *film)
{
	struct fail why = {0};
	uint64_t from, to;

	if (!filter_span(&question->filter, &film->info, &from, &to, &why))
		return 0;
	return cmd_usage(verb, "%s", why.what);
}
