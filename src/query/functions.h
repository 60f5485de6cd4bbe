/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_FUNCTIONS_H
#define QUERY_FUNCTIONS_H

#include "query/calls/view.h"
#include "query/tree.h"

/* The sums of a function (or of one of its lines, or of a mark) over all stacks. */
struct function {
	const struct label *label;
	bool guess; /* some samples are here by a guess */
	/* by enum tree_side, each in the unit of its own film, not scaled */
	uint64_t self[2];
	uint64_t total[2];	     /* includes callees; recursion counts once */
	struct call_stats *calls[2]; /* for an event of calls; null: no call counts */
	bool is_focus;		     /* its name matches --focus, or there is no --focus */
};

/* The sum of all self values and left_out is the tree's total. */
struct functions {
	struct function *at;
	size_t count;
	/* self of functions that were left out because they would not be shown */
	uint64_t left_out;
};

/*
 * Sort keys of functions, largest first; equal ones in the order of functions_sort(). A call whose
 * end was not seen counts only with the time that it certainly took.
 */
enum function_order {
	FUNCTIONS_AS_THEY_ARE,
	FUNCTIONS_BY_SELF,
	FUNCTIONS_BY_TOTAL,
	/* the rest is only for events of calls */
	FUNCTIONS_BY_CALLS,
	FUNCTIONS_BY_AVERAGE,
	FUNCTIONS_BY_MAX,
	FUNCTIONS_BY_P99,
};

/*
 * Lists the functions of a tree, unsorted. The tree must be summed up, and must outlive the result.
 * Returns 0 or -ENOMEM.
 */
int functions_of(const struct tree *tree, const struct flame *flame, struct functions *functions);
/* Sorts by self, then total, largest first. */
void functions_sort(struct functions *functions);
void functions_free(struct functions *functions);

/*
 * Selects the first *most functions in an order, and of equal ones those that functions_sort() puts
 * first. Returns an array that the caller frees, whose items point into functions, and sets *most
 * to its length. functions need not be sorted. Null: no memory.
 */
const struct function **functions_first(const struct functions *functions,
					enum function_order order, size_t *most);

/* The same for all functions. */
const struct function **functions_in_order(const struct functions *functions,
					   enum function_order order);

/*
 * The part of total or self that may be time of other functions, because ends of calls were not
 * seen. At most total or self.
 */
uint64_t function_unsure_total(const struct function *f, enum tree_side side);
uint64_t function_unsure_self(const struct function *f, enum tree_side side);

/* ns that a function's calls were on a CPU; at most its total. */
uint64_t function_on_cpu(const struct function *f, enum tree_side side);

#endif
