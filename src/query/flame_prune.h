/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_FLAME_PRUNE_H
#define QUERY_FLAME_PRUNE_H

#include "query/flame.h"

/* The name of the child that replaces all children of a node that were left out. */
#define FLAME_SMALLER "[smaller]"

enum {
	FLAME_PRUNE_MIN = 4
};

/*
 * Copies at most `most` nodes of a flame (at least FLAME_PRUNE_MIN): those with the largest totals
 * on either side. A mark FLAME_SMALLER replaces the others below each parent, so that totals do not
 * change. In the copy siblings are sorted by total, largest first, marks last. *hidden: number of
 * nodes left out. The strings belong to flame. Returns 0 or -ENOMEM.
 */
int flame_prune(const struct flame *flame, uint32_t most, struct flame *pruned, uint32_t *hidden);

#endif
