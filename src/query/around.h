/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_AROUND_H
#define QUERY_AROUND_H

#include "query/report.h"
#include "query/sandwich.h"

/* A function that a user names, with its callers and callees. */
struct around {
	const struct function *of; /* of the report */
	size_t others;		   /* functions that match, too, and took less */
	struct sandwich sandwich;
};

/*
 * Finds the function of a report that took most, with all it called, of those that a pattern means:
 * a name, a glob, or "re:" and a regular expression (query/patterns.h). 0 or a negative errno with
 * *why filled: -ENOENT, where none matches, with a name that is near. *others: how many match
 * beside it.
 */
int around_find(const struct functions *functions, const char *pattern,
		const struct function **found, size_t *others, struct fail *why);

/* The callers and callees of a function of a report. 0 or -ENOMEM; to be freed in either case. */
int around_of(const struct report *report, const struct function *f, struct around *around,
	      struct fail *why);

/* The same of the one that a pattern means. around_free() is needed in either case. */
int around_make(const struct report *report, const char *pattern, struct around *around,
		struct fail *why);
void around_free(struct around *around);

#endif
