/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_MARKUP_H
#define SHOW_MARKUP_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The code point of a hostile text that stands for one that must not be shown. */
#define MARKUP_REPLACED 0xfffdu

/*
 * Reads one code point of *s and moves *s on; 0 at the end. Invalid UTF-8, control characters, marks
 * that reorder the text around them, and what XML 1.0 forbids all come back as MARKUP_REPLACED.
 */
uint32_t markup_next(const char **s);

/* Writes s as text or attribute value of HTML or XML: nothing in it can act as markup. */
void markup_text(FILE *out, const char *s);

/* The number of columns s takes in a fixed-width font, as it is shown by markup_text(). */
size_t markup_columns(const char *s);

/* As markup_text(), at most columns wide: what does not fit is cut and ends in "…". */
void markup_text_cut(FILE *out, const char *s, size_t columns);

#endif
