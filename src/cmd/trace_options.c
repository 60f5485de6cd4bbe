// SPDX-License-Identifier: Apache-2.0
#include "cmd/trace_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cmd/verb.h"
#include "probe/choose.h"

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
	"      --args              with the arguments and results of each call, as 'stackcam "
	"inspect'\n"
	"                          shows them\n"
	"      --redact NAME       show no value whose name has this part; may be repeated\n"
	"      --stack FUNCTION    and the stack of its callers ('report -e call-stacks')\n"
	"      --summary           only count, sum and histogram of each function: cheaper;\n"
	"                          without -o, a table at the end\n"
	"      --max-rate N        functions called more often per second, for 3 s, are no longer "
	"traced\n"
	"                          (default 250000, for a COMMAND 0: no limit)\n"
	"  -d, --duration TIME     end after this time\n"
	"\n"
	"Where to:\n"
	"  -o, --output FILM       a film, for 'report', 'replay' and 'diff'\n"
	"  -e, --event EVENT[,EVENT…]\n"
	"                          with -o: record these, too, as 'stackcam record' does, such "
	"as requests\n"
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
	"      --verbose           where the kernel refuses a program of stackcam, say why\n"
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
	{"event", required_argument, NULL, 'e'},
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
static int parse_time(const char *option, uint64_t *ns)
{
	if (!text_parse_time(optarg, 1000000000, ns) && *ns)
		return 0;
	return cmd_usage("trace", "--%s takes a time such as 10us or 5ms, not '%s'", option,
			 optarg);
}

static int parse_number(const char *option, uint64_t min, uint64_t max, uint64_t *number)
{
	if (!text_parse_u64(optarg, min, max, number))
		return 0;
	return cmd_usage("trace", "--%s takes a number from %llu to %llu, not '%s'", option,
			 (unsigned long long)min, (unsigned long long)max, optarg);
}

static int parse_exit(struct trace_options *o)
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
static int parse_line_option(int option, struct trace_options *o)
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
		status = parse_number("max-depth", 1, 65535, &number);
		o->lines.max_depth = status ? 0 : (unsigned int)number;
		return status;
	default:
		return 1;
	}
}

/*
 * Options of what is traced. Returns 0, or an exit status with all said; -1: it was none of them.
 */
static int parse_call_option(int option, struct trace_options *o)
{
	struct fail why = {0};
	uint64_t number;
	int status;

	switch (option) {
	case 'e':
		return event_list_parse_more(optarg, &o->events, &why)
			       ? cmd_usage("trace", "%s", why.what)
			       : 0;
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
		status = parse_number("limit", 1, 1000000, &number);
		o->calls.plan.limit = status ? 0 : number;
		return status;
	case OPT_EXIT:
		return parse_exit(o);
	case OPT_DEPTH:
		status = parse_number("depth", 1, 65535, &number);
		o->calls.depth = status ? 0 : (uint32_t)number;
		return status;
	case OPT_MIN_TIME:
		return parse_time("min-time", &o->calls.shortest);
	case OPT_SLOWER:
		return parse_time("slower", &o->calls.slower);
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
		return parse_number("max-rate", 0, 1000000000, &o->calls.max_rate);
	default:
		return -1;
	}
}

static int parse_option(int option, char **argv, struct trace_options *o)
{
	int status = recording_parse_option("trace", option, &o->common);

	if (status >= 0)
		return status;
	status = parse_call_option(option, o);
	if (status >= 0)
		return status;
	status = parse_line_option(option, o);
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

	if (o->calls.summary && (o->calls.slower || o->live || o->text))
		return cmd_usage("trace",
				 "--summary has no single calls: it goes without --slower, "
				 "--live and --text");
	if (o->args && (o->calls.summary || o->calls.slower))
		return cmd_usage("trace", "--args goes without --summary and without --slower");
	if (o->redacted.count && !o->args)
		return cmd_usage("trace", "--redact is for --args");
	if (o->events.count && !o->common.film)
		return cmd_usage("trace", "-e records into a film: name it with -o");
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

int trace_options_parse(int argc, char **argv, struct trace_options *o)
{
	int option, status;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "+" RECORDING_SHORT_OPTIONS "e:f:l:h",
				     long_options, NULL)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			exit(0);
		}
		status = parse_option(option, argv, o);
		if (status)
			return status;
	}
	if (optind < argc)
		o->common.selection.command = argv + optind;
	return check(o);
}

void trace_options_free(struct trace_options *o)
{
	vec_free(&o->patterns);
	vec_free(&o->inside);
	vec_free(&o->redacted);
	recording_options_free(&o->common);
}
