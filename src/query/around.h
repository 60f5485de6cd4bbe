/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_AROUND_H
#define QUERY_AROUND_H

#include "query/report.h"
#include "query/sandwich.h"

/* A function that a user names, with its callers and callees. */
struct around {
	const struct function *of; /* of the report */
	size_t others;		   /* number of other functions that match, with smaller totals */
	struct sandwich sandwich;
};

/*
 * Finds the callers and callees of a function. Returns 0 or -ENOMEM; call around_free() in both
 * cases.
 */
int around_of(const struct report *report, const struct function *f, struct around *around,
	      struct fail *why);

/*
 * The same for the function of a report with the largest total among those that match a pattern: a
 * name, a glob, or "re:" and a regular expression (query/patterns.h). Returns 0 or a negative errno
 * with *why filled; -ENOENT: none matches, and *why suggests a similar name. Call around_free() in
 * both cases.
 */
int around_make(const struct report *report, const char *pattern, struct around *around,
		struct fail *why);
void around_free(struct around *around);

#endif
