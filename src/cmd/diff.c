// SPDX-License-Identifier: Apache-2.0
#include "cmd/verb.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cmd/answer.h"
#include "film/reader.h"
#include "query/diff.h"
#include "show/output.h"
#include "show/show.h"
#include "show/words.h"

enum {
	OPTION_FORMAT = 1,
	OPTION_LIMIT,
	OPTION_FAIL_ABOVE,
	OPTION_FAIL_ON,
	OPTION_WIDE,
	OPTION_NO_COLOR
};

static const struct option long_options[] = {
	QUESTION_LONG_OPTIONS,
	{"format", required_argument, NULL, OPTION_FORMAT},
	{"output", required_argument, NULL, 'o'},
	{"limit", required_argument, NULL, OPTION_LIMIT},
	{"fail-above", required_argument, NULL, OPTION_FAIL_ABOVE},
	{"fail-on", required_argument, NULL, OPTION_FAIL_ON},
	{"wide", no_argument, NULL, OPTION_WIDE},
	{"no-color", no_argument, NULL, OPTION_NO_COLOR},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static const char help_start[] =
	"usage: stackcam diff [OPTION…] BEFORE NOW\n\n"
	"Compares two films by the share that each function has of its own film: how long they\n"
	"were filmed does not matter.\n\n"
	"      --format FORMAT   table (the default), folded, svg, html, json; without it the "
	"name\n"
	"                        given to -o decides\n"
	"  -o, --output FILE     write there instead of standard output\n"
	"      --limit N         rows of the table (default 40; 0: all)\n"
	"      --fail-above P    end with status 1 if a function's share grew by more than P\n"
	"                        percentage points, and name it; 5 or 5%\n"
	"      --fail-on WHAT    which share that is: self (the default), or total, with all that\n"
	"                        the function called\n"
	"      --wide            long names whole: else they are cut to the terminal, or to 120\n"
	"                        columns in a file or a pipe\n"
	"      --no-color        no colors, also on a terminal\n"
	"  -h, --help            this text\n\n"
	"What counts, in both films:\n";

static const char help_examples[] =
	"\nExamples:\n"
	"  stackcam diff before.film now.film\n"
	"  stackcam diff -o diff.html before.film now.film\n"
	"  stackcam diff --fail-above 5% main.film branch.film >/dev/null || echo slower\n";

struct arguments {
	struct question question;
	struct show_options show;
	const struct show_format *format;
	const char *format_name, *output, *before, *now;
	bool gate, gate_total; /* --fail-above was given; --fail-on total */
	double fail_above;     /* as a part of one */
	bool wide, no_color, help;
};

static int parse_points(const char *s, double *part)
{
	char *end;
	double points = strtod(s, &end);

	if (end == s || (*end && strcmp(end, "%")) || !(points >= 0 && points <= 100))
		return -EINVAL;
	*part = points / 100;
	return 0;
}

/* Returns 0 or an exit status. */
static int take_option(struct arguments *a, int option)
{
	struct fail why = {0};
	int err;

	switch (option) {
	case OPTION_FORMAT:
		a->format_name = optarg;
		return 0;
	case OPTION_LIMIT:
		if (text_parse_u64(optarg, 0, UINT32_MAX, &a->show.limit))
			return cmd_usage("diff", "'%s' is not a number of rows", optarg);
		return 0;
	case OPTION_FAIL_ABOVE:
		if (parse_points(optarg, &a->fail_above))
			return cmd_usage("diff", "'%s' is not a number of percentage points",
					 optarg);
		a->gate = true;
		return 0;
	case OPTION_FAIL_ON:
		if (strcmp(optarg, "self") && strcmp(optarg, "total"))
			return cmd_usage("diff", "'%s' is neither self nor total", optarg);
		a->gate_total = !strcmp(optarg, "total");
		return 0;
	case OPTION_WIDE:
		a->wide = true;
		return 0;
	case OPTION_NO_COLOR:
		a->no_color = true;
		return 0;
	case 'o':
		a->output = strcmp(optarg, "-") ? optarg : NULL;
		return 0;
	case 'h':
		a->help = true;
		return 0;
	default:
		err = question_take(&a->question, option, optarg, &why);
		return err ? cmd_usage("diff", "%s", why.what) : 0;
	}
}

/* Returns 0 or an exit status. */
static int parse(struct arguments *a, int argc, char **argv)
{
	int option, status;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":o:h" QUESTION_SHORT_OPTIONS, long_options,
				     NULL)) != -1) {
		if (option == '?' || option == ':')
			return cmd_usage_option("diff", argv, long_options);
		status = take_option(a, option);
		if (status)
			return status;
	}
	if (a->help)
		return 0;
	if (optind + 2 != argc)
		return cmd_usage("diff", "two films are compared, not %d", argc - optind);
	a->before = argv[optind];
	a->now = argv[optind + 1];
	return cmd_choose_format("diff", a->format_name, a->output, &a->format);
}

/* Names each function that grew too much, to standard error; returns the exit status. */
static int check_gate(const struct arguments *a, const struct diff *diff)
{
	/* shares are fractions: what grew by exactly so much may come out a little above it */
	const double rounding = 1e-9;
	int status = 0;

	for (size_t i = 0; i < diff->functions.count; i++) {
		const struct function *f = &diff->functions.at[i];
		const uint64_t *values = a->gate_total ? f->total : f->self;
		double before = diff_share(values[TREE_BEFORE], diff->before.total);
		double now = diff_share(values[TREE_NOW], diff->now.total);

		if (now - before <= a->fail_above + rounding)
			continue;
		fprintf(stderr, "stackcam: the %s share of ", a->gate_total ? "total" : "self");
		text_print_safe(stderr, f->label->name);
		fprintf(stderr, " grew from %.2f%% to %.2f%%\n", 100 * before, 100 * now);
		status = 1;
	}
	return status;
}

/* Shows the comparison; 0 or a negative errno with *why filled. */
static int show(struct arguments *a, const struct diff *diff, struct fail *why)
{
	struct output output;
	int err = output_open(&output, a->output, why), shown;

	if (err)
		return err;
	cmd_fit_output(&a->show, &output, a->wide, a->no_color);
	shown = a->format->diff(diff, &a->show, output.file);
	if (!shown && !fflush(output.file)) {
		words_nothing(&diff->before, &a->question.filter, a->before, stderr);
		words_nothing(&diff->now, &a->question.filter, a->now, stderr);
	}
	err = output_close(&output, !shown, why);
	return shown ? fail_errno(why, shown, NULL, "cannot compare '%s' and '%s'", a->before,
				  a->now)
		     : err;
}

/* Returns 0 with *status the exit status, or a negative errno with *why filled. */
static int compare(struct arguments *a, struct film *before, struct film *now, int *status,
		   struct fail *why)
{
	struct diff diff;
	int err = diff_make(before, now, &a->question, &diff, why);

	if (!err)
		err = show(a, &diff, why);
	if (!err && a->gate)
		*status = check_gate(a, &diff);
	diff_free(&diff);
	return err;
}

static int run(struct arguments *a)
{
	struct film *before = NULL, *now = NULL;
	struct fail why = {0};
	int status = 0;
	int err = film_open(a->before, &before, &why);

	if (!err)
		err = film_open(a->now, &now, &why);
	if (!err)
		status = cmd_check_span("diff", &a->question, before);
	if (!err && !status)
		status = cmd_check_span("diff", &a->question, now);
	if (!err && !status)
		err = compare(a, before, now, &status, &why);
	film_free(before);
	film_free(now);
	if (err == -EPIPE && !a->output)
		output_broken_pipe();
	if (err)
		fail_print(&why);
	return err ? fail_exit_status(&why) : status;
}

int cmd_diff(int argc, char **argv)
{
	struct arguments a = {.show = {.limit = 40}};
	int status = parse(&a, argc, argv);

	if (!status && a.help)
		printf("%s%s%s", help_start, question_help, help_examples);
	else if (!status)
		status = run(&a);
	question_free(&a.question);
	return status;
}
