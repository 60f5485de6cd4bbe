// SPDX-License-Identifier: Apache-2.0
/* Flames and comparisons. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/diff.h"
#include "store/ask_private.h"

static int begin(struct store_answer *answer, const struct store_ask *ask, struct fail *why)
{
	struct shape shape = ask->question ? ask->question->shape : (struct shape){0};

	*answer = (struct store_answer){0};
	answer->private = answer_private_new(why);
	if (!answer->private)
		return -ENOMEM;
	if (tree_init(&answer->tree, &shape, true))
		return fail_errno(why, -ENOMEM, NULL, "cannot answer");
	return 0;
}

/* From a tree with all its weights to the answer. */
static int finish(struct store_answer *answer, const struct asked *asked, bool is_diff,
		  struct fail *why)
{
	struct store_answer_private *p = answer->private;
	struct call_view calls = {.is_summary = p->is_summary};
	const struct view view = {.event = &p->event, .calls = &calls};

	p->event.name = name_pool_add(&p->names, asked->event_name);
	p->event.unit = name_pool_add(&p->names, asked->unit);
	/* a function whose calls are traced has its name */
	if (!p->wants_calls &&
	    build_names_apply(store_build_names(asked->store), &answer->tree, &answer->functions))
		return fail_errno(why, -ENOMEM, NULL, "cannot merge the stacks");
	tree_total(&answer->tree);
	if (!p->event.name || !p->event.unit ||
	    flame_of_tree(&answer->tree, &view, is_diff, &answer->flame) ||
	    (!p->is_shown && functions_of(&answer->tree, &answer->flame, &answer->functions)))
		return fail_errno(why, -ENOMEM, NULL, "cannot merge the stacks");
	answer->flame.left_out = p->left_out;
	call_functions_add_to(&p->calls, &answer->tree, &view, TREE_NOW, &answer->functions);
	answer->is_summary = p->is_summary;
	answer->others = p->request.others;
	answer->unplaced = p->request.unplaced;
	answer->unlinked = p->request.unlinked;
	if (is_diff)
		diff_sort(&answer->functions, answer->tree.nodes.at[0].total);
	answer->sum.unit = answer->before.unit = p->event.unit;
	return 0;
}

/* A comparison must not count an hour on both sides. */
static const struct sums_verbs *sums_of(const struct asked *sides, size_t count)
{
	const struct sums_verbs *sums = asked_sums(&sides[0], SUMS_PATHS, count > 1);

	return count > 1 && asked_sums(&sides[1], SUMS_PATHS, true) != sums ? &index_sums : sums;
}

/*
 * Whether both sides are to be read from films. A short time of many films is answered by whole
 * minutes, and names in many films by what the index knows of them.
 */
static int choose(const struct asked *sides, size_t count, bool *by_films, struct fail *why)
{
	bool must = false, better = false, names;
	int64_t films = 0;

	for (size_t i = 0; i < count; i++) {
		names = asked_by_names(&sides[i]);
		must |= asked_needs_films(&sides[i]) && !names;
		better |= asked_prefers_films(&sides[i]) || names;
	}
	/* films are those of this collector */
	better &= sums_of(sides, count) == &index_sums;
	for (size_t i = 0; better && !must && films >= 0 && i < count; i++) {
		films = ask_count_films(&sides[i], why);
		better &= films <= ASK_FILMS_BETTER;
	}
	*by_films = must || better;
	return films < 0 ? (int)films : 0;
}

/* Only what will be shown; a comparison is scaled first, and images are merged. */
static bool is_for_show(const struct store_ask *ask, size_t sides)
{
	return sides == 1 && ask->nodes_max && ask->functions_max &&
	       !(ask->question && ask->question->shape.by_image);
}

/* Adds one side up in the view. */
static int read_side(struct asked *side, struct sums_view *view, enum tree_side which,
		     struct store_sum *sum, struct fail *why)
{
	int err = view->verbs->select(side, view, SUMS_PATHS, why);

	sum->by_paths = asked_by_names(side);
	if (!err && sum->by_paths)
		err = asked_keep_named(side, view, why);
	if (!err)
		err = view->verbs->about(side, view, sum, why);
	return err ? err : paths_add(side, view, which, sum, why);
}

/* Reads both sides, or one, from sums; answers: in the order of enum tree_side. */
static int read_sums(struct asked *sides, size_t count, struct store_answer *answer,
		     struct store_sum **sums, struct fail *why)
{
	bool for_show = is_for_show(sides[0].ask, count);
	struct sums_view *view;
	int err = sums_of(sides, count)->open(&sides[0], &view, why);

	if (err)
		return err;
	for (size_t i = 0; !err && i < count; i++)
		err = read_side(&sides[i], view, (enum tree_side)i, sums[i], why);
	if (err)
		sums_drop(&view->by_path);
	else if (for_show ? paths_shown(view, sides[0].ask, answer)
			  : paths_tree(view, &answer->tree))
		err = fail_errno(why, -ENOMEM, NULL, "cannot merge the stacks");
	view->verbs->close(&sides[0], view, answer->private);
	return err;
}

/*
 * Two times of which one begins where the other ends, as the range before does, would share a
 * minute where they are counted in whole ones, and what is new in it would seem to have been there
 * before. It is counted in the later one.
 */
static void keep_apart(struct asked *sides)
{
	struct asked *early = &sides[0], *late = &sides[1];

	if (early->from > late->from) {
		early = &sides[1];
		late = &sides[0];
	}
	if (early->to <= late->from && early->end > late->first && early->first < late->first)
		early->end = late->first;
}

/*
 * Reads both sides, or one, from films. Where there was no time for all of them, and names alone
 * chose the stacks, the index has the better answer: of all of the time. It must have that of the
 * other side, too.
 */
static int read_films(struct asked *sides, size_t count, struct store_answer *answer,
		      struct store_sum **sums, struct fail *why)
{
	struct shape shape = answer->tree.shape;
	bool is_part = false, must = false;
	int err = 0;

	for (size_t i = 0; !err && i < count; i++) {
		err = films_add(&sides[i], &answer->tree, (enum tree_side)i, answer->private,
				sums[i], why);
		is_part |= sums[i]->films_unread && asked_by_names(&sides[i]);
		must |= asked_needs_films(&sides[i]) && !asked_by_names(&sides[i]);
	}
	if (err || !is_part || must)
		return err;
	tree_free(&answer->tree);
	for (size_t i = 0; i < count; i++)
		*sums[i] = (struct store_sum){0};
	if (tree_init(&answer->tree, &shape, true))
		return fail_errno(why, -ENOMEM, NULL, "cannot answer");
	return read_sums(sides, count, answer, sums, why);
}

/* An answer of one side or two. */
static int answer_sides(struct asked *sides, size_t count, struct store_answer *answer,
			struct fail *why)
{
	struct store_sum *sums[] = {&answer->sum, &answer->before};
	bool by_films;
	int err = choose(sides, count, &by_films, why);

	answer->private->index = index_share(sides[0].index);
	if (count == 2)
		keep_apart(sides);
	if (!err)
		err = (by_films ? read_films : read_sums)(sides, count, answer, sums, why);
	if (!err)
		err = asked_request_check(&answer->private->request, sides[0].ask, &answer->sum,
					  why);
	return err ? err : finish(answer, &sides[0], count == 2, why);
}

int store_flame(struct store *store, const struct store_ask *ask, struct store_answer *answer,
		struct fail *why)
{
	struct asked asked = {0};
	int err = begin(answer, ask, why);

	if (!err)
		err = asked_begin(&asked, store, ask, why);
	if (!err)
		err = answer_sides(&asked, 1, answer, why);
	asked_free(&asked);
	return err;
}

int store_calls(struct store *store, const struct store_ask *ask, struct store_answer *answer,
		struct fail *why)
{
	struct asked asked = {0};
	int err = begin(answer, ask, why);

	if (!err)
		err = asked_begin(&asked, store, ask, why);
	if (!err) {
		answer->private->wants_calls = true;
		err = films_add(&asked, &answer->tree, TREE_NOW, answer->private, &answer->sum,
				why);
	}
	if (!err)
		err = finish(answer, &asked, false, why);
	asked_free(&asked);
	return err;
}

int store_diff(struct store *store, const struct store_ask *before, const struct store_ask *now,
	       struct store_answer *answer, struct fail *why)
{
	struct asked sides[2] = {0};
	int err = begin(answer, now, why);

	if (!err)
		err = asked_begin(&sides[TREE_NOW], store, now, why);
	if (!err)
		err = asked_begin(&sides[TREE_BEFORE], store, before, why);
	if (!err && strcmp(sides[0].unit, sides[1].unit) != 0)
		err = fail(why, -EINVAL, NULL, "%s counts %s and %s counts %s", sides[0].event_name,
			   sides[0].unit, sides[1].event_name, sides[1].unit);
	if (!err)
		err = answer_sides(sides, 2, answer, why);
	asked_free(&sides[0]);
	asked_free(&sides[1]);
	return err;
}

void store_answer_free(struct store_answer *answer)
{
	functions_free(&answer->functions);
	flame_free(&answer->flame);
	tree_free(&answer->tree);
	answer_private_free(answer->private);
	*answer = (struct store_answer){0};
}
