// SPDX-License-Identifier: Apache-2.0
#include "query/diff.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

double diff_share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

double diff_growth(const uint64_t part[2], const uint64_t whole[2])
{
	return diff_share(part[TREE_NOW], whole[TREE_NOW]) -
	       diff_share(part[TREE_BEFORE], whole[TREE_BEFORE]);
}

double diff_self_growth(const struct diff *diff, const struct function *f)
{
	return diff_growth(f->self, (uint64_t[]){diff->now.total, diff->before.total});
}

double diff_total_growth(const struct diff *diff, const struct function *f)
{
	return diff_growth(f->total, (uint64_t[]){diff->now.total, diff->before.total});
}

static int furthest_first(const void *x, const void *y, void *context)
{
	const uint64_t *whole = context;
	const struct function *a = x, *b = y;
	double self_a = fabs(diff_growth(a->self, whole));
	double self_b = fabs(diff_growth(b->self, whole));
	double total_a = fabs(diff_growth(a->total, whole));
	double total_b = fabs(diff_growth(b->total, whole));
	int order;

	if (self_a != self_b)
		return self_a > self_b ? -1 : 1;
	if (total_a != total_b)
		return total_a > total_b ? -1 : 1;
	order = strcmp(a->label->name, b->label->name);
	return order ? order : a->label < b->label ? -1 : a->label > b->label;
}

void diff_sort(struct functions *functions, const uint64_t whole[2])
{
	if (functions->count)
		qsort_r(functions->at, functions->count, sizeof(*functions->at), furthest_first,
			(void *)whole);
}

static int merge(struct diff *diff, const struct question *q)
{
	struct shape shape = view_shape(&diff->now, &q->shape);
	struct call_functions now = {0}, before = {0};
	int err = 0;

	if (tree_init(&diff->tree, &shape, true) || tree_add(&diff->tree, &diff->now, TREE_NOW) ||
	    tree_add(&diff->tree, &diff->before, TREE_BEFORE) ||
	    call_functions_of(&diff->tree, &diff->now, &now) ||
	    call_functions_of(&diff->tree, &diff->before, &before) || tree_sum(&diff->tree) ||
	    flame_of_tree(&diff->tree, &diff->now, true, &diff->flame) ||
	    functions_of(&diff->tree, &diff->flame, &diff->functions))
		err = -ENOMEM;
	if (!err) {
		call_functions_add_to(&now, &diff->tree, &diff->now, TREE_NOW, &diff->functions);
		call_functions_add_to(&before, &diff->tree, &diff->before, TREE_BEFORE,
				      &diff->functions);
	}
	call_functions_free(&now);
	call_functions_free(&before);
	if (err)
		return err;
	diff_sort(&diff->functions, (uint64_t[]){diff->now.total, diff->before.total});
	return 0;
}

int diff_make(struct film *before, struct film *now, const struct question *q, struct diff *diff,
	      struct fail *why)
{
	enum view_group group = tree_group(&q->shape);
	struct question same = *q;
	char first[256], second[256];
	int err;

	*diff = (struct diff){0};
	err = view_open(now, q, group, &diff->now, why);
	if (!err)
		err = view_need_cpus(&diff->now, q, why);
	if (err)
		return err;
	/* where no event was named, the one of now, whichever place it has in the other film */
	same.event = diff->now.event->name;
	err = view_open(before, &same, group, &diff->before, why);
	if (!err)
		err = view_need_cpus(&diff->before, q, why);
	if (err)
		return err;
	if (strcmp(diff->now.event->unit, diff->before.event->unit))
		return fail(why, -EINVAL, NULL, "%s counts %s in one film and %s in the other",
			    same.event, diff->before.event->unit, diff->now.event->unit);
	if (merge(diff, q))
		return fail_errno(why, -ENOMEM, NULL, "cannot merge the stacks");
	view_title(&diff->before, first, sizeof(first));
	view_title(&diff->now, second, sizeof(second));
	snprintf(diff->title, sizeof(diff->title), "%s, compared with %s", second, first);
	diff->flame.title = diff->title;
	return 0;
}

void diff_free(struct diff *diff)
{
	functions_free(&diff->functions);
	flame_free(&diff->flame);
	tree_free(&diff->tree);
	view_free(&diff->now);
	view_free(&diff->before);
}
