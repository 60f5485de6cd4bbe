// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "show/call_notes.h"
#include "show/table_names.h"
#include "show/words.h"

/* A column of numbers: its name in --columns, its title, its width. */
static const struct column {
	const char *name, *title;
	int width;
} columns[SHOW_COLUMNS] = {
	[SHOW_TOTAL] = {"total", "TOTAL", 11},
	[SHOW_SELF] = {"self", "SELF", 11},
	[SHOW_CALLS] = {"calls", "CALLS", 11},
	[SHOW_AVERAGE] = {"avg", "AVG", 11},
	[SHOW_MIN] = {"min", "MIN", 11},
	[SHOW_MAX] = {"max", "MAX", 11},
	[SHOW_P50] = {"p50", "P50", 12},
	[SHOW_P99] = {"p99", "P99", 12},
	[SHOW_PERCENT] = {"percent", "TOTAL%", 7},
	[SHOW_SELF_PERCENT] = {"self-percent", "SELF%", 7},
	[SHOW_ON_CPU] = {"on-cpu", "ON-CPU", 11},
	[SHOW_INFERRED] = {"inferred", "INFERRED", 11},
};

static const enum show_column default_columns[] = {SHOW_TOTAL, SHOW_SELF, SHOW_CALLS};

static int find_column(const char *name, size_t length)
{
	for (int i = 0; i < SHOW_COLUMNS; i++)
		if (strlen(columns[i].name) == length && !memcmp(columns[i].name, name, length))
			return i;
	return -1;
}

int show_parse_columns(struct show_options *options, const char *names, struct fail *why)
{
	options->column_count = 0;
	if (!strcmp(names, "all")) {
		for (int i = 0; i < SHOW_COLUMNS; i++)
			options->columns[options->column_count++] = (enum show_column)i;
		return 0;
	}
	for (const char *at = names;; at++) {
		size_t length = strcspn(at, ",");
		int column = find_column(at, length);

		if (column < 0 || options->column_count == SHOW_COLUMNS)
			return fail(why, -EINVAL, NULL,
				    "'%s' is not a list of total, self, calls, avg, min, max, p50, "
				    "p99, "
				    "percent, self-percent, on-cpu, inferred, and not all",
				    names);
		options->columns[options->column_count++] = (enum show_column)column;
		at += length;
		if (!*at)
			return 0;
	}
}

int show_parse_order(struct show_options *options, const char *name, struct fail *why)
{
	static const struct {
		const char *name;
		enum function_order order;
	} orders[] = {
		{"total", FUNCTIONS_BY_TOTAL}, {"self", FUNCTIONS_BY_SELF},
		{"calls", FUNCTIONS_BY_CALLS}, {"avg", FUNCTIONS_BY_AVERAGE},
		{"max", FUNCTIONS_BY_MAX},     {"p99", FUNCTIONS_BY_P99},
	};

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		if (!strcmp(name, orders[i].name)) {
			options->order = orders[i].order;
			return 0;
		}
	return fail(why, -EINVAL, NULL, "'%s' is none of total, self, calls, avg, max, p99", name);
}

/* The number of a column that only functions with measured calls have; false: it is not one. */
static bool measured_value(const struct call_stats *stats, enum show_column column, uint64_t *value)
{
	switch (column) {
	case SHOW_AVERAGE:
		*value = call_stats_average(stats);
		return true;
	case SHOW_MIN:
		*value = stats->min;
		return true;
	case SHOW_MAX:
		*value = stats->max;
		return true;
	case SHOW_P50:
		*value = call_stats_quantile(stats, 500);
		return true;
	case SHOW_P99:
		*value = call_stats_quantile(stats, 990);
		return true;
	default:
		return false;
	}
}

/*
 * A duration of single calls. "<": it is less than what can be measured, or at most that, as ends
 * were not seen; "~": about that.
 */
static void make_measured(const struct call_stats *stats, enum show_column column, uint64_t value,
			  char *to, size_t size)
{
	uint64_t error = call_stats_error(stats);
	bool is_bound = value < error || stats->inferred > stats->calls / 100;
	bool is_quantile = column == SHOW_P50 || column == SHOW_P99;
	bool is_marked = is_bound || (stats->latency.is_coarse && is_quantile);

	if (is_marked)
		*to = is_bound ? '<' : '~';
	if (is_quantile && value >= error)
		text_quantile(to + is_marked, size - is_marked, value, stats->max);
	else
		text_duration(to + is_marked, size - is_marked, value < error ? error : value);
}

/*
 * A time of which much may be others', as ends were not seen, is a bound: "<1.5 s". So is one that
 * is less than what the tracer's own cost, which was taken off each call, is known to.
 */
static void make_time(uint64_t ns, uint64_t unsure, uint64_t error, char *to, size_t size)
{
	bool is_bound = unsure > ns / 100 || ns < error;

	if (is_bound)
		*to = '<';
	text_duration(to + is_bound, size - is_bound, ns < error ? error : ns);
}

/*
 * "-" stands where there is nothing to say: no call that counts, or none whose duration is known.
 */
static void make_cell(const struct function *f, const struct view *view, enum show_column column,
		      char *to, size_t size)
{
	static const struct call_stats none;
	const struct call_stats *stats = f->calls[TREE_NOW] ? f->calls[TREE_NOW] : &none;
	uint64_t value = 0;

	snprintf(to, size, "-");
	if (measured_value(stats, column, &value)) {
		if (stats->measured)
			make_measured(stats, column, value, to, size);
		return;
	}
	if (column == SHOW_TOTAL)
		make_time(f->total[TREE_NOW], function_unsure_total(f, TREE_NOW), stats->error, to,
			  size);
	else if (column == SHOW_SELF)
		make_time(f->self[TREE_NOW], function_unsure_self(f, TREE_NOW), stats->error, to,
			  size);
	else if (column == SHOW_CALLS && stats->calls)
		text_count(to, size, stats->calls);
	else if (column == SHOW_PERCENT)
		snprintf(to, size, "%.2f%%", words_percent(f->total[TREE_NOW], view->total));
	else if (column == SHOW_SELF_PERCENT)
		snprintf(to, size, "%.2f%%", words_percent(f->self[TREE_NOW], view->total));
	else if (column == SHOW_INFERRED && stats->calls)
		text_count(to, size, stats->inferred);
	else if (column == SHOW_ON_CPU && stats->calls)
		text_duration(to, size, function_on_cpu(f, TREE_NOW));
}

static int print_rows(const struct report *report, const struct function *const *rows,
		      const struct show_options *options, FILE *out)
{
	size_t all = report->functions.count, count = words_rows(all, options->limit), width, n;
	const enum show_column *chosen = options->columns;
	size_t numbers = 0, room;
	int err;

	n = options->column_count;
	if (!n) {
		chosen = default_columns;
		n = sizeof(default_columns) / sizeof(default_columns[0]);
	}
	for (size_t i = 0; i < n; i++)
		numbers += (size_t)columns[chosen[i]].width + 1;
	room = table_room_for_names(rows, count, options, numbers + 1);
	err = table_measure_names(rows, count, options, room, &width);
	fprintf(out, "\n%s", options->color ? TABLE_BOLD : "");
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%*s ", columns[chosen[i]].width, columns[chosen[i]].title);
	fprintf(out, " %-*s  %s%s\n", (int)width, "FUNCTION", "IMAGE",
		options->color ? TABLE_PLAIN : "");
	for (size_t row = 0; !err && row < count; row++) {
		for (size_t i = 0; i < n; i++) {
			char cell[32];

			make_cell(rows[row], &report->view, chosen[i], cell, sizeof(cell));
			fprintf(out, "%*s ", columns[chosen[i]].width, cell);
		}
		fputc(' ', out);
		err = table_print_names(rows[row], options, room, width, out);
	}
	table_print_rest(rows, all, count, report->view.total, out);
	table_print_legend(rows, count, true, out);
	return err;
}

int show_call_table(const struct report *report, const struct show_options *options, FILE *out)
{
	enum function_order order = options->order ? options->order : FUNCTIONS_BY_TOTAL;
	const struct function **rows;
	int err;

	words_heading(&report->view, out);
	if (!report->functions.count)
		return 0;
	rows = functions_in_order(&report->functions, order);
	err = rows ? print_rows(report, rows, options, out) : -ENOMEM;
	free(rows);
	call_notes(report, out);
	return err;
}
