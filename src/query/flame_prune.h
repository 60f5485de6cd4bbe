/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_FLAME_PRUNE_H
#define QUERY_FLAME_PRUNE_H

#include "query/flame.h"

/* The name of the one child that stands for those of a node that were left out. */
#define FLAME_SMALLER "[smaller]"

enum {
	FLAME_PRUNE_MIN = 4
};

/*
 * A copy of a flame, of at most that many nodes (at least FLAME_PRUNE_MIN): those with the largest
 * totals, of either side. What the others had stands in a mark FLAME_SMALLER below the node that
 * they were children of, so that all totals are as before. Siblings are sorted by total, largest
 * first, marks last, in any order of the flame. *hidden: how many were left out. The
 * strings are the flame's. Returns 0 or -ENOMEM.
 */
int flame_prune(const struct flame *flame, uint32_t most, struct flame *pruned, uint32_t *hidden);

#endif
