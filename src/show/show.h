/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_SHOW_H
#define SHOW_SHOW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "query/diff.h"
#include "query/flame.h"
#include "query/report.h"

/* How an answer is shown. All zero shows all of it, plainly. */
struct show_options {
	uint64_t limit;	    /* rows of a table; 0: all */
	double min_percent; /* of a tree: what has less of the whole is summed up, not shown */
	bool color;
	unsigned int width;	 /* columns of the terminal; 0: lines may have any length */
	unsigned int name_width; /* then: columns of a function's name; 0: any */
};

/*
 * Answers to text, one file per format. A writer returns 0 or a negative errno (out of memory); that
 * the stream itself failed is seen by whoever closes it. Everything that came from a film is hostile
 * and is escaped here.
 */
int show_svg(const struct flame *flame, FILE *out);
int show_html(const struct flame *flame, FILE *out);

int show_table(const struct report *report, const struct show_options *options, FILE *out);
int show_tree(const struct report *report, const struct show_options *options, FILE *out);
int show_json(const struct report *report, const struct show_options *options, FILE *out);

/* Stacks with ';' between their frames, then what was spent in their last frame. */
int show_folded(const struct report *report, const struct show_options *options, FILE *out);

/* A gzipped profile.proto; the report must have been made by thread. */
int show_pprof(const struct report *report, const struct show_options *options, FILE *out);

/* Stacks by weight, for speedscope: they stand in the order of the flame, not of time. */
int show_speedscope(const struct report *report, const struct show_options *options, FILE *out);

int show_diff_table(const struct diff *diff, const struct show_options *options, FILE *out);
int show_diff_json(const struct diff *diff, const struct show_options *options, FILE *out);

/* Stacks with two numbers: of the earlier film, scaled to the later one, and of the later one. */
int show_diff_folded(const struct diff *diff, const struct show_options *options, FILE *out);

/* One row per format. A null function: the format cannot show that. */
struct show_format {
	const char *name;
	const char *extensions; /* of files of that format, separated by blanks */
	bool is_binary;		/* not for a terminal */
	bool by_thread;		/* needs a report that was made by thread */
	int (*report)(const struct report *report, const struct show_options *options, FILE *out);
	int (*diff)(const struct diff *diff, const struct show_options *options, FILE *out);
};

/* The format of that name, or null. */
const struct show_format *show_format_find(const char *name);

/*
 * The format that a file of that name has, by its ending; a table where it has none, or one that
 * names no format: then *unknown is that ending, within path. Else *unknown is null.
 */
const struct show_format *show_format_of_path(const char *path, const char **unknown);

/* The names of all formats, or of those that can show a comparison: "table, tree, folded". */
void show_format_names(bool of_diff, char *to, size_t size);

#endif
