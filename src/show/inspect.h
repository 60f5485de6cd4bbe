/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_INSPECT_H
#define SHOW_INSPECT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/shown.h"

/*
 * A call with its values, or a pass of a line with its variables as arguments, as the verb prints
 * it.
 */
struct inspect_line {
	uint64_t wall; /* ns since 1970, when it began */
	uint32_t pid, tid;
	uint64_t goroutine; /* 0: none */
	const char *comm, *function;
	const char *place; /* of a line: "orders.c:120"; null: it is a call */
	const char *file;  /* of a line: the whole path */
	uint32_t number;   /* of a line */
	bool is_optimised; /* of a line: values can be those of a statement before or behind */
	const struct shown_tree *arguments, *results;
	const char *const *stack; /* functions from the called one on; null: not shown */
	size_t stack_count;
	bool has_end;
	bool waits_for_end; /* else it is shown when it begins, and its end is of no interest */
	uint64_t latency;   /* ns */
	const char *request, *endpoint; /* what its thread worked on as it began; null: not known */
};

/* One JSON object, and a line feed. */
void inspect_print_json(FILE *out, const struct inspect_line *line);

/*
 * "12:00:01.123456 name[pid:tid] f(a=1, b="x") = 2  12.2 us"
 * "12:00:01.123456 name[pid:tid] orders.c:120 f: a=1, total=7"
 *
 * Values of which a line would be too long are shown less deep: "{…}". Returns whether any is.
 */
bool inspect_print_text(FILE *out, const struct inspect_line *line);

#endif
