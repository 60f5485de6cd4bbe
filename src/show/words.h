/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_WORDS_H
#define SHOW_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "query/report.h"

/* Helpers of the text formats: names and numbers for display. */

/* Formats a value in an event's unit: "1.234 s", "12.3 MB", "1,234". */
void words_value(char *to, size_t size, const char *unit, uint64_t value);

/* part in percent of whole; 0 if whole is 0 */
double words_percent(uint64_t part, uint64_t whole);

/* The columns that escaped text takes: one per code point. */
size_t words_width(const char *s);

/*
 * Shortens a function's escaped name to a number of columns (at least 1). First it drops the
 * parameters of C++ ("f(…)"), then template arguments ("v<…>::f(…)"), then a part in the middle
 * ("std::…::f(…)"). The caller frees the copy. Null: no memory.
 */
char *words_shorten(const char *name, size_t columns);

/*
 * Formats a function: its name, " FILE:LINE" if known, and a mark. To fit into a number of columns
 * (0: no limit), it drops the file's directories and shortens the name, but not to less than 16
 * columns. The caller frees the text. Null: no memory.
 */
char *words_function(const char *name, const char *file, uint32_t line, const char *mark,
		     size_t columns);

/* Writes s in exactly that many columns: truncated with an ellipsis, or padded. */
void words_column(FILE *out, const char *s, size_t columns);

/* The number of rows that a table shows; limit 0: all. */
size_t words_rows(size_t count, uint64_t limit);

/* Prints a line for rows that are not shown, with their share of the total; 0 rows: nothing. */
void words_rest(size_t rows, uint64_t self, uint64_t total, FILE *out);

/* The explanation of guessed frames in a flame. */
const char *words_guess(const struct flame *flame);

/* Prints the lines above a table or a tree: total, samples, stacks, losses of a view. */
void words_heading(const struct view *view, FILE *out);

/* Prints "stackcam: the film also has off-cpu: -e shows it" for the other events with samples. */
void words_other_events(const struct view *view, FILE *out);

/*
 * Prints "stackcam: lost: REASON: N" for each loss of an event, and of the event `also` (0: none),
 * or of all events with WORDS_ANY_EVENT.
 */
#define WORDS_ANY_EVENT UINT32_MAX
void words_lost(const struct film *film, uint32_t event, uint32_t also, FILE *out);

/*
 * Prints a line for a film whose recorder was killed: the time up to which it has data. path: path
 * of the film if there are several; else null.
 */
void words_cut_off(const struct film *film, const char *path, FILE *out);

/*
 * For a view without samples, prints what was requested and not found, or that the film at path is
 * empty. Otherwise prints nothing.
 */
void words_nothing(const struct view *view, const struct filter *filter, const char *path,
		   FILE *out);

#endif
