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
	OPTION_FAIL_ABOVE = 1,
	OPTION_FAIL_ON
};

static const struct option long_options[] = {
	ANSWER_LONG_OPTIONS,
	{"fail-above", required_argument, NULL, OPTION_FAIL_ABOVE},
	{"fail-on", required_argument, NULL, OPTION_FAIL_ON},
	{0},
};

static const char help_start[] =
	"usage: stackcam diff [OPTION…] BEFORE NOW\n\n"
	"Compares two films by the share that each function has of its own film: how long they\n"
	"were filmed does not matter.\n\n"
	"      --format FORMAT   table (the default), folded, svg, html, pprof, speedscope, json;\n"
	"                        without it the name given to -o decides\n"
	"  -o, --output FILE     write there instead of standard output\n"
	"      --limit N         rows of the table (default 40; 0: all)\n"
	"      --fail-above P    end with status 1 if a function's share grew by more than P\n"
	"                        percentage points, and name it; 5 or 5%\n"
	"      --fail-on WHAT    which share that is: self (the default), or total, with all that\n"
	"                        the function called\n"
	"      --service RULE    of --by service: what services are called, 'unit=nginx*.service\n"
	"                        web' say; may be repeated, the first that fits counts\n"
	"      --wide            long names whole: else they are cut to the terminal, or to 120\n"
	"                        columns in a file or a pipe\n"
	"      --no-color        no colors, also on a terminal\n"
	"  -h, --help            this text\n\n"
	"What counts, in both films:\n";

static const char help_examples[] =
	"\nExamples:\n"
	"  stackcam diff before.film now.film\n"
	"  stackcam diff -o diff.html before.film now.film\n"
	"  stackcam diff -o diff.pb.gz before.film now.film && go tool pprof -top diff.pb.gz\n"
	"  stackcam diff --fail-above 5% main.film branch.film >/dev/null || echo slower\n";

struct arguments {
	struct answer_arguments answer;
	const char *before, *now;
	bool gate, gate_total; /* --fail-above was given; --fail-on total */
	double fail_above;     /* as a part of one */
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
static int parse_option(struct arguments *a, int option)
{
	switch (option) {
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
	default:
		return cmd_parse_answer("diff", &a->answer, option, optarg);
	}
}

/* Returns 0 or an exit status. */
static int parse(struct arguments *a, int argc, char **argv)
{
	int option, status;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ANSWER_SHORT_OPTIONS, long_options, NULL)) != -1) {
		if (option == '?' || option == ':')
			return cmd_usage_option("diff", argv, long_options);
		status = parse_option(a, option);
		if (status)
			return status;
	}
	if (a->answer.help)
		return 0;
	if (a->answer.question.by_value)
		return cmd_usage("diff", "--by %s groups no stacks", a->answer.question.by_value);
	if (optind + 2 != argc)
		return cmd_usage("diff", "two films are compared, not %d", argc - optind);
	a->before = argv[optind];
	a->now = argv[optind + 1];
	status = cmd_check_answer("diff", &a->answer);
	return status ? status
		      : cmd_choose_format("diff", a->answer.format_name, a->answer.output,
					  &a->answer.format);
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
	struct answer_arguments *answer = &a->answer;
	const struct filter *filter = &answer->question.filter;
	struct output output;
	int err = output_open(&output, answer->output, why), shown;

	if (err)
		return err;
	output_like(&output, a->before);
	output_like(&output, a->now);
	cmd_fit_output(&answer->show, &output, answer->wide, answer->no_color);
	err = cmd_check_terminal(answer->format, &output, why);
	if (err) {
		output_close(&output, false, NULL);
		return err;
	}
	shown = show_format_diff(answer->format, diff, &answer->show, output.file);
	if (!shown && !fflush(output.file)) {
		words_nothing(&diff->before, filter, a->before, stderr);
		words_nothing(&diff->now, filter, a->now, stderr);
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
	const struct answer_arguments *answer = &a->answer;
	int err = diff_make(before, now, &answer->question, &diff, why);

	if (!err)
		err = show_format_fits(answer->format, &diff.before, &answer->show, why);
	if (!err)
		err = show_format_fits(answer->format, &diff.now, &answer->show, why);
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
		status = cmd_check_span("diff", &a->answer.question, before);
	if (!err && !status)
		status = cmd_check_span("diff", &a->answer.question, now);
	if (!err) {
		film_look_at_end(before);
		film_look_at_end(now);
	}
	if (!err && !status) {
		err = compare(a, before, now, &status, &why);
		words_cut_off(before, a->before, stderr);
		words_cut_off(now, a->now, stderr);
	}
	film_free(before);
	film_free(now);
	if (err == -EPIPE && !a->answer.output)
		output_broken_pipe();
	if (err)
		fail_print(&why);
	return err ? fail_exit_status(&why) : status;
}

int cmd_diff(int argc, char **argv)
{
	struct arguments a = {.answer.show = {.limit = 40}};
	int status = parse(&a, argc, argv);

	if (!status && a.answer.help)
		printf("%s%s%s", help_start, question_help, help_examples);
	else if (!status)
		status = run(&a);
	question_free(&a.answer.question);
	return status;
}
