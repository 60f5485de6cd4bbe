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
#include "query/report.h"
#include "show/output.h"
#include "show/show.h"
#include "show/words.h"

enum {
	OPTION_FORMAT = 1,
	OPTION_LIMIT,
	OPTION_MIN_PERCENT,
	OPTION_WIDE,
	OPTION_NO_COLOR
};

static const struct option long_options[] = {
	QUESTION_LONG_OPTIONS,
	{"format", required_argument, NULL, OPTION_FORMAT},
	{"output", required_argument, NULL, 'o'},
	{"limit", required_argument, NULL, OPTION_LIMIT},
	{"min-percent", required_argument, NULL, OPTION_MIN_PERCENT},
	{"wide", no_argument, NULL, OPTION_WIDE},
	{"no-color", no_argument, NULL, OPTION_NO_COLOR},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static const char help_start[] =
	"usage: stackcam report [OPTION…] [FILM]\n\n"
	"Shows what a film (default: stackcam.film) says about where the time, or the memory,\n"
	"went.\n\n"
	"      --format FORMAT   table (the default), tree, folded, svg, html, pprof, speedscope,\n"
	"                        json; without it the name given to -o decides\n"
	"  -o, --output FILE     write there instead of standard output\n"
	"      --limit N         rows of the table (default 40; 0: all)\n"
	"      --min-percent P   the tree leaves out what has less than that (default 0.5)\n"
	"      --wide            long names whole: else they are cut to the terminal, or to 120\n"
	"                        columns in a file or a pipe\n"
	"      --no-color        no colors, also on a terminal\n"
	"  -h, --help            this text\n\n"
	"What counts:\n";

static const char help_examples[] =
	"\nExamples:\n"
	"  stackcam report                            the functions that took most, by themselves\n"
	"  stackcam report --by process               the processes that took most\n"
	"  stackcam report --format tree --comm 'worker-*' x.film\n"
	"  stackcam report -o flame.svg               a flame graph\n"
	"  stackcam report -o flame.html --by process,thread\n"
	"  stackcam report -o cpu.pb.gz && go tool pprof -top cpu.pb.gz\n"
	"  stackcam report --from 2s --to 3.5s --focus '^parse_'\n"
	"  stackcam report --format json | jq '.functions[0]'\n";

struct arguments {
	struct question question;
	struct show_options show;
	const struct show_format *format;
	const char *format_name, *output, *film;
	bool wide, no_color, help;
};

static int parse_percent(const char *s, double *percent)
{
	char *end;

	*percent = strtod(s, &end);
	return end == s || *end || !(*percent >= 0 && *percent <= 100) ? -EINVAL : 0;
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
			return cmd_usage("report", "'%s' is not a number of rows", optarg);
		return 0;
	case OPTION_MIN_PERCENT:
		if (parse_percent(optarg, &a->show.min_percent))
			return cmd_usage("report", "'%s' is not a percentage", optarg);
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
		return err ? cmd_usage("report", "%s", why.what) : 0;
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
			return cmd_usage_option("report", argv, long_options);
		status = take_option(a, option);
		if (status)
			return status;
	}
	if (optind + 1 < argc)
		return cmd_usage("report", "one film at a time; '%s' is too many",
				 argv[optind + 1]);
	if (optind < argc)
		a->film = argv[optind];
	return a->help ? 0 : cmd_choose_format("report", a->format_name, a->output, &a->format);
}

/* Shows the film; 0 or a negative errno with *why filled. */
static int show(struct arguments *a, struct film *film, struct output *output, struct fail *why)
{
	struct report report;
	int err = report_make(film, &a->question, a->format->by_thread, &report, why);

	cmd_fit_output(&a->show, output, a->wide, a->no_color);
	if (!err) {
		err = a->format->report(&report, &a->show, output->file);
		if (err)
			fail_errno(why, err, NULL, "cannot show '%s'", a->film);
		else if (!fflush(output->file))
			words_nothing(&report.view, &a->question.filter, a->film, stderr);
	}
	report_free(&report);
	return err;
}

/* Shows the film where it shall be shown; 0 or a negative errno with *why filled. */
static int write_answer(struct arguments *a, struct film *film, struct fail *why)
{
	struct output output;
	int err = output_open(&output, a->output, why), shown;

	if (err)
		return err;
	if (a->format->is_binary && output.is_terminal)
		shown = fail(why, -EINVAL, "name a file with -o, or use a pipe",
			     "%s is no text for a terminal", a->format->name);
	else
		shown = show(a, film, &output, why);
	err = output_close(&output, !shown, shown ? NULL : why);
	return shown ? shown : err;
}

static int run(struct arguments *a)
{
	struct film *film = NULL;
	struct fail why = {0};
	int err = film_open(a->film, &film, &why);
	int status = err ? 0 : cmd_check_span("report", &a->question, film);

	if (!err && !status)
		err = write_answer(a, film, &why);
	film_free(film);
	if (err == -EPIPE && !a->output)
		output_broken_pipe();
	if (err)
		fail_print(&why);
	return err ? fail_exit_status(&why) : status;
}

int cmd_report(int argc, char **argv)
{
	struct arguments a = {
		.film = "stackcam.film",
		.show = {.limit = 40, .min_percent = 0.5},
	};
	int status = parse(&a, argc, argv);

	if (!status && a.help)
		printf("%s%s%s", help_start, question_help, help_examples);
	else if (!status)
		status = run(&a);
	question_free(&a.question);
	return status;
}
