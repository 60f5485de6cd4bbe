/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_DIFF_H
#define QUERY_DIFF_H

#include "query/report.h"

/*
 * Compares two films. Functions are equal if their names and the file names of their images are
 * equal; places without a name only if they are from the same build. Shares of each film's total
 * are compared, not amounts.
 */
struct diff {
	struct view before, now;
	struct tree tree;
	struct flame flame;	    /* is_diff; before is scaled to now's total */
	struct functions functions; /* sorted by the change of the share of self, largest first */
	char title[600];
};

/*
 * Queries both films. The films must outlive the diff. Returns 0 or a negative errno with *why
 * filled; call diff_free() in both cases.
 */
int diff_make(struct film *before, struct film *now, const struct question *q, struct diff *diff,
	      struct fail *why);
void diff_free(struct diff *diff);

/* part / whole, from 0 to 1; 0 if whole is 0. */
double diff_share(uint64_t part, uint64_t whole);

/*
 * The growth of a share: 0.05 is five percentage points. Both arrays are indexed by enum tree_side.
 */
double diff_growth(const uint64_t part[2], const uint64_t whole[2]);

/* The same for a function's self and total. */
double diff_self_growth(const struct diff *diff, const struct function *f);
double diff_total_growth(const struct diff *diff, const struct function *f);

/* Sorts functions by the change of their share of self, largest first. */
void diff_sort(struct functions *functions, const uint64_t whole[2]);

#endif
