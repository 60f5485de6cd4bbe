// SPDX-License-Identifier: Apache-2.0
#include "cmd/verb.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/vec.h"
#include "camera/calls.h"
#include "camera/inspect.h"
#include "camera/sources.h"
#include "cmd/inspect_verb.h"
#include "cmd/recording.h"
#include "cmd/trace_list.h"
#include "cmd/trace_words.h"
#include "host/recorder.h"
#include "probe/choose.h"
#include "show/call_long.h"
#include "show/inspect.h"

/*
 * Calls per second of one function, for some seconds in a row. A process that another user runs
 * must not be slowed down; a command that runs to be traced may be.
 */
#define MAX_RATE_DEFAULT 250000
#define MAX_RATE_UNSAID	 UINT64_MAX

struct trace_options {
	struct recording_options common;
	struct calls_options calls;
	vec(struct plan_pattern) patterns;
	vec(const char *) inside;
	struct call_lines_options lines;
	const char *text;
	bool live, list, color, no_color;
	bool args;
	vec(const char *) redacted;
};

static const char help[] =
	"usage: stackcam trace [OPTION…] [-- COMMAND ARG…]\n"
	"\n"
	"Times every call of chosen functions, without recompiling: prints them as a live tree, or "
	"keeps "
	"them\n"
	"in a film. Without -f: all functions of the program, and the library functions that it "
	"calls.\n"
	"\n"
	"What to trace:\n"
	"  -p, --pid PID[,PID…]    these processes, their threads and new children\n"
	"  -t, --tid TID[,TID…]    these threads only\n"
	"  -n, --name GLOB         processes of this name; may be repeated\n"
	"      --cgroup PATH       processes of this control group; may be repeated\n"
	"      --no-children       not the children that they start from now on\n"
	"\n"
	"How a COMMAND is started:\n"
	"  -u, --user USER         as this user\n"
	"      --no-randomize-addr with its memory at the same addresses each time\n"
	"\n"
	"Which functions (globs on the name without parameters, or re:REGEX; the last match "
	"decides):\n"
	"  -f, --function PATTERN  these; NAME@LIB: as the program calls them in a library\n"
	"      --no-function PATTERN\n"
	"                          not these\n"
	"  -l, --lib GLOB          all that the program calls in these libraries\n"
	"      --no-lib GLOB       nothing in these\n"
	"      --inside GLOB       also functions inside of these libraries\n"
	"      --list              list what would be traced and at which cost, and trace nothing\n"
	"      --limit N           the most functions (default 50000)\n"
	"      --exit HOW          how returns are seen: auto (default: changes no return address\n"
	"                          that matters), ret, inferred, or return: cheap, but "
	"exceptions,\n"
	"                          cancelled threads and coroutines can end the program\n"
	"\n"
	"Which calls:\n"
	"      --depth N           only N levels of calls\n"
	"      --min-time TIME     calls of at least this time, such as 10us\n"
	"      --slower TIME       calls of at least this time, with all that they called\n"
	"      --under FUNCTION    only what this function calls\n"
	"      --start-on FUNCTION from its first call on\n"
	"      --stop-on FUNCTION  until it is called\n"
	"      --args              with the arguments of each call, as 'stackcam inspect' shows "
	"them\n"
	"      --redact NAME       show no argument whose name has this part; may be repeated\n"
	"      --stack FUNCTION    and the stack of its callers ('report -e call-stacks')\n"
	"      --summary           only count, sum and histogram of each function: cheaper\n"
	"      --max-rate N        functions called more often per second, for 3 s, are no longer "
	"traced\n"
	"                          (default 250000, for a COMMAND 0: no limit)\n"
	"  -d, --duration TIME     end after this time\n"
	"\n"
	"Where to:\n"
	"  -o, --output FILM       a film, for 'report', 'replay' and 'diff'\n"
	"      --label KEY=VALUE   a label of the film; may be repeated\n"
	"      --live              the live tree as well\n"
	"      --text FILE         the live tree into this file, instead of standard error\n"
	"      --timestamps, --cpu, --process, --no-tid, --no-on-cpu\n"
	"                          columns of the live tree, more or less\n"
	"      --flat              not indented\n"
	"      --fold              repeated calls as one line\n"
	"      --max-depth N       levels that are printed\n"
	"      --color, --no-color colours (default: on a terminal)\n"
	"      --raw               the tracer's own cost is not subtracted\n"
	"  -q, --quiet             say nothing but errors\n"
	"  -h, --help              this text\n"
	"\n"
	"Examples:\n"
	"  stackcam trace -- ./work                             a live tree of its calls\n"
	"  stackcam trace -f 'leveldb::*' -o db.film -- ./db    these functions, into a film\n"
	"  stackcam trace -p 1234 -f 'ngx_*' -d 5               a running process\n"
	"  stackcam trace -p 1234 --summary -d 10 -o sum.film   only sums, of all functions\n";

enum {
	OPT_NO_FUNCTION = 256,
	OPT_NO_LIB,
	OPT_INSIDE,
	OPT_LIST,
	OPT_LIMIT,
	OPT_EXIT,
	OPT_DEPTH,
	OPT_MIN_TIME,
	OPT_SLOWER,
	OPT_UNDER,
	OPT_START_ON,
	OPT_STOP_ON,
	OPT_STACK,
	OPT_ARGS,
	OPT_REDACT,
	OPT_SUMMARY,
	OPT_MAX_RATE,
	OPT_LIVE,
	OPT_TEXT,
	OPT_TIMESTAMPS,
	OPT_CPU,
	OPT_PROCESS,
	OPT_NO_TID,
	OPT_NO_ON_CPU,
	OPT_FLAT,
	OPT_FOLD,
	OPT_MAX_DEPTH,
	OPT_COLOR,
	OPT_NO_COLOR,
	OPT_RAW
};

static const struct option long_options[] = {
	RECORDING_LONG_OPTIONS,
	{"function", required_argument, NULL, 'f'},
	{"no-function", required_argument, NULL, OPT_NO_FUNCTION},
	{"lib", required_argument, NULL, 'l'},
	{"no-lib", required_argument, NULL, OPT_NO_LIB},
	{"inside", required_argument, NULL, OPT_INSIDE},
	{"list", no_argument, NULL, OPT_LIST},
	{"limit", required_argument, NULL, OPT_LIMIT},
	{"exit", required_argument, NULL, OPT_EXIT},
	{"depth", required_argument, NULL, OPT_DEPTH},
	{"min-time", required_argument, NULL, OPT_MIN_TIME},
	{"slower", required_argument, NULL, OPT_SLOWER},
	{"under", required_argument, NULL, OPT_UNDER},
	{"start-on", required_argument, NULL, OPT_START_ON},
	{"stop-on", required_argument, NULL, OPT_STOP_ON},
	{"stack", required_argument, NULL, OPT_STACK},
	{"args", no_argument, NULL, OPT_ARGS},
	{"redact", required_argument, NULL, OPT_REDACT},
	{"summary", no_argument, NULL, OPT_SUMMARY},
	{"max-rate", required_argument, NULL, OPT_MAX_RATE},
	{"live", no_argument, NULL, OPT_LIVE},
	{"text", required_argument, NULL, OPT_TEXT},
	{"timestamps", no_argument, NULL, OPT_TIMESTAMPS},
	{"cpu", no_argument, NULL, OPT_CPU},
	{"process", no_argument, NULL, OPT_PROCESS},
	{"no-tid", no_argument, NULL, OPT_NO_TID},
	{"no-on-cpu", no_argument, NULL, OPT_NO_ON_CPU},
	{"flat", no_argument, NULL, OPT_FLAT},
	{"fold", no_argument, NULL, OPT_FOLD},
	{"max-depth", required_argument, NULL, OPT_MAX_DEPTH},
	{"color", no_argument, NULL, OPT_COLOR},
	{"no-color", no_argument, NULL, OPT_NO_COLOR},
	{"raw", no_argument, NULL, OPT_RAW},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static int add_pattern(struct trace_options *o, bool include, bool is_library)
{
	struct plan_pattern pattern = {include, is_library, optarg};
	struct choice *tried = NULL;
	struct fail why = {0};
	int err = choice_new(&tried);

	/* a pattern that cannot be one is wrong usage: it is reported before anything is done */
	if (!err)
		err = is_library ? choice_add_library(tried, include, optarg, &why)
				 : choice_add_function(tried, include, optarg, &why);
	choice_free(tried);
	if (err == -EINVAL) {
		fail_print(&why);
		return EXIT_USAGE;
	}
	return vec_push(&o->patterns, pattern) ? 0 : cmd_usage("trace", "too many patterns");
}

/* A time such as 10us as nanoseconds. Returns 0 or an exit status with all said. */
static int take_time(const char *option, uint64_t *ns)
{
	if (!text_parse_time(optarg, 1000000000, ns) && *ns)
		return 0;
	return cmd_usage("trace", "--%s takes a time such as 10us or 5ms, not '%s'", option,
			 optarg);
}

static int take_number(const char *option, uint64_t min, uint64_t max, uint64_t *number)
{
	if (!text_parse_u64(optarg, min, max, number))
		return 0;
	return cmd_usage("trace", "--%s takes a number from %llu to %llu, not '%s'", option,
			 (unsigned long long)min, (unsigned long long)max, optarg);
}

static int take_exit(struct trace_options *o)
{
	static const char *const names[] = {
		[PROBE_WISH_AUTO] = "auto",
		[PROBE_WISH_RETURN] = "return",
		[PROBE_WISH_RET] = "ret",
		[PROBE_WISH_INFERRED] = "inferred",
	};
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(optarg, names[i]))
			continue;
		o->calls.plan.exit = (enum probe_exit_wish)i;
		return 0;
	}
	return cmd_usage("trace", "--exit takes auto, return, ret or inferred, not '%s'", optarg);
}

/* Options of the live tree. Returns 1: it was none of them. */
static int take_line_option(int option, struct trace_options *o)
{
	uint64_t number;
	int status;

	switch (option) {
	case OPT_TIMESTAMPS:
		o->lines.timestamps = true;
		return 0;
	case OPT_CPU:
		o->lines.cpu = true;
		return 0;
	case OPT_PROCESS:
		o->lines.process = true;
		return 0;
	case OPT_NO_TID:
		o->lines.no_tid = true;
		return 0;
	case OPT_NO_ON_CPU:
		o->lines.no_on_cpu = true;
		return 0;
	case OPT_FLAT:
		o->lines.flat = true;
		return 0;
	case OPT_FOLD:
		o->lines.fold = true;
		return 0;
	case OPT_COLOR:
		o->color = true;
		return 0;
	case OPT_NO_COLOR:
		o->no_color = true;
		return 0;
	case OPT_MAX_DEPTH:
		status = take_number("max-depth", 1, 65535, &number);
		o->lines.max_depth = status ? 0 : (unsigned int)number;
		return status;
	default:
		return 1;
	}
}

/*
 * Options of what is traced. Returns 0, or an exit status with all said; -1: it was none of them.
 */
static int take_call_option(int option, struct trace_options *o)
{
	uint64_t number;
	int status;

	switch (option) {
	case 'f':
		return add_pattern(o, true, false);
	case OPT_NO_FUNCTION:
		return add_pattern(o, false, false);
	case 'l':
		return add_pattern(o, true, true);
	case OPT_NO_LIB:
		return add_pattern(o, false, true);
	case OPT_INSIDE:
		return vec_push(&o->inside, optarg) ? 0 : cmd_usage("trace", "too many libraries");
	case OPT_LIMIT:
		status = take_number("limit", 1, 1000000, &number);
		o->calls.plan.limit = status ? 0 : number;
		return status;
	case OPT_EXIT:
		return take_exit(o);
	case OPT_DEPTH:
		status = take_number("depth", 1, 65535, &number);
		o->calls.depth = status ? 0 : (uint32_t)number;
		return status;
	case OPT_MIN_TIME:
		return take_time("min-time", &o->calls.shortest);
	case OPT_SLOWER:
		return take_time("slower", &o->calls.slower);
	case OPT_UNDER:
		o->calls.plan.under = optarg;
		return 0;
	case OPT_START_ON:
		o->calls.plan.start_on = optarg;
		return 0;
	case OPT_STOP_ON:
		o->calls.plan.stop_on = optarg;
		return 0;
	case OPT_STACK:
		o->calls.plan.stack = optarg;
		return 0;
	case OPT_ARGS:
		o->args = o->calls.plan.stays = true;
		return 0;
	case OPT_REDACT:
		return vec_push(&o->redacted, optarg) ? 0 : cmd_usage("trace", "too many names");
	case OPT_SUMMARY:
		o->calls.summary = true;
		return 0;
	case OPT_MAX_RATE:
		return take_number("max-rate", 0, 1000000000, &o->calls.max_rate);
	default:
		return -1;
	}
}

static int take_option(int option, char **argv, struct trace_options *o)
{
	int status = recording_take_option("trace", option, &o->common);

	if (status >= 0)
		return status;
	status = take_call_option(option, o);
	if (status >= 0)
		return status;
	status = take_line_option(option, o);
	if (status != 1)
		return status;
	switch (option) {
	case OPT_TEXT:
		o->text = optarg;
		return 0;
	case OPT_LIVE:
		o->live = true;
		return 0;
	case OPT_LIST:
		o->list = true;
		return 0;
	case OPT_RAW:
		o->calls.raw = true;
		return 0;
	default:
		return cmd_usage_option("trace", argv, long_options);
	}
}

static int check(struct trace_options *o)
{
	int status;

	if (o->calls.summary && !o->common.film)
		return cmd_usage("trace", "--summary needs a film to keep its sums: -o FILM");
	if (o->calls.summary && (o->calls.slower || o->live || o->text))
		return cmd_usage("trace",
				 "--summary has no single calls: it goes without --slower, "
				 "--live and --text");
	if (o->args && (o->calls.summary || o->calls.slower))
		return cmd_usage("trace", "--args goes without --summary and without --slower");
	if (o->redacted.count && !o->args)
		return cmd_usage("trace", "--redact is for --args");
	if (o->calls.plan.stack && !o->common.film)
		return cmd_usage("trace", "--stack needs a film to keep the stacks: -o FILM");
	if (o->calls.slower && !o->common.film)
		return cmd_usage("trace",
				 "--slower needs a film: a live tree prints calls when they "
				 "begin, and does not know which will be slow");
	status = recording_check_options("trace", &o->common);
	if (status)
		return status;
	if (o->common.selection.whole_machine)
		return cmd_usage("trace", "name what to trace: -p PID, -n NAME, or -- COMMAND");
	return 0;
}

static int parse(int argc, char **argv, struct trace_options *o)
{
	int option, status;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "+" RECORDING_SHORT_OPTIONS "f:l:h", long_options,
				     NULL)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			exit(0);
		}
		status = take_option(option, argv, o);
		if (status)
			return status;
	}
	if (optind < argc)
		o->common.selection.command = argv + optind;
	return check(o);
}

/* "a=1, b=2", to be freed; null: no memory. */
static char *words_of(const struct shown_tree *arguments)
{
	char *words = NULL;
	size_t size;
	FILE *to = open_memstream(&words, &size);

	if (!to)
		return NULL;
	inspect_print_list(to, arguments);
	if (!fclose(to))
		return words;
	free(words);
	return NULL;
}

static void print_call(void *context, const struct call_heard *heard)
{
	char *values = NULL;
	struct call_line line = {
		.kind = heard->begins ? CALL_BEGINS : CALL_ENDS,
		.time = heard->time,
		.pid = heard->pid,
		.tid = heard->tid,
		.lane = heard->lane,
		.depth = heard->depth,
		.cpu = heard->cpu,
		.comm = heard->comm,
		.name = heard->function,
		.duration = heard->duration,
		.error = heard->error,
		.waited = heard->waited,
		.inferred = heard->inferred,
		.open = heard->open,
		.unknown = heard->unknown,
	};

	if (heard->arguments)
		line.values = values = words_of(heard->arguments);
	if (heard->gap) {
		struct call_line gap = line;

		gap.kind = CALL_GAP;
		call_long_take(context, &gap);
	}
	call_long_take(context, &line);
	free(values);
}

static int open_lines(struct trace_options *o, FILE **out, struct call_lines **lines,
		      struct call_long **filter, struct fail *why)
{
	*out = stderr;
	if (o->text) {
		*out = fopen(o->text, "we");
		if (!*out)
			return fail_errno(why, -errno, NULL, "cannot write %s", o->text);
	}
	o->lines.start = clock_ns();
	o->lines.color = !o->no_color && (o->color || isatty(fileno(*out)));
	if (call_lines_new(*out, &o->lines, lines) ||
	    call_long_new(o->calls.shortest, *lines, filter))
		return fail_errno(why, -ENOMEM, NULL, "cannot print calls");
	o->calls.listener = print_call;
	o->calls.context = *filter;
	return 0;
}

/* --args: what takes the arguments of the tracer's calls. */
static int inspect_calls(struct trace_options *o, struct calls *calls,
			 const struct inspect_traced *traced, struct inspect **inspect,
			 struct fail *why)
{
	struct inspect_options options = {
		.traced = traced,
		.limits = inspect_usual_limits,
		.no_end = true,
		.warn = o->calls.warn,
	};
	int err;

	for (size_t i = 0; inspect_usual_redacted[i]; i++)
		if (!vec_push(&o->redacted, inspect_usual_redacted[i]))
			return fail_errno(why, -ENOMEM, NULL, "cannot trace");
	options.redaction = (struct inspect_redaction){o->redacted.at, o->redacted.count};
	err = inspect_new(&options, inspect, why);
	if (!err)
		calls_take_args_of(calls, *inspect);
	return err;
}

static int record(struct trace_options *o, int argc, char **argv, struct calls *calls,
		  struct inspect *inspect, struct command *command, struct fail *why)
{
	struct sources_settings sources = sources_settings_usual();
	struct camera_options options = {.selection = &o->common.selection, .sources = &sources};
	struct recording recording = {0};
	struct calls_statistics statistics;
	struct camera *camera = NULL;
	int err;

	sources.at[CAPTURE_SOURCE_CALLS] = (struct source_settings){.on = true, .given = calls};
	if (inspect)
		sources.at[CAPTURE_SOURCE_INSPECT] =
			(struct source_settings){.on = true, .given = inspect};
	err = camera_new(&options, &camera, why);
	if (!err)
		err = recording_create_film(o->common.film, o->common.labels, argc, argv,
					    &recording.film, why);
	if (!err) {
		bool progress = !o->common.quiet && !o->calls.listener && isatty(STDERR_FILENO);

		recording.session = (struct session){
			.camera = camera,
			.seconds = o->common.seconds,
			.command = o->common.selection.command ? command : NULL,
			.argv = o->common.selection.command,
			.selection = &o->common.selection,
			.progress = progress ? trace_show_progress : NULL,
			.context = calls,
		};
		err = recording_run(&recording, why);
	}
	if (!err && !o->common.quiet) {
		calls_statistics(calls, &statistics);
		trace_show_end(o->common.film, &recording, &statistics);
	}
	camera_free(camera);
	return err;
}

/* The command waits to be let go while its functions are found. */
static int trace(struct trace_options *o, int argc, char **argv, struct command *command,
		 struct fail *why)
{
	struct call_lines *lines = NULL;
	struct call_long *filter = NULL;
	struct command_options start = recording_command(&o->common);
	struct inspect_traced traced = {.first = calls_first_function(), .take = calls_args_take};
	struct inspect *inspect = NULL;
	struct calls *calls = NULL;
	FILE *out = NULL;
	int err = 0;

	o->calls.keep = o->common.film != NULL;
	o->calls.warn = o->common.quiet ? NULL : trace_warn;
	if (o->common.selection.command)
		err = recording_check_command(o->common.selection.command, command, why);
	if (!err && (!o->common.film || o->live || o->text))
		err = open_lines(o, &out, &lines, &filter, why);
	if (!err)
		err = calls_new(&o->calls, &calls, why);
	if (!err && o->args) {
		traced.plan = calls_plan(calls);
		traced.context = calls;
		err = inspect_calls(o, calls, &traced, &inspect, why);
	}
	if (!err && !o->common.quiet && plan_warning(calls_plan(calls)))
		trace_warn(plan_warning(calls_plan(calls)));
	if (!err && o->common.selection.command)
		err = command_prepare(&start, command, why);
	if (!err)
		err = record(o, argc, argv, calls, inspect, command, why);
	call_long_free(filter);
	if (lines && call_lines_end(lines) && !err)
		err = fail_errno(why, -ENOMEM, NULL, "cannot print calls");
	if (out && out != stderr && fclose(out) && !err)
		err = fail_errno(why, -errno, NULL, "cannot write %s", o->text);
	inspect_free(inspect);
	calls_free(calls);
	return err;
}

int cmd_trace(int argc, char **argv)
{
	struct trace_options o = {.calls.max_rate = MAX_RATE_UNSAID};
	struct command command = {.pidfd = -1, .go = -1, .failed = -1};
	struct fail why = {0};
	int status = parse(argc, argv, &o), err;

	if (status)
		goto out;
	if (o.calls.max_rate == MAX_RATE_UNSAID)
		o.calls.max_rate = o.common.selection.command ? 0 : MAX_RATE_DEFAULT;
	o.calls.plan.selection = &o.common.selection;
	o.calls.plan.patterns = o.patterns.at;
	o.calls.plan.pattern_count = o.patterns.count;
	o.calls.plan.inside = o.inside.at;
	o.calls.plan.inside_count = o.inside.count;
	recorder_raise_descriptors();
	if (o.list) {
		status = trace_list(&o.calls.plan);
		goto out;
	}
	err = trace(&o, argc, argv, &command, &why);
	status = recording_exit_status(&command, err, &why);
	command_free(&command);
out:
	vec_free(&o.patterns);
	vec_free(&o.inside);
	vec_free(&o.redacted);
	recording_options_free(&o.common);
	return status;
}
