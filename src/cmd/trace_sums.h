/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_TRACE_SUMS_H
#define CMD_TRACE_SUMS_H

#include "base/fail.h"

/* trace --summary without -o: the sums are in a film that is gone once it has been shown. */
struct trace_sums {
	char folder[64]; /* "": there is none */
	char film[80];
};

/* Makes a folder for the film. Returns 0, or a negative errno with *why filled. */
int trace_sums_begin(struct trace_sums *sums, struct fail *why);

/*
 * Prints the film's table of functions to standard output. Returns 0, or a negative errno with
 * *why filled.
 */
int trace_sums_show(const struct trace_sums *sums, struct fail *why);

/* Removes the film and its folder. */
void trace_sums_end(struct trace_sums *sums);

#endif
