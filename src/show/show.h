/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_SHOW_H
#define SHOW_SHOW_H

#include <stdio.h>

#include "query/flame.h"

/*
 * Answers to text, one file per format. A writer returns 0 or a negative errno (out of memory); that
 * the stream itself failed is seen by whoever closes it. Everything that came from a film is hostile
 * and is escaped here.
 */
int show_svg(const struct flame *flame, FILE *out);
int show_html(const struct flame *flame, FILE *out);

#endif
