/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_CALL_COLUMNS_H
#define SHOW_CALL_COLUMNS_H

#include "base/buf.h"
#include "show/call_lines.h"

/* The columns that stand before the tree of calls, one line at a time. */
struct call_columns {
	struct call_lines_options options;
	unsigned int tid_width; /* grows to the longest that was seen */
};

/* What one line says. */
struct call_cells {
	uint64_t time;
	uint32_t pid, tid, lane;
	uint16_t cpu;
	const char *comm;
	bool has_time;	   /* else time and cpu are not known */
	bool has_duration; /* else duration and waited are not known, or there is none */
	bool inferred;
	uint64_t duration, waited, error;
};

/*
 * The duration: with "~" where its end is a guess; where it is less than its error, that, with "<".
 */
void call_columns_duration(const struct call_columns *columns, const struct call_cells *cells,
			   size_t width, struct buf *to);

void call_columns_heading(const struct call_columns *columns, struct buf *to);

/* All columns with the "| " behind them, without the end of the line. */
void call_columns_line(struct call_columns *columns, const struct call_cells *cells,
		       struct buf *to);

/* Whether a call waited so long (over 1 %) that its on-CPU time is worth showing. */
bool call_columns_waited(const struct call_cells *cells);

/* A duration, or on-CPU time, in the color of its unit; right-aligned in that many columns. */
void call_columns_time(const struct call_columns *columns, uint64_t ns, const char *mark,
		       size_t width, struct buf *to);

/* A harmless copy of text. */
void call_columns_safe(const char *text, struct buf *to);

/* "\033[…m" if there are colors at all. */
void call_columns_color(const struct call_columns *columns, const char *color, struct buf *to);

#define CALL_COLOR_GAP	   "\033[31m"
#define CALL_COLOR_COMMENT "\033[2m"
#define CALL_COLOR_PLAIN   "\033[0m"

#endif
