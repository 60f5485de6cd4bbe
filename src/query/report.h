/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_REPORT_H
#define QUERY_REPORT_H

#include "query/calls/functions.h"
#include "query/flame.h"
#include "query/functions.h"
#include "query/groups.h"
#include "query/view.h"

/* The answer about one film: its flame and its functions. It refers to the film. */
struct report {
	struct view view;
	struct tree tree;
	struct flame flame;
	struct functions functions;
	struct groups groups;	     /* of --by */
	struct call_functions calls; /* the labels of calls; their stats are with the functions */
	char title[256];
};

/*
 * Asks a film. by_thread: keep the samples of threads apart in report->view, for any shape of
 * the flame (for formats that name the thread of each stack). The film must live as long
 * as the report. Returns 0 or a negative errno with *why filled; report_free() is needed in
 * either case.
 */
int report_make(struct film *film, const struct question *q, bool by_thread, struct report *report,
		struct fail *why);
void report_free(struct report *report);

/*
 * The flame of a tree that was summed up: node for node the same numbers. The other side of a
 * comparison is scaled to this side's total, and still adds up exactly. Returns 0 or -ENOMEM.
 */
int flame_of_tree(const struct tree *tree, const struct view *view, bool is_diff,
		  struct flame *flame);

/* The shape that a view can have, of what is wanted. */
struct shape view_shape(const struct view *view, const struct shape *wanted);

/* "on-cpu, 10.000 s on host7, 2026-11-21 14:32:08" */
void view_title(const struct view *view, char *to, size_t size);

/*
 * A time of a film's clock in RFC 3339, with nanoseconds, in UTC; "" where its year has not four
 * digits.
 */
void film_rfc3339(const struct film_info *info, uint64_t monotonic, char *to, size_t size);

/* "2026-11-21 14:32:08", local time of who reads it; "" for a time that no calendar has. */
void film_wall_time(const struct film *film, uint64_t monotonic, char *to, size_t size);

#endif
