/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_INSPECT_LEAVES_H
#define SHOW_INSPECT_LEAVES_H

#include "show/inspect.h"

/* A value of a call that is added up: an argument, a result, or a member of one. */
struct inspect_leaf {
	/* "order.id", "len(list)", "result", "result err"; null: a member too deep to be one */
	const char *path;
	const struct shown_tree *tree;
	size_t at;	 /* its node */
	bool has_length; /* the length of a list or a map counts, not its elements */
};

/*
 * Calls emit() with the values of a call, members of structures by themselves. Addresses are left
 * out: they are others in each call. Returns 0, -ENOMEM, or what emit() returned if that is not 0.
 */
int inspect_each_leaf(const struct inspect_line *line,
		      int (*emit)(void *context, const struct inspect_leaf *leaf), void *context);

/* A value as text, to be freed; null: no memory. */
char *inspect_leaf_text(const struct inspect_leaf *leaf);

#endif
