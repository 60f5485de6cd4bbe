/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_REPORT_H
#define QUERY_REPORT_H

#include "query/calls/functions.h"
#include "query/flame.h"
#include "query/functions.h"
#include "query/groups.h"
#include "query/view.h"

/* The report on one film: its flame and its functions. It points into the film. */
struct report {
	struct view view;
	struct tree tree;
	struct flame flame;
	struct functions functions;
	struct groups groups;	     /* for --by */
	struct call_functions calls; /* labels of calls; functions have their statistics */
	char title[256];
};

/*
 * Queries a film. by_thread: keep the samples of threads separate in report->view, for any shape of
 * the flame, because some formats name the thread of each stack. The film must outlive the report.
 * Returns 0 or a negative errno with *why filled; call report_free() in both cases.
 */
int report_make(struct film *film, const struct question *q, bool by_thread, struct report *report,
		struct fail *why);
void report_free(struct report *report);

/*
 * Creates the flame of a summed-up tree, with the same node numbers. In a comparison, the other
 * side is scaled to this side's total, and still adds up exactly. Returns 0 or -ENOMEM.
 */
int flame_of_tree(const struct tree *tree, const struct view *view, bool is_diff,
		  struct flame *flame);

/* The wanted shape without what the view does not support. */
struct shape view_shape(const struct view *view, const struct shape *wanted);

/* "on-cpu, 10.000 s on host7, 2026-11-21 14:32:08" */
void view_title(const struct view *view, char *to, size_t size);

/*
 * Formats a time of a film's clock by RFC 3339, with nanoseconds, in UTC; "": its year does not
 * have four digits.
 */
void film_rfc3339(const struct film_info *info, uint64_t monotonic, char *to, size_t size);

/* Formats a time as "2026-11-21 14:32:08", in the local time zone; "": outside of the calendar. */
void film_wall_time(const struct film *film, uint64_t monotonic, char *to, size_t size);

#endif
