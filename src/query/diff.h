/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_DIFF_H
#define QUERY_DIFF_H

#include "query/report.h"

/*
 * Two films side by side. Functions are the same when their names and the file names of their
 * images are; a place without a name is the same only in the same build. Shares compare, not
 * amounts: each film is its own whole.
 */
struct diff {
	struct view before, now;
	struct tree tree;
	struct flame flame;	    /* is_diff; before is scaled to now's total */
	struct functions functions; /* sorted by how far the share of self moved, furthest first */
	char title[600];
};

/*
 * Asks both films the same question. The films must live as long as the diff. Returns 0 or a
 * negative errno with *why filled; diff_free() is needed in either case.
 */
int diff_make(struct film *before, struct film *now, const struct question *q, struct diff *diff,
	      struct fail *why);
void diff_free(struct diff *diff);

/* A part of a whole, 0 to 1; 0 where the whole is 0. */
double diff_share(uint64_t part, uint64_t whole);

/*
 * How far a share grew: 0.05 is five percentage points. Both sides, by enum tree_side, of a part
 * and of its whole.
 */
double diff_growth(const uint64_t part[2], const uint64_t whole[2]);

/* The same of a function's self, and of its total. */
double diff_self_growth(const struct diff *diff, const struct function *f);
double diff_total_growth(const struct diff *diff, const struct function *f);

/* Puts the functions first whose share of self moved furthest. */
void diff_sort(struct functions *functions, const uint64_t whole[2]);

#endif
