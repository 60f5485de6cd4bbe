/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_FUNCTIONS_H
#define QUERY_FUNCTIONS_H

#include "query/calls/view.h"
#include "query/tree.h"

/* One function (or line of one, or what stands for a function) over all stacks. */
struct function {
	const struct label *label;
	bool guess; /* some samples came here by a guess */
	/* by enum tree_side, each in its own film's units: nothing is scaled here */
	uint64_t self[2];
	uint64_t total[2];	     /* with all it called; recursion counts once */
	struct call_stats *calls[2]; /* of an event of calls: null where it has none that count */
	bool is_focus;		     /* its name matches --focus, or there is none */
};

/* The sum of self, with what is left out, is the tree's total. */
struct functions {
	struct function *at;
	size_t count;
	uint64_t left_out; /* of self: functions that are not there, as they will not be shown */
};

/*
 * What functions are sorted by, largest first; where that is the same, as functions_sort() does. Of
 * calls that ended unseen only the time counts that they surely took.
 */
enum function_order {
	FUNCTIONS_AS_THEY_ARE,
	FUNCTIONS_BY_SELF,
	FUNCTIONS_BY_TOTAL,
	/* from here on of calls only */
	FUNCTIONS_BY_CALLS,
	FUNCTIONS_BY_AVERAGE,
	FUNCTIONS_BY_MAX,
	FUNCTIONS_BY_P99,
};

/*
 * In no order. Returns 0 or -ENOMEM. The tree must be summed up, and must live as long as the
 * result.
 */
int functions_of(const struct tree *tree, const struct flame *flame, struct functions *functions);
/* By self, then total, largest first. */
void functions_sort(struct functions *functions);
void functions_free(struct functions *functions);

/*
 * The first *most functions in that order, of equal ones those that functions_sort() puts first: an
 * array to be freed, whose items point into functions, which need not be sorted. *most becomes how
 * many there are. Null: no memory.
 */
const struct function **functions_first(const struct functions *functions,
					enum function_order order, size_t *most);

/* All functions in an order, as functions_first(). */
const struct function **functions_in_order(const struct functions *functions,
					   enum function_order order);

/*
 * What of total or self may be others' time, as the ends of calls were not seen. Never more than it
 * is.
 */
uint64_t function_unsure_total(const struct function *f, enum tree_side side);
uint64_t function_unsure_self(const struct function *f, enum tree_side side);

/* The time that a function's calls were on a CPU; never more than its total. */
uint64_t function_on_cpu(const struct function *f, enum tree_side side);

#endif
