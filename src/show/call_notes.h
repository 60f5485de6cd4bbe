/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_CALL_NOTES_H
#define SHOW_CALL_NOTES_H

#include "show/show.h"

/* What a reader of calls must know about their numbers, a line each; nothing where all is exact. */
void call_notes(const struct report *report, FILE *out);

/*
 * How many functions have 0 ns of self, at least by some way to them, only because of the tracer's
 * cost.
 */
size_t call_bounds(const struct functions *functions);

/*
 * The functions that a report shows one by one: those with calls that match --focus; to be freed.
 */
const struct function **call_rows(const struct report *report, enum function_order order,
				  size_t *count);

/* "main(int)  [server]" as the heading of a block. Returns 0 or -ENOMEM. */
int call_heading(const struct function *f, const struct show_options *options, FILE *out);

#endif
