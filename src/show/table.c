// SPDX-License-Identifier: Apache-2.0
#include "film/events.h"
#include "show/show.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "show/call_notes.h"
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

enum {
	COLUMN_WIDTH_MAX = 40,
	COLUMN_WIDTH_MIN = 8
};

/* A column of names, left of the one that ends the line. */
struct column {
	const char *title;
	char *(*name)(const struct group *group); /* harmless, to be freed; null: no memory */
	size_t width;
};

struct columns {
	struct column at[14];
	size_t count;
};

/* "redis-server (1234)" */
static char *numbered(const char *comm, uint32_t number)
{
	char *safe = text_safe(*comm ? comm : NAME_UNKNOWN, ""), *name = NULL;

	if (safe && asprintf(&name, "%s (%u)", safe, number) < 0)
		name = NULL;
	free(safe);
	return name;
}

static char *name_process(const struct group *group)
{
	const struct film_process *process = group->process;

	if (group->processes)
		return text_safe(group->processes, "");
	return numbered(process->comm, process->pid);
}

static char *name_versions(const struct group *group)
{
	return text_safe(group->versions ? group->versions : "", "");
}

static char *name_environments(const struct group *group)
{
	return text_safe(group->environments ? group->environments : "", "");
}

static char *name_thread(const struct group *group)
{
	return numbered(group->thread->comm, group->thread->tid);
}

static char *name_cpu(const struct group *group)
{
	return text_safe(group->cpu->name, "");
}

static char *name_endpoint(const struct group *group)
{
	return text_safe(group->endpoint->name, "");
}

static char *name_wait(const struct group *group)
{
	return text_safe(group->wait->name, "");
}

static char *name_waker(const struct group *group)
{
	return text_safe(group->waker->name, "");
}

static char *name_lock(const struct group *group)
{
	return text_safe(group->lock->name, "");
}

static char *name_holder(const struct group *group)
{
	return text_safe(group->holder->name, "");
}

static char *name_holders(const struct group *group)
{
	return text_safe(group->holders, "");
}

static char *name_longest(const struct group *group)
{
	char words[32], *name = NULL;

	words_value(words, sizeof(words), event_type(EVENT_LOCK)->unit, group->longest);
	return asprintf(&name, "%13s", words) < 0 ? NULL : name;
}

static char *name_waits(const struct group *group)
{
	char words[32], *name = NULL;

	text_count(words, sizeof(words), group->waits);
	return asprintf(&name, "%9s", words) < 0 ? NULL : name;
}

static char *name_image(const struct group *group)
{
	return text_safe(group->image->name, "");
}

static const char *title_of_processes(const struct group *group)
{
	static const struct {
		const char *key, *title;
	} titles[] = {{"cgroup", "Control group"},
		      {"container", "Container"},
		      {"user", "User"},
		      {"service", "Service"}};

	for (size_t i = 0; group->processes && i < sizeof(titles) / sizeof(titles[0]); i++)
		if (!strcmp(group->processes_key, titles[i].key))
			return titles[i].title;
	return "Process";
}

/* What some services are known to be, not each. */
static void choose_service_columns(const struct groups *groups, struct columns *columns)
{
	bool has_versions = false, has_environments = false;

	vec_foreach (groups, group) {
		has_versions |= !!group->versions;
		has_environments |= !!group->environments;
	}
	if (has_versions)
		columns->at[columns->count++] = (struct column){"Version", name_versions, 0};
	if (has_environments)
		columns->at[columns->count++] =
			(struct column){"Environment", name_environments, 0};
}

static void choose_columns(const struct groups *groups, struct columns *columns)
{
	const struct group *first = groups->at;

	*columns = (struct columns){0};
	if (first->process)
		columns->at[columns->count++] =
			(struct column){title_of_processes(first), name_process, 0};
	choose_service_columns(groups, columns);
	if (first->thread)
		columns->at[columns->count++] = (struct column){"Thread", name_thread, 0};
	if (first->cpu)
		columns->at[columns->count++] = (struct column){"CPU", name_cpu, 0};
	if (first->endpoint)
		columns->at[columns->count++] = (struct column){"Endpoint", name_endpoint, 0};
	if (first->wait)
		columns->at[columns->count++] = (struct column){"Waited for", name_wait, 0};
	if (first->lock || first->holder) {
		columns->at[columns->count++] = (struct column){"    Waits", name_waits, 0};
		columns->at[columns->count++] = (struct column){"      Longest", name_longest, 0};
	}
	if (first->lock)
		columns->at[columns->count++] = (struct column){"Lock", name_lock, 0};
	if (first->holders)
		columns->at[columns->count++] = (struct column){"Held by", name_holders, 0};
	if (first->holder)
		columns->at[columns->count++] = (struct column){"Held by", name_holder, 0};
	if (first->waker)
		columns->at[columns->count++] = (struct column){"Woken by", name_waker, 0};
	if (first->image)
		columns->at[columns->count++] = (struct column){"Image", name_image, 0};
}

static int measure(struct columns *columns, const struct group *rows, size_t count)
{
	for (size_t i = 0; i + 1 < columns->count; i++) {
		struct column *column = &columns->at[i];

		column->width = strlen(column->title);
		for (size_t row = 0; row < count; row++) {
			char *name = column->name(&rows[row]);
			size_t width = name ? words_width(name) : 0;

			if (!name)
				return -ENOMEM;
			free(name);
			if (width > column->width)
				column->width = width;
		}
		if (column->width > COLUMN_WIDTH_MAX)
			column->width = COLUMN_WIDTH_MAX;
	}
	return 0;
}

/* How many samples a mark stands for is not counted. */
static bool is_of_marks(const struct group *group)
{
	return group->cpu || group->endpoint || group->wait || group->waker || group->lock ||
	       group->holder;
}

static void print_title(const struct report *report, const struct columns *columns,
			const struct show_options *options, FILE *out)
{
	fprintf(out, "\n%s", options->color ? "\033[1m" : "");
	if (report->groups.at->image)
		fprintf(out, "%13s %7s %13s %7s", "Self", "Self%", "Total", "Total%");
	else if (is_of_marks(report->groups.at))
		fprintf(out, "%13s %7s", "Total", "Total%");
	else
		fprintf(out, "%13s %7s %9s", "Total", "Total%",
			report->view.calls ? "Calls" : "Samples");
	for (size_t i = 0; i < columns->count; i++)
		fprintf(out, "  %-*s", (int)columns->at[i].width, columns->at[i].title);
	fprintf(out, "%s\n", options->color ? "\033[0m" : "");
}

/* Returns how many columns of the terminal they take. */
static int print_numbers(const struct view *view, const struct group *group, FILE *out)
{
	char self[32], total[32];

	words_value(self, sizeof(self), view->event->unit, group->self);
	words_value(total, sizeof(total), view->event->unit, group->total);
	if (group->image)
		return fprintf(out, "%13s %6.2f%% %13s %6.2f%%", self,
			       words_percent(group->self, view->total), total,
			       words_percent(group->total, view->total));
	if (is_of_marks(group))
		return fprintf(out, "%13s %6.2f%%", total,
			       words_percent(group->total, view->total));
	text_count(self, sizeof(self), group->samples);
	return fprintf(out, "%13s %6.2f%% %9s", total, words_percent(group->total, view->total),
		       self);
}

static int print_names(const struct group *group, const struct columns *columns,
		       const struct show_options *options, size_t used, FILE *out)
{
	for (size_t i = 0; i < columns->count; i++) {
		const struct column *column = &columns->at[i];
		char *name = column->name(group);
		size_t room = options->width > used + 2 + COLUMN_WIDTH_MIN
				      ? options->width - used - 2
				      : COLUMN_WIDTH_MIN;

		if (!name)
			return -ENOMEM;
		fputs("  ", out);
		if (i + 1 < columns->count)
			words_column(out, name, column->width);
		else if (options->width && words_width(name) > room)
			words_column(out, name, room);
		else
			fputs(name, out);
		used += 2 + column->width;
		free(name);
	}
	fputc('\n', out);
	return 0;
}

/* The rows of a table by process, thread or image, below its heading. Returns 0 or -ENOMEM. */
static int show_groups(const struct report *report, const struct show_options *options, FILE *out)
{
	const struct groups *groups = &report->groups;
	size_t count = words_rows(groups->count, options->limit);
	struct columns columns;
	uint64_t rest = 0;
	int err;

	choose_columns(groups, &columns);
	err = measure(&columns, groups->at, count);
	if (err)
		return err;
	print_title(report, &columns, options, out);
	for (size_t i = 0; !err && i < count; i++) {
		int used = print_numbers(&report->view, &groups->at[i], out);

		err = print_names(&groups->at[i], &columns, options, used > 0 ? (size_t)used : 0,
				  out);
	}
	for (size_t i = count; i < groups->count; i++)
		rest += groups->at[i].self;
	words_rest(groups->count - count, rest, report->view.total, out);
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
