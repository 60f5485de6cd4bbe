// SPDX-License-Identifier: Apache-2.0
#include "cmd/verb.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/nearest.h"
#include "base/text.h"
#include "cmd/source_options.h"
#include "film/event_list.h"
#include "host/settings.h"

int cmd_usage(const char *verb, const char *format, ...)
{
	char words[512];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	fprintf(stderr, "stackcam %s: ", verb);
	text_print_safe(stderr, words);
	fprintf(stderr, "; see 'stackcam %s --help'\n", verb);
	return EXIT_USAGE;
}

void cmd_print_help(const char *help)
{
	const char *events = strstr(help, CMD_HELP_EVENTS), *option, *words;
	struct event_list by_default;
	bool has_sources;
	int indent;

	if (!events) {
		fputs(help, stdout);
		return;
	}
	printf("%.*s", (int)(events - help), help);
	/* in the column of the words of the option that comes next */
	option = events + strlen(CMD_HELP_EVENTS);
	has_sources = !strncmp(option, CMD_HELP_SOURCES, strlen(CMD_HELP_SOURCES));
	if (has_sources)
		option += strlen(CMD_HELP_SOURCES);
	words = strstr(option + strspn(option, " "), "  ");
	indent = (int)(words + strspn(words, " ") - option);
	printf("%-*swhat to film; several with commas between them:\n", indent,
	       "  -e, --event EVENT");
	/* recorders that go on all the time set the options of sources themselves */
	by_default = has_sources ? event_list_usual() : event_list_always();
	event_list_help(stdout, indent + 2, &by_default);
	if (has_sources)
		source_options_help(stdout, indent);
	fputs(option, stdout);
}

/* getopt says that a long option is not known also when several begin like it. */
static int usage_long_option(const char *verb, const char *given, const struct option *options)
{
	int length = (int)strcspn(given, "=");
	const char *first = NULL, *second = NULL;
	char name[128];
	struct nearest nearest = {.given = name};

	snprintf(name, sizeof(name), "%.*s", length - 2, given + 2);
	for (const struct option *o = options; o->name; o++)
		nearest_offer(&nearest, o->name);
	for (const struct option *o = options; o->name; o++)
		if (length > 2 && !strncmp(o->name, given + 2, (size_t)length - 2)) {
			second = first ? o->name : NULL;
			first = first ? first : o->name;
			if (second)
				break;
		}
	if (second)
		return cmd_usage(verb, "option '%.*s' could be --%s or --%s", length, given, first,
				 second);
	if (nearest.name)
		return cmd_usage(verb, "unknown option '%.*s'; did you mean '--%s'", length, given,
				 nearest.name);
	return cmd_usage(verb, "unknown option '%.*s'", length, given);
}

int cmd_usage_option(const char *verb, char **argv, const struct option *options)
{
	const char *given = argv[optind - 1];
	int length = (int)strcspn(given, "=");
	char letter[] = {'-', (char)optopt, 0};
	const struct option *o = options;

	if (!optopt)
		return usage_long_option(verb, given, options);
	while (o->name && o->val != optopt)
		o++;
	/* of letters behind one dash, getopt may still stand within argv[optind] */
	if (!o->name)
		return cmd_usage(verb, "unknown option '%s'", letter);
	if (strncmp(given, "--", 2)) {
		given = letter;
		length = 2;
	}
	return cmd_usage(verb,
			 o->has_arg == no_argument ? "option '%.*s' takes no value"
						   : "option '%.*s' needs a value",
			 length, given);
}

int cmd_read_settings(const struct settings *settings, int argc, char **argv)
{
	struct fail why = {0};

	switch (settings_read(settings, argc, argv, &why)) {
	case SETTINGS_READ:
		return 0;
	case SETTINGS_HELP:
		cmd_print_help(settings->help);
		return -1;
	case SETTINGS_OPTION:
		return cmd_usage_option(settings->verb, argv, settings->options);
	case SETTINGS_USAGE:
		return cmd_usage(settings->verb, "%s%s%s", why.what, why.to_do[0] ? "; " : "",
				 why.to_do);
	default:
		fail_print(&why);
		return EXIT_FAILURE;
	}
}

void cmd_put_command(struct buf *to, int argc, char **argv)
{
	buf_put_text(to, "stackcam");
	for (int i = 0; i < argc; i++)
		buf_printf(to, " %s", argv[i]);
	buf_put_u8(to, 0);
}
