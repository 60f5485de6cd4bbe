/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_CALLS_FUNCTIONS_H
#define QUERY_CALLS_FUNCTIONS_H

#include "query/functions.h"

/*
 * The stats of a view's calls, by the labels that its functions have in a tree. All zero is empty.
 */
struct call_functions {
	struct call_stats **of_label; /* null where a label has no calls that count */
	uint32_t *label_of_frame;     /* LABEL_NONE where a frame was not called */
	size_t count;		      /* of labels */
};

/*
 * To be asked once a view was added to a tree, and before its functions are made: it may add
 * labels. Of a view of samples there are none. Returns 0 or -ENOMEM; call_functions_free() is
 * needed in either case.
 */
int call_functions_of(struct tree *tree, const struct view *view, struct call_functions *calls);
void call_functions_free(struct call_functions *calls);

/* The label of a path other than a root; LABEL_NONE: it is a mark. */
uint32_t call_functions_label(const struct call_functions *calls, const struct view *view,
			      uint32_t path);

/*
 * Hands the stats on to their functions. Of sums, total is theirs: a tree without callers has none.
 */
void call_functions_add_to(struct call_functions *calls, const struct tree *tree,
			   const struct view *view, enum tree_side side,
			   struct functions *functions);

#endif
