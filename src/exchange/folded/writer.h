/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXCHANGE_FOLDED_WRITER_H
#define EXCHANGE_FOLDED_WRITER_H

#include <stdio.h>

#include "query/flame.h"

/*
 * Writes a line for each stack: its frames from the root on with ';' between them, a blank, and
 * what was spent in the last frame. A comparison has two numbers: those of the film before, scaled
 * to the total of the later one, and of the later one. Returns 0 or -ENOMEM; a caller that closes
 * the stream sees whether writing failed.
 */
int folded_write_flame(const struct flame *flame, FILE *out);

#endif
