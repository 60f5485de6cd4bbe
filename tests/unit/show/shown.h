/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_SHOW_SHOWN_H
#define TESTS_UNIT_SHOW_SHOWN_H

#include "film_build.h"
#include "show/show.h"

/* What the tests of formats share. */

/* What a format makes of a film; to be freed. */
char *shown(struct film *film, const char *format, const struct question *q,
	    const struct show_options *options, size_t *size);

/* The same of a comparison, with three rows of a table. */
char *shown_diff(struct film *before, struct film *now, const char *format, size_t *size);

/* Asserts that it is this. */
void shows_of(struct film *film, const char *format, const struct question *q,
	      const struct show_options *options, const char *wanted);
void shows(struct film *film, const char *format, const struct show_options *options,
	   const char *wanted);

/* Runs a command on some bytes; 0 if it said that all is well, -1 if it is not installed. */
int judged(const char *command, const void *bytes, size_t size);

/* Names that want to do something to terminals, pages and parsers. */
#define HOSTILE_NAMES 10
extern const char *const hostile_names[HOSTILE_NAMES];

/* A film of samples, and one of calls, that consists of them. */
struct film *hostile_film(void);
struct film *hostile_calls(void);

/*
 * Control characters, C1 codes, bytes that are no UTF-8, marks that turn the text around: none is
 * there.
 */
void assert_harmless(const char *text, size_t size);

#endif
