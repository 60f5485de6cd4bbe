// SPDX-License-Identifier: Apache-2.0
#include "cmd/verb.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cmd/answer.h"
#include "cmd/films.h"
#include "film/events.h"
#include "film/reader.h"
#include "query/around.h"
#include "query/report.h"
#include "query/requests.h"
#include "query/slices.h"
#include "query/values.h"
#include "show/output.h"
#include "show/show.h"
#include "show/words.h"

enum {
	OPTION_MIN_PERCENT = 1,
	OPTION_COLUMNS,
	OPTION_SORT,
	OPTION_JSON,
	OPTION_CALLERS,
	OPTION_CALLEES,
};

static const struct option long_options[] = {
	ANSWER_LONG_OPTIONS,
	{"min-percent", required_argument, NULL, OPTION_MIN_PERCENT},
	{"columns", required_argument, NULL, OPTION_COLUMNS},
	{"sort", required_argument, NULL, OPTION_SORT},
	{"json", no_argument, NULL, OPTION_JSON},
	{"callers", required_argument, NULL, OPTION_CALLERS},
	{"callees", required_argument, NULL, OPTION_CALLEES},
	{0},
};

static const char help_start[] =
	"usage: stackcam report [OPTION…] [FILM…]\n\n"
	"Shows what a film (default: stackcam.film; '-': one from standard input) says about "
	"where\n"
	"the time, or the memory, went; of a film of 'stackcam trace', which functions were "
	"called,\n"
	"how often, how long. Several films of one machine are shown as one.\n\n"
	"      --format FORMAT   table (the default), tree, folded, svg, flame-svg, html,\n"
	"                        flame-html, pprof, speedscope, json, heatmap, histogram, graph,\n"
	"                        chrome, firefox, perfetto, states, states-json, requests,\n"
	"                        requests-json, logs, logs-json, machine, machine-json, values,\n"
	"                        values-json, inspect, inspect-json, summary, summary-json;\n"
	"                        without it the name given to -o decides.\n"
	"                        flame-svg and flame-html are svg and html. The others are\n"
	"                          heatmap   of samples: when they were, a row for each 20 ms of\n"
	"                                    a second, as SVG or for the terminal\n"
	"                          histogram, graph, chrome   of calls\n"
	"                          perfetto  of calls, of what threads and the machine did, of\n"
	"                                    samples\n"
	"                          states    of -e threads: how long threads were in which state\n"
	"                          requests  of -e requests: by endpoint, and the slowest\n"
	"                          logs      of -e logs: the lines\n"
	"                          machine   of -e machine: what CPUs, disks, network and memory\n"
	"                                    did\n"
	"                          values    of calls with arguments: which values there were\n"
	"                          inspect   of calls with arguments: one by one\n"
	"                          summary   on one page, what the film holds and what stands out\n"
	"      --json            JSON of what is shown without it\n"
	"      --callers FUNCTION  the tree of what called a function, a name or a glob, and what\n"
	"                        was spent in it for each caller; also as svg and html\n"
	"      --callees FUNCTION  the same of what the function called\n"
	"  -o, --output FILE     write there instead of standard output\n"
	"      --limit N         rows of the table (default 40; 0: all)\n"
	"      --sort KEY        order of the table: self, total; of calls also calls, avg, max,\n"
	"                        p99 (default: self, of calls total)\n"
	"      --columns LIST    of a table of calls: total, self, calls, avg, min, max, p50, "
	"p99,\n"
	"                        percent, self-percent, on-cpu, inferred, or all (default: the\n"
	"                        first three)\n"
	"      --min-percent P   the tree leaves out what has less than that (default 0.5)\n"
	"      --service RULE    of --by service: what services are called, 'unit=nginx*.service\n"
	"                        web' say; may be repeated, the first that fits counts\n"
	"      --wide            long names whole: else they are cut to the terminal, or to 120\n"
	"                        columns in a file or a pipe\n"
	"      --no-color        no colors, also on a terminal\n"
	"  -h, --help            this text\n\n"
	"What counts:\n";

static const char help_examples[] =
	"\nExamples:\n"
	"  stackcam report --format summary           what the film holds, what stands out\n"
	"  stackcam report                            the functions that took most, by themselves\n"
	"  stackcam report -e mem-alloc --callers malloc\n"
	"  stackcam report --by process               the processes that took most\n"
	"  stackcam report --by service               the services that took most\n"
	"  stackcam report --format tree --comm 'worker-*' x.film\n"
	"  stackcam report -o flame.svg               a flame graph\n"
	"  stackcam report -o flame.html --by process,thread\n"
	"  stackcam report -o cpu.pb.gz && go tool pprof -top cpu.pb.gz\n"
	"  stackcam report --from 2s --to 3.5s --focus '^parse_'\n"
	"  stackcam report -e threads --by endpoint,wait           where the time of requests "
	"went\n"
	"  stackcam report --request 0000270f1c0ffee0 -o why.html  what was done for one request\n"
	"  stackcam report --columns calls,avg,p99,max --sort p99 calls.film\n"
	"  stackcam report --format graph --focus '^parse_order$' calls.film\n"
	"  stackcam report -o calls.perfetto-trace calls.film    each call, for ui.perfetto.dev;\n"
	"                                                        else slices and samples\n"
	"  stackcam report --by arg.id calls.film     how long calls took, by the argument id\n"
	"  stackcam report --format json | jq '.functions[0]'\n";

struct arguments {
	struct answer_arguments answer;
	const char *film; /* the first of the films, for messages */
	const char *const *films;
	size_t film_count;
	const char *around; /* of --callers or --callees: of which function; null: of none */
	bool wants_callees, is_json;
};

static int parse_percent(const char *s, double *percent)
{
	char *end;

	*percent = strtod(s, &end);
	return end == s || *end || !(*percent >= 0 && *percent <= 100) ? -EINVAL : 0;
}

/* Returns 0 or an exit status. */
static int parse_option(struct arguments *a, int option)
{
	struct show_options *show = &a->answer.show;
	struct fail why = {0};

	switch (option) {
	case OPTION_MIN_PERCENT:
		if (parse_percent(optarg, &show->min_percent))
			return cmd_usage("report", "'%s' is not a percentage", optarg);
		return 0;
	case OPTION_COLUMNS:
		if (show_parse_columns(show, optarg, &why))
			return cmd_usage("report", "%s", why.what);
		return 0;
	case OPTION_SORT:
		if (show_parse_order(show, optarg, &why))
			return cmd_usage("report", "%s", why.what);
		return 0;
	case OPTION_JSON:
		a->is_json = true;
		return 0;
	case OPTION_CALLERS:
	case OPTION_CALLEES:
		if (a->around)
			return cmd_usage("report", "one of --callers and --callees at a time");
		a->around = optarg;
		a->wants_callees = option == OPTION_CALLEES;
		return 0;
	default:
		return cmd_parse_answer("report", &a->answer, option, optarg);
	}
}

/* With --callers and --callees, flames are shown; else a tree. Returns 0 or an exit status. */
static int fit_around(const struct arguments *a, struct answer_arguments *answer)
{
	if (!a->around)
		return 0;
	if (a->is_json)
		return cmd_usage("report", "--%s has no JSON; 'stackcam mcp' and the API have it",
				 a->wants_callees ? "callees" : "callers");
	if (!answer->format_name && !answer->output)
		answer->format_name = "tree";
	return 0;
}

/* Returns 0 or an exit status. */
static int choose_format(struct arguments *arguments)
{
	struct answer_arguments *a = &arguments->answer;
	const struct shape *shape = &a->question.shape;
	int status = cmd_choose_format("report", a->format_name, a->output, &a->format);

	if (!status && arguments->around && !a->format->of_flame)
		return cmd_usage("report",
				 "%s shows no callers or callees of one function: tree, svg and "
				 "html do",
				 a->format->name);
	if (!status && a->format->story &&
	    (shape->by_process || shape->by_thread || shape->by_image || shape->lines ||
	     shape->inlines))
		return cmd_usage("report",
				 "%s shows each call by itself, and each thread: --by, --lines and "
				 "--inlines say nothing there",
				 a->format->name);
	if (!status && a->question.by_value && a->format_name && !a->format->of_values)
		return cmd_usage("report",
				 "%s does not show values: --by %s is for values, values-json, "
				 "inspect and inspect-json",
				 a->format->name, a->question.by_value);
	if (!status && a->question.filter.request &&
	    (a->format->story || a->format->times || a->format->slices))
		return cmd_usage(
			"report",
			"%s does not show single requests: --request is for tables, trees, "
			"flame graphs and JSON",
			a->format->name);
	return status;
}

/* Returns 0 or an exit status. */
static int parse(struct arguments *a, int argc, char **argv)
{
	int option, status;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ANSWER_SHORT_OPTIONS, long_options, NULL)) != -1) {
		if (option == '?' || option == ':')
			return cmd_usage_option("report", argv, long_options);
		status = parse_option(a, option);
		if (status)
			return status;
	}
	if (optind < argc) {
		a->film = argv[optind];
		a->films = (const char *const *)argv + optind;
		a->film_count = (size_t)(argc - optind);
	}
	if (a->answer.help)
		return 0;
	status = cmd_check_answer("report", &a->answer);
	if (!status)
		status = fit_around(a, &a->answer);
	return status ? status : choose_format(a);
}

/* Shows the callers or the callees of a function; 0 or a negative errno with *why filled. */
static int show_around(const struct arguments *a, const struct report *report, FILE *out,
		       struct fail *why)
{
	/* the same answer with another flame; what it has belongs to the report, or to around */
	struct report shown = *report;
	struct around around;
	int err = around_make(report, a->around, &around, why);

	if (!err) {
		shown.flame = a->wants_callees ? around.sandwich.callees : around.sandwich.callers;
		err = show_format_report(a->answer.format, &shown, &a->answer.show, out);
		if (err)
			fail_errno(why, err, NULL, "cannot show '%s'", a->film);
	}
	if (!err && around.others && !fflush(out))
		fprintf(stderr, "stackcam: %zu function%s with less match '%s', too\n",
			around.others, text_plural(around.others), a->around);
	around_free(&around);
	return err;
}

/* Shows the film; 0 or a negative errno with *why filled. */
static int show(struct arguments *a, struct film *film, struct output *output, struct fail *why)
{
	struct answer_arguments *answer = &a->answer;
	struct report report;
	int err = report_make(film, &answer->question, answer->format->by_thread, &report, why);

	cmd_fit_output(&answer->show, output, answer->wide, answer->no_color);
	if (!err)
		err = show_format_fits(answer->format, &report.view, &answer->show, why);
	if (!err && a->around)
		err = show_around(a, &report, output->file, why);
	else if (!err) {
		err = show_format_report(answer->format, &report, &answer->show, output->file);
		if (err)
			fail_errno(why, err, NULL, "cannot show '%s'", a->film);
		else if (!fflush(output->file))
			words_nothing(&report.view, &answer->question.filter, a->film, stderr);
		if (!err && !answer->question.event)
			words_other_events(&report.view, stderr);
	}
	report_free(&report);
	return err;
}

/* Shows the calls as they happened; 0 or a negative errno with *why filled. */
static int report_calls(struct arguments *a, struct film *film, struct output *output,
			struct fail *why)
{
	const struct question *q = &a->answer.question;
	/* what is said where nothing is left needs of a view no more than this */
	struct call_view view_of_calls = {0};
	const struct event_type *type = event_type(EVENT_CALLS);
	const struct film_event calls = {.name = type->name, .unit = type->unit};
	struct view view = {.film = film, .event = &calls, .calls = &view_of_calls};
	/*
	 * borrowed, not to be freed; without an event, a film in which nothing was called is not
	 * an error
	 */
	struct replay_question story = {.filter = q->filter, .raw = q->is_raw};
	struct replay_sums sums;
	int err = show_story_fits(a->answer.format, film, q->event, why);

	if (!err)
		err = a->answer.format->story(film, &story, output->file, &sums, why);
	if (err || fflush(output->file))
		return err;
	view.film_samples = sums.film_calls;
	view.samples = sums.told;
	words_nothing(&view, &q->filter, a->film, stderr);
	words_lost(film, film_find_event(film, calls.name), 0, stderr);
	return 0;
}

/* Whose losses count where samples are shown: those of the event that is asked for, or of all. */
static uint32_t event_of_samples(const struct question *q, const struct film *film)
{
	return q->event ? film_find_event(film, q->event) : WORDS_ANY_EVENT;
}

/* Shows when its samples were; 0 or a negative errno with *why filled. */
static int show_times(struct arguments *a, struct film *film, struct output *output,
		      struct fail *why)
{
	struct answer_arguments *answer = &a->answer;
	/* of nothing else than one event */
	const char *only =
		answer->format->of_event ? event_type(answer->format->of_event)->name : NULL;
	uint32_t event = only			     ? film_find_event(film, only)
			 : answer->format->of_values ? values_event(film, answer->question.event)
						     : 0;
	uint64_t samples;
	int err;

	if (only && event && !film_has_any(film, event))
		return fail(why, -ENOENT, NULL,
			    "format %s shows %s, and the film has none: none were seen while it "
			    "was recorded",
			    answer->format->name, event_type(answer->format->of_event)->noun);
	if (only && !film_has_any(film, event)) {
		char to_do[64];

		snprintf(to_do, sizeof(to_do), "'stackcam record -e %s' records them", only);
		return fail(why, -EINVAL, to_do, "format %s shows %s, and the film has none",
			    answer->format->name, event_type(answer->format->of_event)->noun);
	}
	if (answer->format->of_values && !event)
		return fail(why, -EINVAL,
			    "'stackcam inspect -o FILM' and 'stackcam trace --args' record them",
			    "format %s shows the arguments of calls, and the film has none",
			    answer->format->name);
	if (answer->question.by_value && !answer->format->of_values)
		return fail(why, -EINVAL, "--format values shows it",
			    "format %s does not show values", answer->format->name);
	cmd_fit_output(&answer->show, output, answer->wide, answer->no_color);
	err = answer->format->times(film, &answer->question, &answer->show, output->file, &samples,
				    why);
	if (!err && !samples && !fflush(output->file))
		err = fail(why, -ENOENT, NULL,
			   "nothing of the film matches: there is nothing to show as %s",
			   answer->format->name);
	if (answer->format->is_binary)
		event = event_of_samples(&answer->question, film);
	if (!err && event && !fflush(output->file))
		words_lost(film, event, 0, stderr);
	return err;
}

/* Shows what threads did, slice by slice; 0 or a negative errno with *why filled. */
static int show_slices(struct arguments *a, struct film *film, struct output *output,
		       struct fail *why)
{
	const struct question *q = &a->answer.question;
	uint64_t told;
	int err = a->answer.format->slices(film, q, output->file, &told, why);

	if (!err && !told && !fflush(output->file))
		err = fail(why, -ENOENT, NULL, "nothing of the film matches: no thread has slices");
	if (!err && !fflush(output->file))
		words_lost(film,
			   q->event || a->answer.format->times ? event_of_samples(q, film)
							       : slices_event(film),
			   0, stderr);
	return err;
}

/*
 * Of what threads did, their states say most: they are what a film of slices is shown as, and one
 * of requests as a table of them, unless the caller names a format or asks for stacks.
 */
static void fit_format(struct answer_arguments *answer, const struct film *film)
{
	const struct question *q = &answer->question;
	struct fail why = {0};
	uint32_t event;

	if (!answer->format_name && !answer->output && q->by_value)
		answer->format = show_format_find("values");
	if (answer->format_name || answer->output || q->by_value || !shape_is_plain(&q->shape) ||
	    q->filter.request || q->filter.focus || q->filter.ignore || q->filter.waits)
		return;
	if (view_event(film, q->event, &event, &why))
		return;
	if (film_has_turns(film, event))
		answer->format = show_format_find("states");
	else if (film_has_requests(film, event))
		answer->format = show_format_find("requests");
	else if (film_has_logs(film, event))
		answer->format = show_format_find("logs");
	else if (film_has_gauges(film, event))
		answer->format = show_format_find("machine");
}

/* With --json, the format becomes the one that has the same as JSON. 0 or -EINVAL. */
static int fit_json(const struct arguments *a, struct answer_arguments *answer, struct fail *why)
{
	const struct show_format *json = a->is_json ? show_format_json(answer->format) : NULL;

	if (!a->is_json)
		return 0;
	if (!json)
		return fail(why, -EINVAL, NULL, "%s has no JSON", answer->format->name);
	answer->format = json;
	return 0;
}

/* Shows the film where it shall be shown; 0 or a negative errno with *why filled. */
static int write_answer(struct arguments *a, struct film *film, struct fail *why)
{
	const struct show_format *format;
	struct output output;
	int err = output_open(&output, a->answer.output, why), shown;

	if (err)
		return err;
	output_like(&output, a->film);
	fit_format(&a->answer, film);
	shown = fit_json(a, &a->answer, why);
	format = a->answer.format;
	if (!shown)
		shown = cmd_check_terminal(format, &output, why);
	if (!shown && show_has_slices(format, film, a->answer.question.event))
		shown = show_slices(a, film, &output, why);
	else if (!shown && format->slices && !format->story)
		shown = fail(why, -EINVAL, "'stackcam record -e threads' records them",
			     "format %s shows the lives of threads, and %s", format->name,
			     a->answer.question.event ? "this event has none"
						      : "the film has none");
	else if (!shown)
		shown = show_has_story(format, film, a->answer.question.event)
				? report_calls(a, film, &output, why)
			: format->times ? show_times(a, film, &output, why)
					: show(a, film, &output, why);
	err = output_close(&output, !shown, shown ? NULL : why);
	return shown ? shown : err;
}

static int run(struct arguments *a)
{
	struct film *film = NULL;
	struct fail why = {0};
	int err = cmd_films_open(a->films, a->film_count, &film, &why);
	int status = err ? 0 : cmd_check_span("report", &a->answer.question, film);

	if (!err)
		film_look_at_end(film);
	if (!err && !status)
		err = write_answer(a, film, &why);
	if (film && !status)
		words_cut_off(film, NULL, stderr);
	film_free(film);
	if (err == -EPIPE && !a->answer.output)
		output_broken_pipe();
	if (err)
		fail_print(&why);
	return err ? fail_exit_status(&why) : status;
}

int cmd_report(int argc, char **argv)
{
	static const char *const usual = "stackcam.film";
	struct arguments a = {
		.film = usual,
		.films = &usual,
		.film_count = 1,
		.answer.show = {.limit = 40, .min_percent = 0.5},
	};
	int status = parse(&a, argc, argv);

	if (!status && a.answer.help)
		printf("%s%s%s", help_start, question_help, help_examples);
	else if (!status)
		status = run(&a);
	question_free(&a.answer.question);
	return status;
}
