/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_SOURCE_OPTIONS_H
#define CMD_SOURCE_OPTIONS_H

#include <getopt.h>
#include <stdio.h>

#include "record/sources.h"

#define SOURCE_OPTIONS_ALL (SOURCE_OPTIONS_MAX * CAPTURE_SOURCE_COUNT)
#define SOURCE_OPTIONS_OWN 40

/* The options of a verb and those of all sources of events, for getopt_long(). */
struct source_options {
	struct option rows[SOURCE_OPTIONS_OWN + SOURCE_OPTIONS_ALL + 1];
	char letters[64];
	const struct source_option *of[SOURCE_OPTIONS_ALL];
	size_t own, count; /* rows of the verb, which come first; of the sources */
};

/* own: as for getopt_long(), of at most SOURCE_OPTIONS_OWN rows; letters: its short options. */
void source_options_begin(struct source_options *o, const struct option *own, const char *letters);

/* The long name of a source's option that getopt_long() returned; null: it is none of them. */
const char *source_options_name(const struct source_options *o, int option);

/* A line of help for each option of each source, its words in that column. */
void source_options_help(FILE *out, int column);

#endif
