/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_SANDWICH_H
#define QUERY_SANDWICH_H

#include "query/flame.h"
#include "query/tree.h"

/*
 * The callers and callees of one function over all stacks. Both flames have the function at their
 * root, with everything that was spent in and below it; if it calls itself, the outermost call
 * counts.
 */
struct sandwich {
	uint64_t self, total; /* 0: no stack has it */
	struct flame callers; /* a node's children are its callers */
	struct flame callees;
	struct tree trees[2]; /* the trees of both flames */
};

/*
 * image null: any. The strings belong to flame. Returns 0 or -ENOMEM; call sandwich_free() in both
 * cases.
 */
int sandwich_make(const struct flame *flame, const char *name, const char *image,
		  struct sandwich *sandwich);
void sandwich_free(struct sandwich *sandwich);

#endif
