/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_INSPECT_HEAT_H
#define SHOW_INSPECT_HEAT_H

#include "base/json.h"
#include "show/inspect.h"

/*
 * How long calls took, by the value of one of their arguments, results or members of those: a heat
 * map with a row for each value, or for each power of two where there are many numbers.
 */
struct inspect_heat;

/* path: as in struct inspect_leaf; it must live as long. Null: no memory. */
struct inspect_heat *inspect_heat_new(const char *path);
void inspect_heat_free(struct inspect_heat *heat); /* null is allowed */

/* Adds a call. Returns 0 or -ENOMEM. */
int inspect_heat_add(struct inspect_heat *heat, const struct inspect_line *line);

/* Calls that had such a value, and an end that was seen. */
uint64_t inspect_heat_count(const struct inspect_heat *heat);

/*
 * Print all calls so far; none may be added after that. JSON as a member "heat", with at most limit
 * rows: of more numbers a row is a power of two, of other values the rest is one row.
 */
void inspect_heat_print_text(struct inspect_heat *heat, FILE *out);
void inspect_heat_put_json(struct inspect_heat *heat, size_t limit, struct json *j);

#endif
