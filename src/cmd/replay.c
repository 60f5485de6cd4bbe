// SPDX-License-Identifier: Apache-2.0
#include "cmd/verb.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "film/events.h"
#include "film/reader.h"
#include "query/replay.h"
#include "show/output.h"
#include "exchange/chrome/writer.h"
#include "exchange/perfetto/writer.h"
#include "show/replay.h"
#include "show/words.h"

enum {
	OPTION_FORMAT = 1,
	OPTION_NO_FUNCTION,
	OPTION_UNDER,
	OPTION_MAX_DEPTH,
	OPTION_MIN_TIME,
	OPTION_RAW,
	OPTION_FLAT,
	OPTION_FOLD,
	OPTION_TIMESTAMPS,
	OPTION_CPU,
	OPTION_PROCESS,
	OPTION_NO_TID,
	OPTION_NO_ON_CPU,
	OPTION_NO_ARGS,
	OPTION_COLOR,
	OPTION_NO_COLOR
};

static const struct option long_options[] = {
	{"format", required_argument, NULL, OPTION_FORMAT},
	{"output", required_argument, NULL, 'o'},
	{"function", required_argument, NULL, 'f'},
	{"no-function", required_argument, NULL, OPTION_NO_FUNCTION},
	{"under", required_argument, NULL, OPTION_UNDER},
	{"event", required_argument, NULL, QUESTION_EVENT},
	{"pid", required_argument, NULL, QUESTION_PID},
	{"tid", required_argument, NULL, QUESTION_TID},
	{"comm", required_argument, NULL, QUESTION_COMM},
	{"name", required_argument, NULL, QUESTION_COMM},
	{"from", required_argument, NULL, QUESTION_FROM},
	{"to", required_argument, NULL, QUESTION_TO},
	{"max-depth", required_argument, NULL, OPTION_MAX_DEPTH},
	{"min-time", required_argument, NULL, OPTION_MIN_TIME},
	{"raw", no_argument, NULL, OPTION_RAW},
	{"flat", no_argument, NULL, OPTION_FLAT},
	{"fold", no_argument, NULL, OPTION_FOLD},
	{"timestamps", no_argument, NULL, OPTION_TIMESTAMPS},
	{"cpu", no_argument, NULL, OPTION_CPU},
	{"process", no_argument, NULL, OPTION_PROCESS},
	{"no-tid", no_argument, NULL, OPTION_NO_TID},
	{"no-on-cpu", no_argument, NULL, OPTION_NO_ON_CPU},
	{"no-args", no_argument, NULL, OPTION_NO_ARGS},
	{"color", no_argument, NULL, OPTION_COLOR},
	{"no-color", no_argument, NULL, OPTION_NO_COLOR},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static const char help[] =
	"usage: stackcam replay [OPTION…] [FILM]\n\n"
	"Shows the calls of a film (default: stackcam.film) as they happened.\n\n"
	"      --format FORMAT   text (the default), chrome, perfetto; without it the name given "
	"to\n"
	"                        -o decides\n"
	"  -o, --output FILE     write there instead of standard output\n\n"
	"What is shown:\n"
	"  -f, --function PATTERN\n"
	"                        only calls of these functions: a glob, or re:REGEX\n"
	"      --no-function PATTERN\n"
	"                        not of these; the last pattern that matches decides\n"
	"      --under PATTERN   only calls of these functions, and what they call\n"
	"  -e, --event EVENT     which event of the film (default: calls)\n"
	"  -p, --pid PID[,PID…]  only these processes\n"
	"  -t, --tid TID[,TID…]  only these threads\n"
	"  -n, --comm, --name GLOB\n"
	"                        only threads whose name, or whose process's name, matches;\n"
	"                        may be given several times\n"
	"      --from T, --to T  only this span: 2.5 or 2.5s, 1500ms since the film's start;\n"
	"                        14:32, 14:32:08.5 local time; or RFC 3339\n"
	"      --max-depth N     at most N levels of calls\n"
	"      --min-time TIME   only calls that took as long: 100us, 1ms, 2s; without unit ns\n"
	"      --raw             the tracer's own cost is not subtracted from durations\n\n"
	"How text is shown:\n"
	"      --flat            a line for each beginning and each end\n"
	"      --fold            the same call again and again is one line\n"
	"      --timestamps      when it happened, since the film's start\n"
	"      --cpu             on which CPU\n"
	"      --process         number and name of the process\n"
	"      --no-tid          without the column of threads\n"
	"      --no-on-cpu       without the column of time on a CPU\n"
	"      --no-args         without the arguments and results that the film has of calls\n"
	"      --color           colors, also where the output is not a terminal\n"
	"      --no-color        no colors, also on a terminal\n"
	"  -h, --help            this text\n"
	"\nExamples:\n"
	"  stackcam replay | less\n"
	"  stackcam replay --min-time 1ms --from 2s --to 3s x.film\n"
	"  stackcam replay --under parse_request --fold\n"
	"  stackcam replay -o calls.perfetto-trace    for ui.perfetto.dev\n"
	"  stackcam replay -o calls.chrome.json       for chrome://tracing\n";

enum format {
	FORMAT_TEXT,
	FORMAT_CHROME,
	FORMAT_PERFETTO
};

static const struct {
	const char *name;
	const char *extensions[3];
} formats[] = {
	[FORMAT_TEXT] = {"text", {".txt", ".text", ".tree"}},
	[FORMAT_CHROME] = {"chrome", {".json", NULL}},
	[FORMAT_PERFETTO] = {"perfetto", {".perfetto-trace", ".pftrace", ".perfetto"}},
};

struct arguments {
	struct replay_question question;
	struct question shared; /* the options that it takes as a question */
	struct call_lines_options lines;
	enum format format;
	const char *format_name, *output, *film;
	bool color, no_color, help;
};

/* Options that need no value. */
static bool parse_switch(struct arguments *a, int option)
{
	const struct {
		int option;
		bool *flag;
	} flags[] = {
		{OPTION_RAW, &a->question.raw},
		{OPTION_FLAT, &a->lines.flat},
		{OPTION_FOLD, &a->lines.fold},
		{OPTION_TIMESTAMPS, &a->lines.timestamps},
		{OPTION_CPU, &a->lines.cpu},
		{OPTION_PROCESS, &a->lines.process},
		{OPTION_NO_TID, &a->lines.no_tid},
		{OPTION_NO_ON_CPU, &a->lines.no_on_cpu},
		{OPTION_NO_ARGS, &a->question.no_values},
		{OPTION_COLOR, &a->color},
		{OPTION_NO_COLOR, &a->no_color},
		{'h', &a->help},
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (flags[i].option == option)
			return *flags[i].flag = true;
	return false;
}

/* Returns 0 or an exit status. */
static int parse_option(struct arguments *a, int option)
{
	struct fail why = {0};
	uint64_t number;
	int err;

	if (parse_switch(a, option))
		return 0;
	switch (option) {
	case OPTION_FORMAT:
		a->format_name = optarg;
		return 0;
	case 'o':
		a->output = strcmp(optarg, "-") ? optarg : NULL;
		return 0;
	case 'f':
	case OPTION_NO_FUNCTION:
		err = patterns_add(&a->question.functions, option == 'f', optarg, &why);
		break;
	case OPTION_UNDER:
		err = patterns_add(&a->question.under, true, optarg, &why);
		break;
	case OPTION_MAX_DEPTH:
		if (text_parse_u64(optarg, 1, UINT16_MAX, &number))
			return cmd_usage("replay", "'%s' is not a number of levels", optarg);
		a->question.max_depth = (unsigned int)number;
		return 0;
	case OPTION_MIN_TIME:
		if (text_parse_time(optarg, 1, &a->question.min_time))
			return cmd_usage("replay", "'%s' is not a time such as 100us or 1ms",
					 optarg);
		return 0;
	default:
		err = question_parse(&a->shared, option, optarg, &why);
	}
	return err ? cmd_usage("replay", "%s", err == -ENOMEM ? "out of memory" : why.what) : 0;
}

static bool ends_in(const char *path, const char *ending)
{
	size_t length = strlen(path), wanted = strlen(ending);

	return length > wanted && !strcmp(path + length - wanted, ending);
}

static enum format format_of_path(const char *path)
{
	for (enum format f = FORMAT_TEXT; path && f <= FORMAT_PERFETTO; f++)
		for (size_t i = 0; i < 3 && formats[f].extensions[i]; i++)
			if (ends_in(path, formats[f].extensions[i]))
				return f;
	return FORMAT_TEXT;
}

/* Returns 0 or an exit status. */
static int choose_format(struct arguments *a)
{
	if (!a->format_name) {
		a->format = format_of_path(a->output);
		return 0;
	}
	for (a->format = FORMAT_TEXT; a->format <= FORMAT_PERFETTO; a->format++)
		if (!strcmp(formats[a->format].name, a->format_name))
			return 0;
	return cmd_usage("replay", "unknown format '%s'; the formats are: text, chrome, perfetto",
			 a->format_name);
}

/* Returns 0 or an exit status. */
static int parse(struct arguments *a, int argc, char **argv)
{
	int option, status;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":o:hf:e:p:t:n:", long_options, NULL)) != -1) {
		if (option == '?' || option == ':')
			return cmd_usage_option("replay", argv, long_options);
		status = parse_option(a, option);
		if (status)
			return status;
	}
	if (optind + 1 < argc)
		return cmd_usage("replay", "one film at a time; '%s' is too many",
				 argv[optind + 1]);
	if (optind < argc)
		a->film = argv[optind];
	if (a->color && a->no_color)
		return cmd_usage("replay", "--color and --no-color exclude each other");
	/* as one whole from here on */
	a->question.event = a->shared.event;
	a->question.filter = a->shared.filter;
	a->shared = (struct question){0};
	return a->help ? 0 : choose_format(a);
}

static int show(struct arguments *a, struct film *film, struct output *output,
		struct replay_sums *sums, struct fail *why)
{
	switch (a->format) {
	case FORMAT_CHROME:
		return chrome_write_calls(film, &a->question, output->file, sums, why);
	case FORMAT_PERFETTO:
		if (output->is_terminal)
			return fail(why, -EINVAL, "name a file with -o, or use a pipe",
				    "perfetto is not text for a terminal");
		return perfetto_write_calls(film, &a->question, output->file, sums, why);
	default:
		a->lines.start = film->info.start;
		a->lines.color =
			a->color || (output->is_terminal && !a->no_color && !getenv("NO_COLOR"));
		return show_calls_text(film, &a->question, &a->lines, output->file, sums, why);
	}
}

/* What was lost belongs to the answer, but not into its columns. */
static void report_losses(const struct film *film, const struct arguments *a,
			  const struct replay_sums *sums)
{
	const char *name = a->question.event ? a->question.event : event_type(EVENT_CALLS)->name;
	uint32_t event = film_find_event(film, name);

	if (!sums->told) {
		fputs(sums->film_calls
			      ? "stackcam: no call is left of what was asked for\n"
			      : "stackcam: the film has no single calls; 'stackcam report' shows "
				"what it has\n",
		      stderr);
	}
	words_lost(film, event, 0, stderr);
}

/* Shows the film where it shall be shown; 0 or a negative errno with *why filled. */
static int write_answer(struct arguments *a, struct film *film, struct fail *why)
{
	struct replay_sums sums = {0};
	struct output output;
	int err = output_open(&output, a->output, why), shown;

	if (err)
		return err;
	output_like(&output, a->film);
	shown = show(a, film, &output, &sums, why);
	err = output_close(&output, !shown, shown ? NULL : why);
	if (!shown && !err)
		report_losses(film, a, &sums);
	return shown ? shown : err;
}

static int run(struct arguments *a)
{
	struct film *film = NULL;
	struct fail why = {0};
	uint64_t from, to;
	int err = film_open(a->film, &film, &why), status = 0;

	if (!err && filter_span(&a->question.filter, &film->info, &from, &to, &why))
		status = cmd_usage("replay", "%s", why.what);
	else if (!err) {
		film_look_at_end(film);
		err = write_answer(a, film, &why);
		words_cut_off(film, NULL, stderr);
	}
	film_free(film);
	if (err == -EPIPE && !a->output)
		output_broken_pipe();
	if (err)
		fail_print(&why);
	return err ? fail_exit_status(&why) : status;
}

int cmd_replay(int argc, char **argv)
{
	struct arguments a = {.film = "stackcam.film"};
	int status = parse(&a, argc, argv);

	if (!status && a.help)
		fputs(help, stdout);
	else if (!status)
		status = run(&a);
	replay_question_free(&a.question);
	question_free(&a.shared);
	return status;
}
