// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/text.h"
#include "cmd/verb.h"

static const struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
} verbs[] = {
	{"record", cmd_record, "profile processes or the whole machine into a film"},
	{"trace", cmd_trace, "time every call of chosen functions"},
	{"inspect", cmd_inspect, "print calls with their arguments, results and latency"},
	{"report", cmd_report, "show a film: table, tree, flame graph, pprof, JSON"},
	{"explain", cmd_explain, "say in sentences why a process took as long as it did"},
	{"replay", cmd_replay, "print a traced film as a call tree"},
	{"diff", cmd_diff, "compare two films"},
	{"play", cmd_play, "open a film in the web page"},
	{"resolve", cmd_resolve, "name what a film could not name yet"},
	{"threads", cmd_threads, "print what every thread does right now, stopping none"},
	{"top", cmd_top, "show what takes most right now, live in the terminal"},
	{"serve", cmd_serve, "film this machine all the time and show it on a page"},
	{"keep", cmd_keep, "keep the last minutes of a flight recorder as a film"},
	{"agent", cmd_agent, "film this machine all the time and send the films elsewhere"},
	{"upload", cmd_upload, "give a server the names of a program's functions"},
	{"mcp", cmd_mcp, "answer agents that speak the Model Context Protocol"},
	{"schema", cmd_schema, "print the JSON schemas of what other verbs print"},
	{"doctor", cmd_doctor, "what this kernel, this user and this machine allow"},
};

static void print_help(FILE *out)
{
	fputs("usage: stackcam VERB [OPTION…]\n\n"
	      "A program camera: films running programs with eBPF and shows what they did.\n\n",
	      out);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		fprintf(out, "  %-10s %s\n", verbs[i].name, verbs[i].summary);
	fputs("\n  -h, --help     this text\n"
	      "      --version  the version\n"
	      "\n'stackcam help VERB' or 'stackcam VERB --help' shows its options with examples;\n"
	      "'man stackcam-VERB' more.\n",
	      out);
}

static const struct verb *find_verb(const char *name)
{
	struct nearest nearest = {.given = name};

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (!strcmp(name, verbs[i].name))
			return &verbs[i];
		nearest_offer(&nearest, verbs[i].name);
	}
	fputs("stackcam: there is no verb '", stderr);
	text_print_safe(stderr, name);
	if (nearest.name)
		fprintf(stderr, "'; did you mean '%s'", nearest.name);
	else
		fputs("'", stderr);
	fputs("; see 'stackcam --help'\n", stderr);
	return NULL;
}

static int print_help_of(char *name)
{
	const struct verb *verb = find_verb(name);
	char option[] = "--help";

	return verb ? verb->run(2, (char *[]){name, option, NULL}) : EXIT_USAGE;
}

int main(int argc, char **argv)
{
	const struct verb *verb;

	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "help") && argc > 2)
		return print_help_of(argv[2]);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		print_help(stdout);
		return 0;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "version")) {
		puts("stackcam " STACKCAM_VERSION);
		return 0;
	}
	verb = find_verb(argv[1]);
	return verb ? verb->run(argc - 1, argv + 1) : EXIT_USAGE;
}
