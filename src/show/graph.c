// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>

#include "base/text.h"
#include "query/calls/graph.h"
#include "show/call_notes.h"
#include "show/table_names.h"
#include "show/words.h"

/* What is known while the functions are printed. */
struct drawing {
	const struct report *report;
	const struct show_options *options;
	const struct call_graph *graph;
	struct side {
		const struct call_edge **edges; /* those of one function after those of another */
		size_t *first;			/* per label, and one more */
	} callers, callees;
	FILE *out;
};

static uint32_t key_of(const struct call_edge *edge, bool callers)
{
	return callers ? edge->callee : edge->caller;
}

static int by_time_in(const void *x, const void *y)
{
	const struct call_edge *a = *(const struct call_edge *const *)x;
	const struct call_edge *b = *(const struct call_edge *const *)y;

	if (a->time_in != b->time_in)
		return a->time_in > b->time_in ? -1 : 1;
	if (a->calls != b->calls)
		return a->calls > b->calls ? -1 : 1;
	return a < b ? -1 : a > b;
}

static int by_time_out(const void *x, const void *y)
{
	const struct call_edge *a = *(const struct call_edge *const *)x;
	const struct call_edge *b = *(const struct call_edge *const *)y;

	if (a->time_out != b->time_out)
		return a->time_out > b->time_out ? -1 : 1;
	if (a->calls != b->calls)
		return a->calls > b->calls ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Sorts the edges by the function that they lead to (callers), or come from. */
static bool sort_side(const struct call_graph *graph, size_t labels, bool callers,
		      struct side *side)
{
	size_t *next = calloc(labels + 1, sizeof(*next));

	side->edges = calloc(graph->count + 1, sizeof(*side->edges));
	side->first = calloc(labels + 2, sizeof(*side->first));
	if (next && side->edges && side->first) {
		for (size_t i = 0; i < graph->count; i++)
			if (key_of(&graph->at[i], callers) < labels)
				side->first[key_of(&graph->at[i], callers) + 1]++;
		for (size_t i = 0; i < labels; i++) {
			side->first[i + 1] += side->first[i];
			next[i] = side->first[i];
		}
		for (size_t i = 0; i < graph->count; i++)
			if (key_of(&graph->at[i], callers) < labels)
				side->edges[next[key_of(&graph->at[i], callers)]++] = &graph->at[i];
		for (size_t i = 0; i < labels; i++)
			if (side->first[i + 1] - side->first[i] > 1)
				qsort(side->edges + side->first[i],
				      side->first[i + 1] - side->first[i], sizeof(*side->edges),
				      callers ? by_time_in : by_time_out);
	} else {
		free(next);
		return false;
	}
	free(next);
	return true;
}

static char *name_of(const struct drawing *d, uint32_t label)
{
	const struct labels *labels = &d->report->tree.labels;

	if (label == CALL_GRAPH_OUTSIDE)
		return text_safe("[no traced caller]", "");
	if (label >= CALL_GRAPH_FIRST_MARK)
		return text_safe(call_mark_names[label - CALL_GRAPH_FIRST_MARK], "");
	if (label >= labels->all.count)
		return text_safe(call_mark_names[CALL_MARK_NOT_KEPT], "");
	return words_function(labels->all.at[label].name, labels->all.at[label].file,
			      labels->all.at[label].line, "", d->options->name_width);
}

static void print_numbers(uint64_t time, uint64_t calls, FILE *out)
{
	char number[32];

	text_duration(number, sizeof(number), time);
	fprintf(out, "%11s ", number);
	text_count(number, sizeof(number), calls);
	fprintf(out, "%11s  ", number);
}

static int print_edges(const struct drawing *d, const struct side *side, size_t label, bool callers)
{
	for (size_t i = side->first[label]; i < side->first[label + 1]; i++) {
		const struct call_edge *edge = side->edges[i];
		char *name = name_of(d, callers ? edge->caller : edge->callee);

		if (!name)
			return -ENOMEM;
		print_numbers(callers ? edge->time_in : edge->time_out, edge->calls, d->out);
		fprintf(d->out, "%s%s\n", callers ? "  <- " : "  -> ", name);
		free(name);
	}
	return 0;
}

/* Its callers, itself, its callees. */
static int print_function(const struct drawing *d, const struct function *f)
{
	size_t label = (size_t)(f->label - d->report->tree.labels.all.at);
	int err;

	fputc('\n', d->out);
	err = print_edges(d, &d->callers, label, true);
	print_numbers(f->total[TREE_NOW], f->calls[TREE_NOW]->calls, d->out);
	if (!err)
		err = call_heading(f, d->options, d->out);
	fputc('\n', d->out);
	return err ? err : print_edges(d, &d->callees, label, false);
}

static int draw(struct drawing *d, const struct function *const *rows, size_t all)
{
	size_t count = words_rows(all, d->options->limit),
	       labels = d->report->tree.labels.all.count;
	int err = 0;

	if (!sort_side(d->graph, labels, true, &d->callers) ||
	    !sort_side(d->graph, labels, false, &d->callees))
		err = -ENOMEM;
	if (count)
		fprintf(d->out, "\n%s%11s %11s  %s%s\n", d->options->color ? TABLE_BOLD : "",
			"TOTAL", "CALLS", "FUNCTION, between its callers and its callees",
			d->options->color ? TABLE_PLAIN : "");
	for (size_t i = 0; !err && i < count; i++)
		err = print_function(d, rows[i]);
	if (all > count)
		fprintf(d->out, "\n… %zu more functions; --limit 0 shows all\n", all - count);
	free(d->callers.edges);
	free(d->callers.first);
	free(d->callees.edges);
	free(d->callees.first);
	return err;
}

int show_graph(const struct report *report, const struct show_options *options, FILE *out)
{
	struct call_graph graph;
	struct drawing d = {.report = report, .options = options, .graph = &graph, .out = out};
	size_t all;
	const struct function **rows = call_rows(report, options->order, &all);
	int err = call_graph_of(&report->view, &report->calls, &graph);

	words_heading(&report->view, out);
	if (!err)
		err = rows ? draw(&d, rows, all) : -ENOMEM;
	if (report->view.samples)
		fputc('\n', out);
	call_notes(report, out);
	call_graph_free(&graph);
	free(rows);
	return err;
}
