// SPDX-License-Identifier: Apache-2.0
#include "cmd/verb.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/vec.h"
#include "camera/inspect.h"
#include "camera/sources.h"
#include "cmd/recording.h"
#include "host/recorder.h"
#include "show/inspect.h"
#include "show/inspect_summary.h"

#define TEXT_DEFAULT	 256
#define TEXT_MOST	 4000
#define ELEMENTS_DEFAULT 16
#define ELEMENTS_MOST	 64
#define DEPTH_DEFAULT	 3
#define DEPTH_MOST	 4

struct inspect_verb {
	struct recording_options common;
	struct inspect_options inspect;
	vec(struct plan_pattern) patterns;
	vec(const char *) redacted;
	vec(const char *) inside;
	char *pattern; /* of one with parameters: its name without them */
	char *listed[2];
	const char *text;
	bool json, list, summed;
	struct inspect_summary *summary; /* null: each call is printed */
	int failed;			 /* a call could not be added to it */
	FILE *out;
	int64_t wall_offset;
};

static const char help[] =
	"usage: stackcam inspect [OPTION…] FUNCTION… [-- COMMAND ARG…]\n"
	"\n"
	"Prints the calls of functions, with their arguments, results and latency, in Go, C, C++ "
	"and "
	"Rust,\n"
	"without recompiling. The program needs debug information (-g), or a debug file. A value "
	"that\n"
	"cannot be had has a status instead: nil, truncated, not resident, optimised out …\n"
	"\n"
	"FUNCTION is a glob on the name without parameters, such as 'main.(*Server).*', or "
	"re:REGEX; "
	"of\n"
	"C++ also a name with its parameters: 'parse(std::string const&)'.\n"
	"\n"
	"What to inspect:\n"
	"  -p, --pid PID[,PID…]    these processes, their threads and new children\n"
	"  -t, --tid TID[,TID…]    these threads only\n"
	"  -n, --name GLOB         processes of this name; may be repeated\n"
	"      --cgroup PATH       processes of this control group; may be repeated\n"
	"      --no-children       not the children that they start from now on\n"
	"      --inside GLOB       also functions inside of these libraries; may be repeated\n"
	"      --list              list the functions, their parameters and types, and how each "
	"would be\n"
	"                          read: stackcam inspect --list PROGRAM FUNCTION…\n"
	"\n"
	"How a COMMAND is started:\n"
	"  -u, --user USER         as this user\n"
	"      --no-randomize-addr with its memory at the same addresses each time\n"
	"\n"
	"Which calls:\n"
	"      --when CONDITION    only those: 'arg.id > 100 && arg.name == \"bob\"', with == != < "
	"<= "
	"> >=,\n"
	"                          &&, || and parentheses; a.b is a member, also behind a pointer\n"
	"      --rate N            at most about N a second of each function\n"
	"      --limit N           end after N calls\n"
	"      --no-end            show calls when they begin, without results and latency: half "
	"the "
	"cost\n"
	"  -d, --duration TIME     end after this time\n"
	"\n"
	"What of them:\n"
	"      --string N          at most N bytes of a string (default 256)\n"
	"      --elements N        at most N elements of a list (default 16)\n"
	"      --depth N           follow N pointers, one behind the other (default 3)\n"
	"      --stack             the functions from which each call comes\n"
	"      --redact NAME       show no value whose name has this part; always: password, "
	"passwd, "
	"secret,\n"
	"                          token, credential, authorization; may be repeated\n"
	"\n"
	"Where to:\n"
	"      --summary           at the end, not each call: which values took how many calls and "
	"how "
	"much time\n"
	"      --json              one JSON object a line\n"
	"      --text FILE         into this file, instead of standard output (with a COMMAND: "
	"standard error)\n"
	"  -q, --quiet             say nothing but calls and errors\n"
	"  -h, --help              this text\n"
	"\n"
	"Examples:\n"
	"  stackcam inspect -p 1234 main.demoTest               calls of a Go function\n"
	"  stackcam inspect -p 1234 handle --when 'id > 100' --limit 10 --json\n"
	"  stackcam inspect parse_order -- ./orders             a command, from its first call on\n"
	"  stackcam inspect --list ./orders 'parse_*'           what could be shown\n";

enum {
	OPT_LIST = 256,
	OPT_LIMIT,
	OPT_WHEN,
	OPT_RATE,
	OPT_STRING,
	OPT_ELEMENTS,
	OPT_DEPTH,
	OPT_REDACT,
	OPT_JSON,
	OPT_TEXT,
	OPT_INSIDE,
	OPT_NO_END,
	OPT_STACK,
	OPT_SUMMARY
};

static const struct option long_options[] = {
	RECORDING_LONG_TARGETS,
	{"duration", required_argument, NULL, 'd'},
	{"quiet", no_argument, NULL, 'q'},
	{"user", required_argument, NULL, 'u'},
	{"no-randomize-addr", no_argument, NULL, RECORDING_OPT_NO_RANDOMIZE_ADDR},
	{"no-children", no_argument, NULL, RECORDING_OPT_NO_CHILDREN},
	{"inside", required_argument, NULL, OPT_INSIDE},
	{"list", no_argument, NULL, OPT_LIST},
	{"limit", required_argument, NULL, OPT_LIMIT},
	{"when", required_argument, NULL, OPT_WHEN},
	{"no-end", no_argument, NULL, OPT_NO_END},
	{"rate", required_argument, NULL, OPT_RATE},
	{"string", required_argument, NULL, OPT_STRING},
	{"elements", required_argument, NULL, OPT_ELEMENTS},
	{"depth", required_argument, NULL, OPT_DEPTH},
	{"stack", no_argument, NULL, OPT_STACK},
	{"redact", required_argument, NULL, OPT_REDACT},
	{"summary", no_argument, NULL, OPT_SUMMARY},
	{"json", no_argument, NULL, OPT_JSON},
	{"text", required_argument, NULL, OPT_TEXT},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static const char *const always_redacted[] = {"password", "passwd",	"secret",
					      "token",	  "credential", "authorization"};

static int take_number(const char *option, uint64_t min, uint64_t max, uint64_t *number)
{
	if (!text_parse_u64(optarg, min, max, number))
		return 0;
	return cmd_usage("inspect", "--%s takes a number from %llu to %llu, not '%s'", option,
			 (unsigned long long)min, (unsigned long long)max, optarg);
}

static int take_small(const char *option, uint32_t max, uint32_t *number)
{
	uint64_t value;
	int status = take_number(option, 1, max, &value);

	if (!status)
		*number = (uint32_t)value;
	return status;
}

static int take_option(int option, char **argv, struct inspect_verb *o)
{
	int status = recording_take_option("inspect", option, &o->common);

	if (status >= 0)
		return status;
	switch (option) {
	case OPT_LIST:
		o->list = true;
		return 0;
	case OPT_LIMIT:
		return take_number("limit", 1, UINT64_MAX, &o->inspect.calls);
	case OPT_WHEN:
		o->inspect.condition = optarg;
		return 0;
	case OPT_STACK:
		o->inspect.stacks = true;
		return 0;
	case OPT_NO_END:
		o->inspect.no_end = true;
		return 0;
	case OPT_RATE:
		return take_small("rate", 1000000000, &o->inspect.rate);
	case OPT_STRING:
		return take_small("string", TEXT_MOST, &o->inspect.limits.text);
	case OPT_ELEMENTS:
		return take_small("elements", ELEMENTS_MOST, &o->inspect.limits.elements);
	case OPT_DEPTH:
		return take_small("depth", DEPTH_MOST, &o->inspect.limits.depth);
	case OPT_REDACT:
		return vec_push(&o->redacted, optarg) ? 0 : cmd_usage("inspect", "too many names");
	case OPT_INSIDE:
		return vec_push(&o->inside, optarg) ? 0
						    : cmd_usage("inspect", "too many libraries");
	case OPT_SUMMARY:
		o->summed = true;
		return 0;
	case OPT_JSON:
		o->json = true;
		return 0;
	case OPT_TEXT:
		o->text = optarg;
		return 0;
	default:
		return cmd_usage_option("inspect", argv, long_options);
	}
}

/* Where the parameters of a name of C++ begin; null: it has none. */
static const char *parameters_of(const char *name)
{
	size_t length = strlen(name);
	const char *open;

	if (!strncmp(name, "re:", 3) || length < 3)
		return NULL;
	if (name[length - 1] != ')' &&
	    !(length > 6 && !strcmp(name + length - 6, " const") && name[length - 7] == ')'))
		return NULL;
	open = strchr(name, '(');
	/* main.(*Server).handle and f(anonymous namespace) are no parameters */
	return open && open > name && open[-1] != '.' && open[-1] != ':' ? open : NULL;
}

static int add_pattern(struct inspect_verb *o, const char *text)
{
	struct plan_pattern pattern = {.include = true, .text = text};
	const char *parameters = parameters_of(text);
	struct choice *tried = NULL;
	struct fail why = {0};
	int err;

	if (parameters) {
		if (o->inspect.signature)
			return cmd_usage("inspect", "only one function can have its parameters "
						    "named");
		o->inspect.signature = text;
		o->pattern = strndup(text, (size_t)(parameters - text));
		pattern.text = o->pattern;
		if (!o->pattern)
			return cmd_usage("inspect", "too many functions");
	}
	err = choice_new(&tried);
	if (!err)
		err = choice_add_function(tried, true, pattern.text, &why);
	choice_free(tried);
	if (err == -EINVAL) {
		fail_print(&why);
		return EXIT_USAGE;
	}
	return vec_push(&o->patterns, pattern) ? 0 : cmd_usage("inspect", "too many functions");
}

static int check(struct inspect_verb *o)
{
	int status;

	if (!o->patterns.count)
		return cmd_usage("inspect", "name a function");
	if (o->inspect.signature && o->patterns.count > 1)
		return cmd_usage("inspect", "a function with its parameters stands alone");
	status = recording_check_options("inspect", &o->common);
	if (status)
		return status;
	if (o->summed && o->list)
		return cmd_usage("inspect", "--summary and --list exclude each other");
	if (o->common.selection.whole_machine)
		return cmd_usage("inspect", "name what to inspect: -p PID, -n NAME, or -- COMMAND");
	return 0;
}

static int parse(int argc, char **argv, struct inspect_verb *o)
{
	int option, status, end = argc, first;

	/* what stands behind "--" is the command's */
	for (int i = 1; i < argc && end == argc; i++)
		if (!strcmp(argv[i], "--"))
			end = i;
	opterr = 0;
	while ((option = getopt_long(end, argv, RECORDING_SHORT_TARGETS "d:qu:h", long_options,
				     NULL)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			exit(0);
		}
		status = take_option(option, argv, o);
		if (status)
			return status;
	}
	first = optind;
	if (end + 1 < argc)
		o->common.selection.command = argv + end + 1;
	/* --list PROGRAM FUNCTION…: no program runs */
	if (o->list && !o->common.selection.command && !o->common.selection.pid_count &&
	    !o->common.selection.name_count && first < end) {
		o->listed[0] = argv[first++];
		o->common.selection.command = o->listed;
	}
	for (int i = first; i < end; i++) {
		status = add_pattern(o, argv[i]);
		if (status)
			return status;
	}
	return check(o);
}

static void print_call(void *context, const struct inspected *call)
{
	struct inspect_verb *o = context;
	struct inspect_line line = {
		.wall = call->time + (uint64_t)o->wall_offset,
		.pid = call->pid,
		.tid = call->tid,
		.goroutine = call->goroutine,
		.comm = call->comm,
		.function = call->function,
		.arguments = call->arguments,
		.results = call->results,
		.stack = call->stack,
		.stack_count = call->stack_count,
		.has_end = call->has_end,
		.waits_for_end = !o->inspect.no_end,
		.latency = call->latency,
	};

	if (o->summary)
		o->failed = o->failed ? o->failed : inspect_summary_add(o->summary, &line);
	else if (o->json)
		inspect_print_json(o->out, &line);
	else
		inspect_print_text(o->out, &line);
}

static void warn(const char *words)
{
	fputs("stackcam: ", stderr);
	text_print_safe(stderr, words);
	putc('\n', stderr);
}

static void say_loss(uint64_t count, const char *words)
{
	if (count)
		fprintf(stderr, "  %llu %s\n", (unsigned long long)count, words);
}

static void show_end(const struct inspect *inspect)
{
	struct inspect_statistics s;

	inspect_statistics(inspect, &s);
	fprintf(stderr, "stackcam: %llu call%s of %zu function%s shown\n",
		(unsigned long long)s.calls, text_plural(s.calls), s.functions,
		text_plural(s.functions));
	say_loss(s.unfinished, "of them without an end that was seen");
	say_loss(s.refused, "probes refused by the kernel: the instruction cannot be probed");
	say_loss(s.rejected_rate, "calls not shown: --rate was reached");
	say_loss(s.lost_ring, "beginnings or ends of calls lost: the ring was full");
	say_loss(s.ends_alone, "ends of calls whose beginning was lost");
	say_loss(s.lost_condition, "calls not shown: a value of the condition was not in memory");
	say_loss(s.lost_open, "ends of calls not seen: too many calls are open");
	say_loss(s.lost_other, "calls lost for other reasons");
	say_loss(s.late, "processes or files whose first calls were not seen");
}

static bool is_done(void *context)
{
	const struct inspect *inspect = context;

	return inspect_is_done(inspect);
}

/* What has been printed so far is to be seen. */
static int record(struct inspect_verb *o, int argc, char **argv, struct inspect *inspect,
		  struct command *command, struct fail *why)
{
	struct sources_settings sources = sources_settings_usual();
	struct camera_options options = {.selection = &o->common.selection, .sources = &sources};
	struct recording recording = {0};
	struct camera *camera = NULL;
	int err;

	sources.at[CAPTURE_SOURCE_INSPECT] = (struct source_settings){.on = true, .given = inspect};
	err = camera_new(&options, &camera, why);
	if (!err)
		err = recording_create_film(NULL, o->common.labels, argc, argv, &recording.film,
					    why);
	if (!err) {
		recording.session = (struct session){
			.camera = camera,
			.seconds = o->common.seconds,
			.command = o->common.selection.command ? command : NULL,
			.argv = o->common.selection.command,
			.selection = &o->common.selection,
			.context = inspect,
			.is_done = is_done,
		};
		err = recording_run(&recording, why);
	}
	camera_free(camera);
	return err;
}

static int open_out(struct inspect_verb *o, struct fail *why)
{
	o->out = o->common.selection.command ? stderr : stdout;
	if (o->text)
		o->out = fopen(o->text, "we");
	if (!o->out)
		return fail_errno(why, -errno, NULL, "cannot write %s", o->text);
	if (!o->text)
		setvbuf(o->out, NULL, _IOLBF, 1 << 16);
	return 0;
}

static int show_summary(struct inspect_verb *o, struct fail *why)
{
	if (o->failed)
		return fail_errno(why, o->failed, NULL, "cannot add up the calls");
	if (o->json)
		inspect_summary_print_json(o->summary, o->out);
	else
		inspect_summary_print_text(o->summary, o->out);
	return 0;
}

static int inspect(struct inspect_verb *o, int argc, char **argv, struct command *command,
		   struct fail *why)
{
	struct command_options start = recording_command(&o->common);
	struct inspect *inspect = NULL;
	int err = 0;

	o->inspect.listener = print_call;
	o->inspect.context = o;
	o->wall_offset = clock_wall_offset();
	if (o->common.selection.command)
		err = recording_check_command(o->common.selection.command, command, why);
	if (!err)
		err = open_out(o, why);
	if (!err)
		err = inspect_new(&o->inspect, &inspect, why);
	if (!err && o->common.selection.command)
		err = command_prepare(&start, command, why);
	if (!err)
		err = record(o, argc, argv, inspect, command, why);
	if (!err && o->summary)
		err = show_summary(o, why);
	if (o->out && o->out != stderr && (fflush(o->out) || ferror(o->out)) && !err)
		err = fail_errno(why, -EIO, NULL, "cannot write %s",
				 o->text ? o->text : "to standard output");
	if (!err && !o->common.quiet)
		show_end(inspect);
	if (o->out && o->text)
		fclose(o->out);
	inspect_free(inspect);
	return err;
}

int cmd_inspect(int argc, char **argv)
{
	struct inspect_verb o = {.inspect.limits = {TEXT_DEFAULT, ELEMENTS_DEFAULT, DEPTH_DEFAULT}};
	struct command command = {.pidfd = -1, .go = -1, .failed = -1};
	struct fail why = {0};
	int status, err;

	for (size_t i = 0; i < sizeof(always_redacted) / sizeof(always_redacted[0]); i++)
		if (!vec_push(&o.redacted, always_redacted[i]))
			return EXIT_FAILURE;
	status = parse(argc, argv, &o);
	if (status)
		goto out;
	o.inspect.plan = (struct plan_options){
		.selection = &o.common.selection,
		.patterns = o.patterns.at,
		.pattern_count = o.patterns.count,
		.inside = o.inside.at,
		.inside_count = o.inside.count,
		.exit = PROBE_WISH_RET,
		.no_guard = true,
	};
	o.inspect.redaction = (struct inspect_redaction){o.redacted.at, o.redacted.count};
	o.inspect.warn = o.common.quiet ? NULL : warn;
	recorder_raise_descriptors();
	if (o.list) {
		err = inspect_list(&o.inspect, stdout, &why);
		status = recording_exit_status(&command, err, &why);
		goto out;
	}
	o.summary = o.summed ? inspect_summary_new() : NULL;
	err = o.summed && !o.summary ? fail_errno(&why, -ENOMEM, NULL, "cannot add up the calls")
				     : inspect(&o, argc, argv, &command, &why);
	status = recording_exit_status(&command, err, &why);
	command_free(&command);
out:
	vec_free(&o.patterns);
	vec_free(&o.redacted);
	vec_free(&o.inside);
	inspect_summary_free(o.summary);
	free(o.pattern);
	recording_options_free(&o.common);
	return status;
}
