// SPDX-License-Identifier: Apache-2.0
#include "show/groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "film/events.h"
#include "query/names.h"
#include "show/words.h"

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
	struct column at[11];
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

static char *name_thread(const struct group *group)
{
	return numbered(group->thread->comm, group->thread->tid);
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
	if (group->processes && !strcmp(group->processes_key, "cgroup"))
		return "Control group";
	return group->processes && !strcmp(group->processes_key, "container") ? "Container"
									      : "Process";
}

static void choose_columns(const struct group *first, struct columns *columns)
{
	*columns = (struct columns){0};
	if (first->process)
		columns->at[columns->count++] =
			(struct column){title_of_processes(first), name_process, 0};
	if (first->thread)
		columns->at[columns->count++] = (struct column){"Thread", name_thread, 0};
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
	return group->endpoint || group->wait || group->waker || group->lock || group->holder;
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

int show_groups(const struct report *report, const struct show_options *options, FILE *out)
{
	const struct groups *groups = &report->groups;
	size_t count = words_rows(groups->count, options->limit);
	struct columns columns;
	uint64_t rest = 0;
	int err;

	choose_columns(groups->at, &columns);
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
