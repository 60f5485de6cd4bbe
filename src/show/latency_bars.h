/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_LATENCY_BARS_H
#define SHOW_LATENCY_BARS_H

#include <stdio.h>

#include "query/latency.h"

/* A bar for each power of two between the shortest and the longest latency. */
void latency_bars(const struct latency *latency, FILE *out);

#endif
