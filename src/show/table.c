// SPDX-License-Identifier: Apache-2.0
#include "show/show.h"

#include <errno.h>
#include <stdlib.h>

#include "base/text.h"
#include "show/call_notes.h"
#include "show/groups.h"
#include "show/table_names.h"
#include "show/words.h"

/* The columns of a table before its names, with the space after them. */
enum {
	REPORT_NUMBERS = 48,
	DIFF_NUMBERS = 54,
	CALLS_NUMBERS = 23
};

static int print_rows(const char *unit, uint64_t whole, const struct function *const *rows,
		      size_t all, const struct show_options *options, FILE *out)
{
	size_t count = words_rows(all, options->limit), width;
	size_t room = table_room_for_names(rows, count, options, REPORT_NUMBERS);
	int err = table_measure_names(rows, count, options, room, &width);

	fprintf(out, "\n%s%13s %7s %13s %7s  %-*s  %s%s\n", options->color ? TABLE_BOLD : "",
		"Self", "Self%", "Total", "Total%", (int)width, "Function", "Image",
		options->color ? TABLE_PLAIN : "");
	for (size_t i = 0; !err && i < count; i++) {
		const struct function *f = rows[i];
		char self[32], total[32];

		words_value(self, sizeof(self), unit, f->self[TREE_NOW]);
		words_value(total, sizeof(total), unit, f->total[TREE_NOW]);
		fprintf(out, "%13s %6.2f%% %13s %6.2f%%  ", self,
			words_percent(f->self[TREE_NOW], whole), total,
			words_percent(f->total[TREE_NOW], whole));
		err = table_print_names(f, options, room, width, out);
	}
	table_print_rest(rows, all, count, whole, out);
	table_print_legend(rows, count, false, out);
	return err;
}

int show_table(const struct report *report, const struct show_options *options, FILE *out)
{
	const struct function **rows;
	int err;

	if (report->view.calls && !report->groups.count)
		return show_call_table(report, options, out);
	words_heading(&report->view, out);
	if (!report->functions.count)
		return 0;
	if (report->groups.count) {
		err = show_groups(report, options, out);
		if (report->view.calls)
			call_notes(report, out);
		return err;
	}
	rows = functions_in_order(&report->functions, options->order);
	err = rows ? print_rows(report->view.event->unit, report->view.total, rows,
				report->functions.count, options, out)
		   : -ENOMEM;
	free(rows);
	return err;
}

int show_flame_table(const struct flame *flame, const struct functions *functions,
		     const struct show_options *options, FILE *out)
{
	const struct function **rows = functions_in_order(functions, options->order);
	char total[32];
	int err = 0;

	words_value(total, sizeof(total), flame->unit, flame->nodes[0].total);
	text_print_safe(out, flame->title);
	fprintf(out, "\ntotal:  %s\n", total);
	if (rows && functions->count)
		err = print_rows(flame->unit, flame->nodes[0].total, rows, functions->count,
				 options, out);
	free(rows);
	return rows ? err : -ENOMEM;
}

/* Two numbers of calls, where the films have some. */
static void print_calls(const struct function *f, FILE *out)
{
	for (int side = TREE_NOW; side <= TREE_BEFORE; side++) {
		char count[32];

		text_count(count, sizeof(count), f->calls[side] ? f->calls[side]->calls : 0);
		fprintf(out, "%10s ", count);
	}
	fputc(' ', out);
}

static int print_diff_rows(const struct function *const *rows, size_t all, const uint64_t whole[2],
			   bool has_calls, const struct show_options *options, FILE *out)
{
	size_t count = words_rows(all, options->limit), width;
	size_t numbers = DIFF_NUMBERS + (has_calls ? CALLS_NUMBERS : 0);
	size_t room = table_room_for_names(rows, count, options, numbers);
	int err = table_measure_names(rows, count, options, room, &width);

	fprintf(out, "\n%s%8s %8s %8s  %8s %8s %8s  ", options->color ? TABLE_BOLD : "", "Self%",
		"before", "change", "Total%", "before", "change");
	if (has_calls)
		fprintf(out, "%10s %10s  ", "Calls", "before");
	fprintf(out, "%-*s  %s%s\n", (int)width, "Function", "Image",
		options->color ? TABLE_PLAIN : "");
	for (size_t i = 0; !err && i < count; i++) {
		const struct function *f = rows[i];

		fprintf(out, "%7.2f%% %7.2f%% %+8.2f  %7.2f%% %7.2f%% %+8.2f  ",
			words_percent(f->self[TREE_NOW], whole[TREE_NOW]),
			words_percent(f->self[TREE_BEFORE], whole[TREE_BEFORE]),
			100 * diff_growth(f->self, whole),
			words_percent(f->total[TREE_NOW], whole[TREE_NOW]),
			words_percent(f->total[TREE_BEFORE], whole[TREE_BEFORE]),
			100 * diff_growth(f->total, whole));
		if (has_calls)
			print_calls(f, out);
		err = table_print_names(f, options, room, width, out);
	}
	table_print_rest(rows, all, count, whole[TREE_NOW], out);
	table_print_legend(rows, count, has_calls, out);
	return err;
}

/* The functions as they stand. */
static int print_diff(const struct functions *functions, const uint64_t whole[2], bool has_calls,
		      const struct show_options *options, FILE *out)
{
	const struct function **rows;
	int err;

	if (!functions->count)
		return 0;
	rows = functions_in_order(functions, FUNCTIONS_AS_THEY_ARE);
	err = rows ? print_diff_rows(rows, functions->count, whole, has_calls, options, out)
		   : -ENOMEM;
	free(rows);
	return err;
}

int show_diff_table(const struct diff *diff, const struct show_options *options, FILE *out)
{
	const uint64_t whole[] = {diff->now.total, diff->before.total};

	fputs("before: ", out);
	words_heading(&diff->before, out);
	fputs("\nnow:    ", out);
	words_heading(&diff->now, out);
	return print_diff(&diff->functions, whole, diff->now.calls, options, out);
}

int show_flame_diff_table(const struct flame *flame, const struct functions *functions,
			  const uint64_t whole[2], const struct show_options *options, FILE *out)
{
	static const char *const names[] = {"now:    ", "before: "};

	text_print_safe(out, flame->title);
	fputc('\n', out);
	for (int side = TREE_BEFORE; side >= TREE_NOW; side--) {
		char total[32];

		words_value(total, sizeof(total), flame->unit, whole[side]);
		fprintf(out, "%s%s\n", names[side], total);
	}
	return print_diff(functions, whole, false, options, out);
}
