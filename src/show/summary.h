/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_SUMMARY_H
#define SHOW_SUMMARY_H

#include <stdio.h>

#include "query/summary.h"
#include "show/show.h"

/* What each kind of finding is called, and where more is to be seen. */
struct summary_words {
	const char *name;  /* in JSON: "lock" */
	const char *title; /* "contended lock" */
	const char *look;  /* a command line, in which %s stands for the event */
	const char *tool;  /* the same of a client of MCP */
};
const struct summary_words *summary_words(enum summary_kind kind);

/* Where a reader finds more: on the command line, by tools of MCP, or here is all. */
enum summary_reader {
	SUMMARY_FOR_PEOPLE,
	SUMMARY_FOR_AGENTS,
	SUMMARY_ALONE,
};

/* One page of text. */
void show_summary_text(const struct summary *summary, enum summary_reader reader, FILE *out);

/* What stands out alone. */
void show_summary_findings(const struct summary *summary, enum summary_reader reader, FILE *out);

/* The processes that took most of the event by which they are sorted, at most that many. */
void show_summary_processes(const struct summary *summary, size_t most, FILE *out);

/* A finding in a line: its value, its share and its subject, without the name of its kind. */
void show_summary_row(const struct summary *s, const struct summary_finding *f, FILE *out);

/* As show_heatmap(): the formats summary and summary-json. */
int show_summary(struct film *film, const struct question *q, const struct show_options *options,
		 FILE *out, uint64_t *samples, struct fail *why);
int show_summary_json(struct film *film, const struct question *q,
		      const struct show_options *options, FILE *out, uint64_t *samples,
		      struct fail *why);

#endif
