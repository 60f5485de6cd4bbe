// SPDX-License-Identifier: Apache-2.0
#include "host/settings.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/text.h"
#include "record/sources.h"
#include "film/event_list.h"
#include "film/labels.h"
#include "host/say.h"

static int parse_label(struct settings_common *common, const char *value, struct fail *why)
{
	if (!common->labels)
		common->labels = calloc(1, FILM_LABELS_SIZE);
	if (!common->labels)
		return fail_errno(why, -ENOMEM, NULL, "--label");
	return film_labels_add(common->labels, FILM_LABELS_SIZE, value, why);
}

static int parse_markers(struct settings_common *common, const char *value, struct fail *why)
{
	struct sources_settings tried = sources_settings_usual();

	common->requests.markers = value;
	return sources_set(&tried, "markers", value, why);
}

static int parse(const struct settings *settings, int option, const char *value, struct fail *why)
{
	struct settings_common *common = settings->common;
	uint64_t number;

	switch (option) {
	case SETTING_TOKEN_FILE:
		common->token_file = value;
		return 0;
	case SETTING_USER:
		common->user = value;
		return 0;
	case SETTING_CONFIG:
		common->config = value;
		return 0;
	case SETTING_LABEL:
		return parse_label(common, value, why);
	case SETTING_SERVICE:
		return identity_add(common->identity, value, why);
	case SETTING_MARKERS:
		return parse_markers(common, value, why);
	case SETTING_KEEP_QUERY:
		common->requests.keep_query = true;
		return 0;
	case SETTING_SAMPLE_CPU:
		common->sample_cpu = true;
		return 0;
	case 'e':
		return event_list_parse_more(value, &common->events, why);
	case 'F':
		if (text_parse_u64(value, 1, 10000, &number))
			return fail(why, -EINVAL, NULL,
				    "-F takes a number from 1 to 10000, not '%s'", value);
		common->frequency = (unsigned int)number;
		return 0;
	default:
		return settings->parse_own(settings->context, option, value, why);
	}
}

static int parse_of_file(void *context, const char *name, const char *value, struct fail *why)
{
	const struct settings *settings = context;
	const struct option *option = settings->options;
	char to_do[64];
	int err;

	snprintf(to_do, sizeof(to_do), "see 'stackcam %s --help'", settings->verb);
	while (option->name && strcmp(option->name, name))
		option++;
	if (!option->name || option->val == SETTING_CONFIG || option->val == 'h')
		return fail(why, -EINVAL, to_do, "there is no setting '%s'", name);
	if (option->has_arg == required_argument && (!value || !*value))
		return fail(why, -EINVAL, to_do, "'%s' needs a value", name);
	if (option->has_arg == no_argument && value)
		return fail(why, -EINVAL, to_do, "'%s' takes no value", name);
	err = parse(settings, option->val, value, why);
	if (err && why && !why->to_do[0])
		snprintf(why->to_do, sizeof(why->to_do), "%s", to_do);
	return err;
}

static enum settings_read parse_command_line(const struct settings *settings, int argc, char **argv,
					     bool before_file, struct fail *why)
{
	int option;

	opterr = 0;
	/* 0: from the beginning, even if a part was read before */
	optind = 0;
	while ((option = getopt_long(argc, argv, settings->short_options, settings->options,
				     NULL)) != -1) {
		bool is_first = option == SETTING_CONFIG || option == SETTING_SERVICE;

		if (option == 'h')
			return SETTINGS_HELP;
		if (option == '?' || option == ':')
			return SETTINGS_OPTION;
		if (is_first == before_file && parse(settings, option, optarg, why))
			return SETTINGS_USAGE;
	}
	if (optind >= argc)
		return SETTINGS_READ;
	fail(why, -EINVAL, NULL, "'%s' is not an option, and nothing else is taken", argv[optind]);
	return SETTINGS_USAGE;
}

enum settings_read settings_read(const struct settings *settings, int argc, char **argv,
				 struct fail *why)
{
	struct settings_common *common = settings->common;
	enum settings_read done;

	common->events = event_list_always();
	common->events.yields = true;
	if (identity_new(&common->identity, why))
		return SETTINGS_FAILED;
	done = parse_command_line(settings, argc, argv, true, why);
	if (done != SETTINGS_READ)
		return done;
	if (common->config &&
	    config_read(common->config, &common->text, parse_of_file, (void *)settings, why))
		return SETTINGS_FAILED;
	/* what the command line says counts more */
	common->events.yields = true;
	if (settings->file_read)
		settings->file_read(settings->context);
	return parse_command_line(settings, argc, argv, false, why);
}

void settings_free(struct settings_common *common)
{
	free(common->labels);
	identity_free(common->identity);
	free(common->text);
	*common = (struct settings_common){0};
}

bool settings_differ(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") != 0;
}

void settings_say_kept(const struct settings_common *before, const struct settings_common *now,
		       const struct setting_kept *others, size_t count)
{
	const struct setting_kept common[] = {
		{"event", !event_list_is_same(&before->events, &now->events)},
		{"frequency", before->frequency != now->frequency},
		{"sample-cpu", before->sample_cpu != now->sample_cpu},
		{"markers", settings_differ(before->requests.markers, now->requests.markers)},
		{"keep-query", before->requests.keep_query != now->requests.keep_query},
		{"label", settings_differ(before->labels, now->labels)},
		{"user", settings_differ(before->user, now->user)},
	};
	const size_t common_count = sizeof(common) / sizeof(common[0]);

	for (size_t i = 0; i < common_count + count; i++) {
		const struct setting_kept *kept =
			i < common_count ? &common[i] : &others[i - common_count];

		if (kept->differs)
			host_say("'%s' was changed: it takes effect at the next start", kept->name);
	}
}
