// SPDX-License-Identifier: Apache-2.0
/* Flame graphs and totals over time, as Pyroscope's data source shows them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "query/flame.h"
#include "query/flame_prune.h"
#include "query/report.h"
#include "query/tree.h"
#include "server/querier.h"

enum {
	NODES = 8192, /* of a flame graph, if the client does not say */
	NODES_MAX = 200000,
	SERIES_STEPS = 300, /* of a series, if the client does not say */
};

static int no_memory(struct fail *why)
{
	return fail_errno(why, -ENOMEM, NULL, "cannot answer");
}

/* -- flame graphs ------------------------------------------------------------------------------ */

/* Adds a flame to a tree of several. The strings stay the flame's. */
static int add_flame(struct tree *tree, const struct flame *flame)
{
	struct labels names = {0};
	uint32_t *label_of = NULL, *node_of = calloc(flame->count + 1, sizeof(*node_of));
	int err = node_of ? flame_labels(flame, &names, &label_of) : -ENOMEM;

	for (uint32_t i = 0; !err && i < flame->count; i++) {
		const struct flame_node *node = &flame->nodes[i];

		if (i) {
			uint32_t label = label_intern(&tree->labels, &names.all.at[label_of[i]]);

			node_of[i] = label == LABEL_NONE ? 0
							 : tree_child(tree, node_of[node->parent],
								      label, node->inlined);
			if (!node_of[i]) {
				err = -ENOMEM;
				break;
			}
		}
		tree->nodes.at[node_of[i]].self[TREE_NOW] += node->self;
	}
	labels_free(&names);
	free(label_of);
	free(node_of);
	return err;
}

/* The levels of a flame graph: for each node of a level four numbers, as below. */
struct level {
	vec(uint64_t) numbers;
	uint64_t end; /* of the last node */
};
struct levels {
	vec(struct level) all;
	uint64_t max_self;
};

/*
 * A node in its level: how far it begins behind the end of the one before it, its total, its self,
 * and the number of its name.
 */
static bool add_node(struct levels *levels, uint32_t depth, uint64_t begin,
		     const struct flame_node *node, uint64_t name)
{
	struct level *level;

	while (levels->all.count <= depth)
		if (!vec_push(&levels->all, (struct level){0}))
			return false;
	level = &levels->all.at[depth];
	if (!vec_push(&level->numbers, begin - level->end) ||
	    !vec_push(&level->numbers, node->total) || !vec_push(&level->numbers, node->self) ||
	    !vec_push(&level->numbers, name))
		return false;
	level->end = begin + node->total;
	if (node->self > levels->max_self)
		levels->max_self = node->self;
	return true;
}

/* What a node spent itself is at its left; children follow, one behind the other. */
static int lay_out(const struct flame *flame, const uint32_t *label_of, struct levels *levels)
{
	uint64_t *next = calloc(flame->count + 1, sizeof(*next)); /* where its next child begins */
	uint32_t node = 0, depth = 0;
	bool is_done = next != NULL;

	if (is_done)
		do {
			const struct flame_node *of = &flame->nodes[node];
			uint64_t begin = node ? next[of->parent] : 0;

			is_done = add_node(levels, depth, begin, of,
					   node ? label_of[node] + UINT64_C(1) : 0);
			next[node] = begin + of->self;
			if (node)
				next[of->parent] = begin + of->total;
			node = flame_next(flame, node, &depth);
		} while (is_done && node);
	free(next);
	return is_done ? 0 : -ENOMEM;
}

static void put_levels(struct message *m, const struct flame *flame, const struct labels *names,
		       const struct levels *levels)
{
	message_open(m, 1, "flamegraph");
	message_list(m, "names");
	message_text(m, 1, NULL, "total");
	vec_foreach (&names->all, label)
		message_text(m, 1, NULL,
			     strcmp(label->name, FLAME_SMALLER) != 0 ? label->name : "other");
	message_list_end(m);
	message_list(m, "levels");
	vec_foreach (&levels->all, level) {
		message_open(m, 2, NULL);
		message_numbers(m, 1, "values", level->numbers.at, level->numbers.count);
		message_close(m);
	}
	message_list_end(m);
	message_number(m, 3, "total", flame->nodes[0].total);
	message_number(m, 4, "maxSelf", levels->max_self);
	message_close(m);
}

/* At most that many nodes. Nothing, where nothing was spent. */
static int put_flamegraph(struct message *m, const struct flame *flame, uint64_t most)
{
	struct flame pruned = {0};
	struct labels names = {0};
	struct levels levels = {0};
	uint32_t *label_of = NULL, hidden;
	int err = flame_prune(flame, (uint32_t)most, &pruned, &hidden);

	if (!err && pruned.nodes[0].total) {
		err = flame_labels(&pruned, &names, &label_of);
		if (!err)
			err = lay_out(&pruned, label_of, &levels);
		if (!err)
			put_levels(m, &pruned, &names, &levels);
	}
	vec_foreach (&levels.all, level)
		vec_free(&level->numbers);
	vec_free(&levels.all);
	labels_free(&names);
	free(label_of);
	flame_free(&pruned);
	return err;
}

/* The answers of all parts, which the strings of a tree of them belong to. */
static int add_parts(const struct http_request *request, const struct querier_selected *selected,
		     struct store_answer *answers, struct tree *tree, struct fail *why)
{
	int err = 0;

	for (size_t i = 0; !err && i < selected->parts.count; i++) {
		err = store_flame(request->store, &selected->parts.at[i].ask, &answers[i], why);
		if (!err && add_flame(tree, &answers[i].flame))
			err = no_memory(why);
	}
	return err;
}

static int put_parts(const struct http_request *request, const struct querier_selected *selected,
		     uint64_t nodes, struct message *m, struct fail *why)
{
	static const struct shape shape;
	const struct film_event event = {.name = selected->event.name,
					 .unit = selected->event.unit};
	const struct view view = {.event = &event};
	struct store_answer *answers = calloc(selected->parts.count + 1, sizeof(*answers));
	struct flame flame = {0};
	struct tree tree = {0};
	int err = tree_init(&tree, &shape, true);

	if (err || !answers)
		err = no_memory(why);
	if (!err)
		err = add_parts(request, selected, answers, &tree, why);
	if (!err && (tree_sum(&tree) || flame_of_tree(&tree, &view, false, &flame) ||
		     put_flamegraph(m, &flame, nodes)))
		err = no_memory(why);
	flame_free(&flame);
	tree_free(&tree);
	for (size_t i = 0; answers && i < selected->parts.count; i++)
		store_answer_free(&answers[i]);
	free(answers);
	return err;
}

int querier_stacktraces(const struct http_request *request, const struct pyroscope_query *query,
			struct message *m, struct fail *why)
{
	uint64_t nodes = query->nodes_max ? query->nodes_max : NODES;
	struct querier_selected selected;
	int err = querier_select(request, query, false, &selected, why);

	if (nodes > NODES_MAX)
		nodes = NODES_MAX;
	if (nodes < FLAME_PRUNE_MIN)
		nodes = FLAME_PRUNE_MIN;
	if (selected.parts.count == 1)
		selected.parts.at[0].ask.nodes_max = (uint32_t)nodes;
	if (!err)
		err = put_parts(request, &selected, nodes, m, why);
	querier_selected_free(&selected);
	return err == -ENODATA ? 0 : err;
}

/* -- totals over time -------------------------------------------------------------------------- */

/* The totals of one group. */
struct row {
	char *group; /* lines of values of the query's names */
	uint64_t total;
	uint64_t *values; /* of each step */
};

struct rows {
	vec(struct row) all;
	uint64_t from, step; /* ns */
	size_t steps;
	uint64_t *filmed; /* of each step, of all parts together; 0: nothing was filmed */
};

static struct row *find_row(struct rows *rows, const char *group)
{
	struct row row = {0};

	vec_foreach (&rows->all, one)
		if (!strcmp(one->group, group))
			return one;
	row.group = strdup(group);
	row.values = calloc(rows->steps + 1, sizeof(*row.values));
	if (row.group && row.values && vec_push(&rows->all, row))
		return vec_last(&rows->all);
	free(row.group);
	free(row.values);
	return NULL;
}

static bool begin_rows(struct rows *rows, const struct store_timeline *timeline)
{
	if (rows->filmed)
		return true;
	rows->from = timeline->sum.from;
	rows->step = timeline->step;
	rows->steps = timeline->steps;
	rows->filmed = calloc(rows->steps + 1, sizeof(*rows->filmed));
	return rows->filmed != NULL;
}

/*
 * Adds a value of the time [begin, end) to the steps that it lies in, in proportion: the store
 * answers one part in seconds and another one in whole minutes, which may reach further.
 */
static void add_value(const struct rows *rows, uint64_t *values, uint64_t begin, uint64_t end,
		      uint64_t value)
{
	uint64_t first = begin > rows->from ? (begin - rows->from) / rows->step : 0, given = 0;

	for (size_t i = first < rows->steps ? first : rows->steps - 1; given < value; i++) {
		uint64_t until = rows->from + (i + 1) * rows->step, sum = value;

		if (i + 1 < rows->steps && until < end)
			sum = until <= begin ? 0
					     : (uint64_t)((unsigned __int128)value *
							  (until - begin) / (end - begin));
		values[i] += sum - given;
		given = sum;
	}
}

static int add_timeline(struct rows *rows, const char *group, const struct store_timeline *timeline)
{
	uint64_t from = timeline->sum.from, length = timeline->step;

	if (!begin_rows(rows, timeline))
		return -ENOMEM;
	for (size_t step = 0; step < timeline->steps; step++)
		add_value(rows, rows->filmed, from + step * length, from + (step + 1) * length,
			  timeline->filmed[step]);
	for (size_t i = 0; i < timeline->rows; i++) {
		struct row *row = find_row(rows, group);

		if (!row)
			return -ENOMEM;
		row->total += timeline->at[i].total;
		for (size_t step = 0; step < timeline->steps; step++)
			add_value(rows, row->values, from + step * length,
				  from + (step + 1) * length, timeline->at[i].values[step]);
	}
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	uint64_t one = ((const struct row *)a)->total, other = ((const struct row *)b)->total;

	return (one < other) - (one > other);
}

/* A time is that of a step's begin; steps of which nothing was recorded have no point. */
static void put_points(struct message *m, const struct rows *rows, const struct row *row)
{
	message_list(m, "points");
	for (size_t i = 0; i < rows->steps; i++) {
		if (!rows->filmed[i])
			continue;
		message_open(m, 2, NULL);
		message_double(m, 1, "value", (double)row->values[i]);
		message_number(m, 2, "timestamp", (rows->from + i * rows->step) / MS_NS);
		message_close(m);
	}
	message_list_end(m);
}

static int put_labels(struct message *m, const struct pyroscope_query *query, const char *group)
{
	struct buf pairs = {0};
	char *text;

	vec_foreach (&query->names, name) {
		size_t length = strcspn(group, "\n");

		if (length) {
			querier_put_line(&pairs, *name);
			buf_put(&pairs, group, length + 1);
		}
		group += length + (group[length] != 0);
	}
	text = buf_steal_text(&pairs);
	if (!text)
		return -ENOMEM;
	querier_put_pairs(m, text);
	free(text);
	return 0;
}

static int put_rows(struct message *m, const struct pyroscope_query *query, struct rows *rows)
{
	size_t limit =
		query->limit && query->limit < rows->all.count ? query->limit : rows->all.count;
	int err = 0;

	if (rows->all.count)
		qsort(rows->all.at, rows->all.count, sizeof(*rows->all.at), compare_rows);
	message_list(m, "series");
	for (size_t i = 0; !err && i < limit; i++) {
		message_open(m, 1, NULL);
		err = put_labels(m, query, rows->all.at[i].group);
		put_points(m, rows, &rows->all.at[i]);
		message_close(m);
	}
	message_list_end(m);
	return err;
}

/* As many as the client's step makes of the time, at most what the store answers. */
static size_t count_steps(const struct pyroscope_query *query)
{
	double steps = SERIES_STEPS;

	if (query->start && query->end && query->step > 0)
		steps = ceil((double)(query->end - query->start) / 1e3 / query->step);
	return steps < 1 ? 1 : steps > STORE_STEPS_MAX ? STORE_STEPS_MAX : (size_t)steps;
}

int querier_select_series(const struct http_request *request, const struct pyroscope_query *query,
			  struct message *m, struct fail *why)
{
	struct querier_selected selected;
	struct rows rows = {0};
	int err = querier_select(request, query, query->names.count > 0, &selected, why);

	for (size_t i = 0; !err && i < selected.parts.count; i++) {
		struct querier_part *part = &selected.parts.at[i];
		struct store_timeline timeline = {0};

		err = store_timeline(request->store, &part->ask, STORE_BY_NOTHING,
				     count_steps(query), 1, NULL, &timeline, why);
		if (!err && add_timeline(&rows, part->group ? part->group : "", &timeline))
			err = no_memory(why);
		store_timeline_free(&timeline);
	}
	if (!err && put_rows(m, query, &rows))
		err = no_memory(why);
	vec_foreach (&rows.all, row) {
		free(row->group);
		free(row->values);
	}
	vec_free(&rows.all);
	free(rows.filmed);
	querier_selected_free(&selected);
	return err == -ENODATA ? 0 : err;
}
