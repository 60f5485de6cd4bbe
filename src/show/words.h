/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_WORDS_H
#define SHOW_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "query/report.h"

/* What the text formats share: names and numbers for people. */

/* A value of an event: "1.234 s", "12.3 MB", "1,234". */
void words_value(char *to, size_t size, const char *unit, uint64_t value);

/* part as hundredths of whole; 0 where the whole is 0 */
double words_percent(uint64_t part, uint64_t whole);

/* How many columns harmless text takes: one per code point. */
size_t words_width(const char *s);

/*
 * A copy of a function's harmless name that takes at most that many columns (at least 1), to be
 * freed; null: no memory. First the parameters of C++ go ("f(…)"), then arguments of templates
 * ("v<…>::f(…)"), then something in the middle ("std::…::f(…)").
 */
char *words_shorten(const char *name, size_t columns);

/*
 * A function as text shows it: its name, " FILE:LINE" where it has one, and a mark. Where that
 * is more than that many columns (0: any), the file loses its directories and the name is
 * shortened, though not to less than 16 columns. To be freed; null: no memory.
 */
char *words_function(const char *name, const char *file, uint32_t line, const char *mark,
		     size_t columns);

/* Writes s in that many columns: cut with an ellipsis, or padded. */
void words_column(FILE *out, const char *s, size_t columns);

/* How many of the rows a table shows; limit 0: all. */
size_t words_rows(size_t count, uint64_t limit);

/*
 * The line for that many rows that are not shown, with what they have of the total; 0 rows:
 * nothing.
 */
void words_rest(size_t rows, uint64_t self, uint64_t total, FILE *out);

/* How a guess is explained in a flame. */
const char *words_guess(const struct flame *flame);

/* Lines about a view that stand above a table or a tree: total, samples, stacks, losses. */
void words_heading(const struct view *view, FILE *out);

/*
 * "stackcam: the film also has off-cpu: -e shows it", of the events with samples other than that of
 * the view.
 */
void words_other_events(const struct view *view, FILE *out);

/*
 * "stackcam: lost: REASON: N", a line for each loss that an event of the film suffered, or another
 * one beside it (0: none); or any event.
 */
#define WORDS_ANY_EVENT UINT32_MAX
void words_lost(const struct film *film, uint32_t event, uint32_t also, FILE *out);

/*
 * A line for a film whose recorder did not come to its end: up to when it reaches. path: where
 * there are several films, that of this one; else null.
 */
void words_cut_off(const struct film *film, const char *path, FILE *out);

/*
 * For a view without samples: a line that names what was asked for and not found, or that the film
 * at that path is empty. For any other: nothing.
 */
void words_nothing(const struct view *view, const struct filter *filter, const char *path,
		   FILE *out);

#endif
