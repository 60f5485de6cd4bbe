/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_MARKUP_H
#define SHOW_MARKUP_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Writes s as text or attribute value of HTML or XML: nothing in it can act as markup. */
void markup_text(FILE *out, const char *s);

/* As markup_text(), at most columns wide: what does not fit is cut and ends in "…". */
void markup_text_cut(FILE *out, const char *s, size_t columns);

#endif
