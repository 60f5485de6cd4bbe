/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_INSPECT_SUMMARY_H
#define SHOW_INSPECT_SUMMARY_H

#include <stdio.h>

#include "base/json.h"
#include "show/inspect.h"

/*
 * What many calls had in common, as 'stackcam inspect --summary' prints it: for each function how
 * long its calls took, which values its arguments and results had, how much time went to each of
 * these values, and the slowest calls. Members of structures count by themselves; of lists and maps
 * it is the length that counts.
 */
struct inspect_summary;

/* Null: no memory. */
struct inspect_summary *inspect_summary_new(void);

/* Takes null, too. */
void inspect_summary_free(struct inspect_summary *summary);

/* Adds a call. 0 or -ENOMEM: then this call, and those after it, may be there in part. */
int inspect_summary_add(struct inspect_summary *summary, const struct inspect_line *line);

/* Print all calls so far; none may be added after that. */
void inspect_summary_print_text(struct inspect_summary *summary, FILE *out);
void inspect_summary_print_json(struct inspect_summary *summary, FILE *out);
/*
 * The same as a member "functions" of an object; at most limit values of each argument, the rest as
 * one.
 */
void inspect_summary_put_json(struct inspect_summary *summary, size_t limit, struct json *j);

#endif
