/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_SHOW_H
#define SHOW_SHOW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "film/events.h"
#include "query/diff.h"
#include "query/flame.h"
#include "query/replay.h"
#include "query/report.h"

/* Columns of a table of calls. */
enum show_column {
	SHOW_TOTAL,
	SHOW_SELF,
	SHOW_CALLS,
	SHOW_AVERAGE,
	SHOW_MIN,
	SHOW_MAX,
	SHOW_P50,
	SHOW_P99,
	SHOW_PERCENT,	   /* of the view: total */
	SHOW_SELF_PERCENT, /* self */
	SHOW_ON_CPU,	   /* of total */
	SHOW_INFERRED,	   /* of calls: those whose return was not seen */
	SHOW_COLUMNS
};

/* How an answer is shown. All zero shows the whole answer, plainly. */
struct show_options {
	uint64_t limit;	    /* rows of a table; 0: all */
	double min_percent; /* of a tree: what has less of the whole is summed up, not shown */
	bool color;
	unsigned int width;	   /* columns of the terminal; 0: lines may have any length */
	unsigned int name_width;   /* then: columns of a function's name; 0: any */
	enum function_order order; /* of tables, and of functions in JSON */
	enum show_column columns[SHOW_COLUMNS]; /* of a table of calls */
	size_t column_count;			/* 0: those that it has by itself */
};

/*
 * Answers to text, one file per format. A writer returns 0 or a negative errno (out of memory);
 * a caller that closes the stream sees whether that failed. Everything that came from a film is
 * hostile and is escaped here.
 */
int show_svg(const struct flame *flame, FILE *out);
/* -ENOTSUP where the build has no page (web/build.sh), of which it would be made. */
int show_html(const struct flame *flame, FILE *out);
bool show_has_page(void);

/* The same of a flame alone, of any source; the tree is in shares of its root. */
int show_flame_tree(const struct flame *flame, const struct show_options *options, FILE *out);
int show_flame_table(const struct flame *flame, const struct functions *functions,
		     const struct show_options *options, FILE *out);

/*
 * whole: the totals of both sides, by enum tree_side; functions stand as diff_sort() leaves them.
 */
int show_flame_diff_table(const struct flame *flame, const struct functions *functions,
			  const uint64_t whole[2], const struct show_options *options, FILE *out);

int show_table(const struct report *report, const struct show_options *options, FILE *out);
int show_tree(const struct report *report, const struct show_options *options, FILE *out);
int show_json(const struct report *report, const struct show_options *options, FILE *out);

/* For events of calls: a row per function, show_table() calls it. */
int show_call_table(const struct report *report, const struct show_options *options, FILE *out);

/* For events of calls: how many calls of each function took how long, by powers of two. */
int show_histogram(const struct report *report, const struct show_options *options, FILE *out);

/* For events of calls: the callers and callees of each function. */
int show_graph(const struct report *report, const struct show_options *options, FILE *out);

int show_diff_table(const struct diff *diff, const struct show_options *options, FILE *out);
int show_diff_json(const struct diff *diff, const struct show_options *options, FILE *out);

/*
 * When samples were, by seconds and parts of them (query/heat.h): as text where a width is given,
 * else as SVG. *samples: how many; without any, nothing is written. *why is filled on failure.
 */
int show_heatmap(struct film *film, const struct question *q, const struct show_options *options,
		 FILE *out, uint64_t *samples, struct fail *why);

/*
 * One row per format. A null function: the format cannot show that. One has one of flame,
 * report, story and times.
 */
struct show_format {
	const char *name;
	const char *alias;	/* another name that users know it by; null: none */
	const char *extensions; /* of files of that format, separated by blanks */
	bool is_binary;		/* not for a terminal */
	bool by_thread;		/* needs a report that was made by thread */
	bool of_calls;		/* can show nothing but calls, */
	bool of_values;		/* or nothing but calls with their values */
	enum event_id of_event; /* or nothing but all that is known of this one; 0: of any */
	bool of_sums;		/* can show sums of calls, too */
	bool of_flame;		/* shows a flame and nothing else, so any flame */
	bool needs_page;	/* see show_has_page() */
	int (*flame)(const struct flame *flame, FILE *out); /* of a report and a comparison alike */
	int (*report)(const struct report *report, const struct show_options *options, FILE *out);
	int (*diff)(const struct diff *diff, const struct show_options *options, FILE *out);
	/* of single calls as they happened; *why is filled on failure */
	int (*story)(struct film *film, const struct replay_question *q, FILE *out,
		     struct replay_sums *sums, struct fail *why);
	/* of what threads did, slice by slice; as show_states() */
	int (*slices)(struct film *film, const struct question *q, FILE *out, uint64_t *told,
		      struct fail *why);
	/* of samples as they happened, as show_heatmap() */
	int (*times)(struct film *film, const struct question *q,
		     const struct show_options *options, FILE *out, uint64_t *samples,
		     struct fail *why);
};

/* Shows a report, or a comparison: 0 or a negative errno. The format must be one of these. */
int show_format_report(const struct show_format *format, const struct report *report,
		       const struct show_options *options, FILE *out);
int show_format_diff(const struct show_format *format, const struct diff *diff,
		     const struct show_options *options, FILE *out);

/*
 * Whether a format can show what a view has, in the order and the columns that are asked for: 0, or
 * -EINVAL with *why filled.
 */
int show_format_fits(const struct show_format *format, const struct view *view,
		     const struct show_options *options, struct fail *why);

/*
 * The same for a format with a story: whether the event of that name (null: calls) has single
 * calls, or had nothing to film. Returns 0, or a negative errno with *why filled.
 */
int show_story_fits(const struct show_format *format, struct film *film, const char *event,
		    struct fail *why);

/*
 * Whether a format shows what threads did in a film, if the event of that name is asked for; null:
 * slices, unless the film has calls.
 */
bool show_has_slices(const struct show_format *format, const struct film *film, const char *event);

/* The same of calls as they happened; a format that shows nothing else shows these in any case. */
bool show_has_story(const struct show_format *format, const struct film *film, const char *event);

/* Take "total,self,calls" and "p99" into options: 0, or -EINVAL with *why filled. */
int show_parse_columns(struct show_options *options, const char *names, struct fail *why);
int show_parse_order(struct show_options *options, const char *name, struct fail *why);

/* The format of that name or alias, or null. */
const struct show_format *show_format_find(const char *name);

/* The name that a mistyped one was meant to be, of the formats that show_format_names() has. */
const char *show_format_near(const char *name, bool of_diff);

/* The format that has what this one shows as JSON, or null. */
const struct show_format *show_format_json(const struct show_format *format);

/*
 * The format that a file of that name has, by its ending; a table where it has none, or one that
 * names no format: then *unknown is that ending, within path. Else *unknown is null.
 */
const struct show_format *show_format_of_path(const char *path, const char **unknown);

/*
 * The names of all formats, without their aliases, or of those that can show a comparison: "table,
 * tree, folded".
 */
void show_format_names(bool of_diff, char *to, size_t size);

#endif
