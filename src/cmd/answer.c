// SPDX-License-Identifier: Apache-2.0
#include "cmd/answer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cmd/verb.h"

/* Names of C++ can have thousands of characters, also where no terminal cuts them. */
enum {
	NAME_WIDTH_MAX = 120
};

int cmd_parse_answer(const char *verb, struct answer_arguments *a, int option, const char *value)
{
	struct fail why = {0};
	int err;

	switch ((enum answer_option)option) {
	case ANSWER_FORMAT:
		a->format_name = value;
		return 0;
	case ANSWER_LIMIT:
		if (text_parse_u64(value, 0, UINT32_MAX, &a->show.limit))
			return cmd_usage(verb, "'%s' is not a number of rows", value);
		return 0;
	case ANSWER_WIDE:
		a->wide = true;
		return 0;
	case ANSWER_NO_COLOR:
		a->no_color = true;
		return 0;
	case ANSWER_OUTPUT:
		a->output = strcmp(value, "-") ? value : NULL;
		return 0;
	case ANSWER_HELP:
		a->help = true;
		return 0;
	case ANSWER_SERVICE:
		err = question_add_service(&a->question, value, &why);
		return err ? cmd_usage(verb, "%s; %s", why.what, why.to_do) : 0;
	}
	err = question_parse(&a->question, option, value, &why);
	return err ? cmd_usage(verb, "%s", why.what) : 0;
}

static void warn_of_ending(const char *ending)
{
	fputs("stackcam: the ending '", stderr);
	text_print_safe(stderr, ending);
	fputs("' names no format: a table is written; --format names another\n", stderr);
}

static int usage_format(const char *verb, const char *name, const char *names, bool is_diff)
{
	const char *near = show_format_near(name, is_diff);

	return cmd_usage(verb, "unknown format '%s'%s%s%s; the formats are: %s", name,
			 near ? "; did you mean '" : "", near ? near : "", near ? "'" : "", names);
}

int cmd_choose_format(const char *verb, const char *name, const char *output,
		      const struct show_format **format)
{
	bool is_diff = !strcmp(verb, "diff");
	const char *unknown = NULL;
	char names[512];

	show_format_names(is_diff, names, sizeof(names));
	*format =
		name ? show_format_find(name) : show_format_of_path(output ? output : "", &unknown);
	if (!*format)
		return usage_format(verb, name, names, is_diff);
	if (is_diff && !(*format)->diff && !(*format)->flame)
		return cmd_usage(verb,
				 "%s%s%s cannot hold a comparison of two films; these can: %s",
				 name ? "" : output, name ? "" : ": ", (*format)->name, names);
	if (unknown)
		warn_of_ending(unknown);
	return 0;
}

int cmd_check_answer(const char *verb, const struct answer_arguments *a)
{
	if (a->question.rules && !a->question.shape.by_service)
		return cmd_usage(verb, "--service names the groups of --by service");
	return 0;
}

int cmd_check_terminal(const struct show_format *format, const struct output *output,
		       struct fail *why)
{
	if (!format->is_binary || !output->is_terminal)
		return 0;
	return fail(why, -EINVAL, "name a file with -o, or use a pipe",
		    "%s is not text for a terminal", format->name);
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
