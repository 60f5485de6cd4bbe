/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_FUNCTIONS_H
#define QUERY_FUNCTIONS_H

#include "query/tree.h"

/* One function (or line of one, or what stands for a function) over all stacks. */
struct function {
	const struct label *label;
	bool guess; /* some samples came here by a guess */
	/* by enum tree_side, each in its own film's units: nothing is scaled here */
	uint64_t self[2];
	uint64_t total[2]; /* with all it called; recursion counts once */
};

/* Sorted by self, then total, largest first; the sums of self are the tree's totals. */
struct functions {
	struct function *at;
	size_t count;
};

/* Returns 0 or -ENOMEM. The tree must be summed up, and must live as long as the result. */
int functions_of(const struct tree *tree, const struct flame *flame, struct functions *functions);
void functions_free(struct functions *functions);

#endif
