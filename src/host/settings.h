/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_SETTINGS_H
#define HOST_SETTINGS_H

#include <stdbool.h>

#include "base/fail.h"
#include "film/event_list.h"
#include "host/recorder.h"
#include "query/identity.h"

struct option;

/*
 * Options of a verb that may stand on its command line, or by their long names in a file, a line
 * each (base/config.h). What the command line says counts more, so it is read twice: before the
 * file what must be known by then (the file's name, and rules that stand before those of the file),
 * behind it the rest.
 */

/* What such verbs have in common, and the options that it comes from. */
struct settings_common {
	struct event_list events;	   /* -e; none: the usual one */
	unsigned int frequency;		   /* -F */
	bool sample_cpu;		   /* --sample-cpu */
	struct recorder_requests requests; /* --markers, a value that it takes; --keep-query */
	const char *token_file;		   /* null: none */
	const char *user;	   /* whom it becomes once it films; null: it stays who it is */
	char *labels;		   /* as film/labels.h has them; null: none */
	struct identity *identity; /* how services are called: rules of the command line first */
	const char *config;	   /* the file; null: none */
	char *text;		   /* of the file: what strings lie in */
};

enum {
	SETTING_TOKEN_FILE = 512,
	SETTING_USER,
	SETTING_LABEL,
	SETTING_SERVICE,
	SETTING_CONFIG,
	SETTING_MARKERS,
	SETTING_KEEP_QUERY,
	SETTING_SAMPLE_CPU,
};

/* For the table of options of a verb; 'e' and 'F' are short options as well. */
#define SETTINGS_COMMON                                                \
	{"token-file", required_argument, NULL, SETTING_TOKEN_FILE},   \
		{"event", required_argument, NULL, 'e'},               \
		{"frequency", required_argument, NULL, 'F'},           \
		{"markers", required_argument, NULL, SETTING_MARKERS}, \
		{"keep-query", no_argument, NULL, SETTING_KEEP_QUERY}, \
		{"sample-cpu", no_argument, NULL, SETTING_SAMPLE_CPU}, \
		{"label", required_argument, NULL, SETTING_LABEL},     \
		{"service", required_argument, NULL, SETTING_SERVICE}, \
		{"user", required_argument, NULL, SETTING_USER},       \
		{"config", required_argument, NULL, SETTING_CONFIG},   \
	{                                                              \
		"help", no_argument, NULL, 'h'                         \
	}

struct settings {
	const char *verb, *help, *short_options;
	const struct option *options; /* as for getopt_long(), short ones too; -h is --help */
	struct settings_common *common;
	/*
	 * All others. Returns 0 or a negative errno with *why filled. value lives as long as the
	 * command line, or the file's text.
	 */
	int (*parse_own)(void *context, int option, const char *value, struct fail *why);
	/* Called between the file and the command line that counts more; may be null. */
	void (*file_read)(void *context);
	void *context;
};

enum settings_read {
	SETTINGS_READ,
	SETTINGS_HELP,	 /* is asked for */
	SETTINGS_OPTION, /* getopt_long() just returned '?' or ':', opterr being 0 */
	SETTINGS_USAGE,	 /* a wrong command line, with *why filled */
	SETTINGS_FAILED, /* with *why filled */
};

/*
 * Reads the command line and the file that it names into *common, whose numbers are set already,
 * and what emit() fills. Called again (SIGHUP) it reads the file anew. The strings live as long as
 * argv and *common, which is to be freed in every case.
 */
enum settings_read settings_read(const struct settings *settings, int argc, char **argv,
				 struct fail *why);
void settings_free(struct settings_common *common);

/* An option that takes effect only at the next start, and whether it is another one than before. */
struct setting_kept {
	const char *name;
	bool differs;
};

/* Says which of these, and of those that all verbs have, were changed without effect. */
void settings_say_kept(const struct settings_common *before, const struct settings_common *now,
		       const struct setting_kept *others, size_t count);

bool settings_differ(const char *a, const char *b); /* null is as "" */

#endif
