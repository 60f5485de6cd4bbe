/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_SANDWICH_H
#define QUERY_SANDWICH_H

#include "query/flame.h"
#include "query/tree.h"

/*
 * One function from both sides, over all stacks: what called it and what it called. Both flames
 * have the function at their root, with all that was spent in and below it; where it calls itself,
 * the outermost call counts.
 */
struct sandwich {
	uint64_t self, total; /* 0: it is in no stack */
	struct flame callers; /* a node's children are what called it */
	struct flame callees;
	struct tree trees[2]; /* what they are made of */
};

/*
 * image null: of any. The strings are the flame's. Returns 0 or -ENOMEM; sandwich_free() is needed
 * in either case.
 */
int sandwich_make(const struct flame *flame, const char *name, const char *image,
		  struct sandwich *sandwich);
void sandwich_free(struct sandwich *sandwich);

#endif
