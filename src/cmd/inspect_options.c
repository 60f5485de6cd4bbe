// SPDX-License-Identifier: Apache-2.0
/* The options of 'stackcam inspect'. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cmd/inspect_verb.h"

#define TEXT_MOST     4000
#define ELEMENTS_MOST 64
#define DEPTH_MOST    4

static const char help[] =
	"usage: stackcam inspect [OPTION…] FUNCTION|FILE:LINE… [-- COMMAND ARG…]\n"
	"\n"
	"Prints the calls of functions, with their arguments, results and latency, in Go, C, C++ "
	"and Rust,\n"
	"and each time that a line of the source is reached, with its variables, without "
	"recompiling. The\n"
	"program needs debug information (-g), or a debug file. A value that cannot be had has a "
	"status\n"
	"instead: nil, truncated, not resident, optimised out …\n"
	"\n"
	"FUNCTION is a glob on the name without parameters, such as 'main.(*Server).*', or "
	"re:REGEX; of\n"
	"C++ also a name with its parameters: 'parse(std::string const&)'. FILE is the end of a "
	"path.\n"
	"\n"
	"What to inspect:\n"
	"  -p, --pid PID[,PID…]    these processes, their threads and new children\n"
	"  -t, --tid TID[,TID…]    these threads only\n"
	"  -n, --name GLOB         processes of this name; may be repeated\n"
	"      --cgroup PATH       processes of this control group; may be repeated\n"
	"      --no-children       not the children that they start from now on\n"
	"      --inside GLOB       also functions inside of these libraries; may be repeated\n"
	"      --list              list the functions, or the places of lines, their parameters "
	"or\n"
	"                          variables with their types, and how each would be read:\n"
	"                          stackcam inspect --list PROGRAM FUNCTION|FILE:LINE…\n"
	"\n"
	"How a COMMAND is started:\n"
	"  -u, --user USER         as this user\n"
	"      --no-randomize-addr with its memory at the same addresses each time\n"
	"\n"
	"Which calls:\n"
	"      --when CONDITION    only those: 'arg.id > 100 && arg.name == \"bob\"', with == != < "
	"<= > >=,\n"
	"                          &&, || and parentheses, on expressions as --show has them\n"
	"      --rate N            at most about N a second of each function\n"
	"      --limit N           end after N calls\n"
	"      --no-end            show calls when they begin, without results and latency: half "
	"the cost\n"
	"      --exit HOW          how ends are seen: ret (default), or return: at a fraction of "
	"the cost,\n"
	"                          but exceptions, cancelled threads and coroutines can end the\n"
	"                          program; in Go always ret\n"
	"  -d, --duration TIME     end after this time\n"
	"\n"
	"What of them:\n"
	"      --show EXPR[,EXPR…] only these parts of arguments or variables: order.id, p->x, *p, "
	"list[3]\n"
	"      --string N          at most N bytes of a string (default 256)\n"
	"      --elements N        at most N elements of a list (default 16)\n"
	"      --depth N           follow N pointers, one behind the other (default 3)\n"
	"      --stack             the functions from which each call comes\n"
	"      --redact NAME       show no value whose name has this part; always: password, "
	"passwd, secret,\n"
	"                          token, credential, authorization; may be repeated\n"
	"\n"
	"Where to:\n"
	"  -o, --output FILM       a film, for 'report', 'replay' and 'play'; calls are not "
	"printed\n"
	"  -e, --event EVENT[,EVENT…]\n"
	"                          with -o: record these, too, as 'stackcam record' does; with "
	"requests,\n"
	"                          'report --format inspect' shows for which request a call was\n"
	"      --label KEY=VALUE   a label of the film; may be repeated\n"
	"      --live              with -o: print the calls as well\n"
	"      --summary           at the end, not each call: which values took how many calls and "
	"how much time\n"
	"      --json              one JSON object a line\n"
	"      --text FILE         into this file, instead of standard output (with a COMMAND: "
	"standard error)\n"
	"  -q, --quiet             say nothing but calls and errors\n"
	"      --verbose           where the kernel refuses a program of stackcam, say why\n"
	"  -h, --help              this text\n"
	"\n"
	"Examples:\n"
	"  stackcam inspect -p 1234 main.demoTest               calls of a Go function\n"
	"  stackcam inspect -p 1234 handle --when 'id > 100' --limit 10 --json\n"
	"  stackcam inspect -p 1234 orders.c:120 --show order.id,total   a line, with two "
	"variables\n"
	"  stackcam inspect parse_order -- ./orders             a command, from its first call on\n"
	"  stackcam inspect -p 1234 'handle_*' -o calls.film     a film of them\n"
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
	OPT_EXIT,
	OPT_STACK,
	OPT_SHOW,
	OPT_SUMMARY,
	OPT_LIVE
};

static const struct option long_options[] = {
	RECORDING_LONG_TARGETS,
	{"duration", required_argument, NULL, 'd'},
	{"output", required_argument, NULL, 'o'},
	{"label", required_argument, NULL, RECORDING_OPT_LABEL},
	{"event", required_argument, NULL, 'e'},
	{"live", no_argument, NULL, OPT_LIVE},
	{"quiet", no_argument, NULL, 'q'},
	{"verbose", no_argument, NULL, RECORDING_OPT_VERBOSE},
	{"user", required_argument, NULL, 'u'},
	{"no-randomize-addr", no_argument, NULL, RECORDING_OPT_NO_RANDOMIZE_ADDR},
	{"no-children", no_argument, NULL, RECORDING_OPT_NO_CHILDREN},
	{"inside", required_argument, NULL, OPT_INSIDE},
	{"list", no_argument, NULL, OPT_LIST},
	{"limit", required_argument, NULL, OPT_LIMIT},
	{"when", required_argument, NULL, OPT_WHEN},
	{"no-end", no_argument, NULL, OPT_NO_END},
	{"exit", required_argument, NULL, OPT_EXIT},
	{"rate", required_argument, NULL, OPT_RATE},
	{"string", required_argument, NULL, OPT_STRING},
	{"elements", required_argument, NULL, OPT_ELEMENTS},
	{"depth", required_argument, NULL, OPT_DEPTH},
	{"stack", no_argument, NULL, OPT_STACK},
	{"show", required_argument, NULL, OPT_SHOW},
	{"redact", required_argument, NULL, OPT_REDACT},
	{"summary", no_argument, NULL, OPT_SUMMARY},
	{"json", no_argument, NULL, OPT_JSON},
	{"text", required_argument, NULL, OPT_TEXT},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static int parse_number(const char *option, uint64_t min, uint64_t max, uint64_t *number)
{
	if (!text_parse_u64(optarg, min, max, number))
		return 0;
	return cmd_usage("inspect", "--%s takes a number from %llu to %llu, not '%s'", option,
			 (unsigned long long)min, (unsigned long long)max, optarg);
}

static int parse_small(const char *option, uint32_t max, uint32_t *number)
{
	uint64_t value;
	int status = parse_number(option, 1, max, &value);

	if (!status)
		*number = (uint32_t)value;
	return status;
}

/* "order.id,total": a comma stands in no expression. */
static int parse_parts(struct inspect_verb *o)
{
	const char *at = optarg;

	for (bool more = true; more;) {
		size_t length = strcspn(at, ",");
		char *part;

		while (length && isspace((unsigned char)*at)) {
			at++;
			length--;
		}
		part = strndup(at, length);
		if (!part || !*part || o->parts.count == INSPECT_PARTS_MAX ||
		    !vec_push(&o->parts, part)) {
			free(part);
			return cmd_usage("inspect",
					 "--show takes up to %u expressions with commas between "
					 "them, not '%s'",
					 INSPECT_PARTS_MAX, optarg);
		}
		more = at[length] == ',';
		at += length + more;
	}
	return 0;
}

static int parse_exit(struct inspect_verb *o)
{
	o->returns = !strcmp(optarg, "return");
	return o->returns || !strcmp(optarg, "ret")
		       ? 0
		       : cmd_usage("inspect", "--exit takes ret or return, not '%s'", optarg);
}

static int parse_option(int option, char **argv, struct inspect_verb *o)
{
	int status = recording_parse_option("inspect", option, &o->common);
	struct fail why = {0};

	if (status >= 0)
		return status;
	switch (option) {
	case OPT_LIST:
		o->list = true;
		return 0;
	case OPT_LIMIT:
		return parse_number("limit", 1, UINT64_MAX, &o->inspect.calls);
	case OPT_WHEN:
		o->inspect.condition = optarg;
		return 0;
	case OPT_STACK:
		o->inspect.stacks = true;
		return 0;
	case OPT_SHOW:
		return parse_parts(o);
	case OPT_NO_END:
		o->inspect.no_end = true;
		return 0;
	case 'e':
		return event_list_parse_more(optarg, &o->events, &why)
			       ? cmd_usage("inspect", "%s", why.what)
			       : 0;
	case OPT_EXIT:
		return parse_exit(o);
	case OPT_RATE:
		return parse_small("rate", 1000000000, &o->inspect.rate);
	case OPT_STRING:
		return parse_small("string", TEXT_MOST, &o->inspect.limits.text);
	case OPT_ELEMENTS:
		return parse_small("elements", ELEMENTS_MOST, &o->inspect.limits.elements);
	case OPT_DEPTH:
		return parse_small("depth", DEPTH_MOST, &o->inspect.limits.depth);
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
	case OPT_LIVE:
		o->live = true;
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

/* The colon of FILE:LINE; null: it is the name of a function. */
static const char *line_of(const char *text)
{
	const char *colon = strrchr(text, ':');
	size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;

	return digits && !colon[1 + digits] && colon > text && colon[-1] != ':' &&
			       strncmp(text, "re:", 3)
		       ? colon
		       : NULL;
}

static int add_place(struct inspect_verb *o, const char *text, const char *colon)
{
	struct inspect_place place = {.text = text};
	uint64_t number;
	char *file;

	if (text_parse_u64(colon + 1, 1, INT32_MAX, &number))
		return cmd_usage("inspect", "'%s' names no line", text);
	if (o->places.count == VALUES_LINES_MAX)
		return cmd_usage("inspect", "at most %u lines can be named", VALUES_LINES_MAX);
	file = strndup(text, (size_t)(colon - text));
	place.line = (struct values_line){file, (uint32_t)number};
	if (!file || !vec_push(&o->files, file)) {
		free(file);
		return cmd_usage("inspect", "too many lines");
	}
	return vec_push(&o->places, place) ? 0 : cmd_usage("inspect", "too many lines");
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

	if (!o->patterns.count && !o->places.count)
		return cmd_usage("inspect", "name a function, or a line: FILE:LINE");
	if (o->inspect.signature && o->patterns.count + o->places.count > 1)
		return cmd_usage("inspect", "a function with its parameters stands alone");
	status = recording_check_options("inspect", &o->common);
	if (status)
		return status;
	if (o->events.count && !o->common.film)
		return cmd_usage("inspect", "-e records into a film: name it with -o");
	if (o->summed && o->list)
		return cmd_usage("inspect", "--summary and --list exclude each other");
	if (o->common.selection.whole_machine)
		return cmd_usage("inspect", "name what to inspect: -p PID, -n NAME, or -- COMMAND");
	return 0;
}

int inspect_verb_parse(int argc, char **argv, struct inspect_verb *o)
{
	int option, status, end = argc, first;

	/* what stands behind "--" is the command's */
	for (int i = 1; i < argc && end == argc; i++)
		if (!strcmp(argv[i], "--"))
			end = i;
	opterr = 0;
	while ((option = getopt_long(end, argv, RECORDING_SHORT_TARGETS "d:e:o:qu:h", long_options,
				     NULL)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			exit(0);
		}
		status = parse_option(option, argv, o);
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
		const char *colon = line_of(argv[i]);

		status = colon ? add_place(o, argv[i], colon) : add_pattern(o, argv[i]);
		if (status)
			return status;
	}
	status = check(o);
	if (!status && !o->list)
		recording_say_absent(&o->common, "inspected");
	return status;
}
