// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/names.h"
#include "show/call_notes.h"
#include "show/json_film.h"
#include "show/show.h"

static void put_span(struct json *j, const struct view *view)
{
	char time[64];

	json_open(j, "span", '{');
	film_rfc3339(&view->film->info, view->from, time, sizeof(time));
	json_text(j, "from", time);
	film_rfc3339(&view->film->info, view->to, time, sizeof(time));
	json_text(j, "to", time);
	json_close(j, '}');
}

static void put_event(struct json *j, const struct view *view)
{
	char time[64];

	json_open(j, "event", '{');
	json_text(j, "name", view->event->name);
	json_text(j, "unit", view->event->unit);
	json_u64(j, "total", view->total);
	if (view->peak.time) {
		film_rfc3339(&view->film->info, view->peak.time, time, sizeof(time));
		json_u64(j, "peak", view->peak.value);
		json_text(j, "peak_time", time);
	}
	json_text(j, "source", view->event->source);
	json_u64(j, "frequency", view->event->frequency);
	json_close(j, '}');
}

static void put_stacks(struct json *j, const struct view *view)
{
	json_open(j, "stacks", '{');
	json_u64(j, "samples", view->samples);
	json_u64(j, "complete", view->stacks.complete);
	json_u64(j, "truncated", view->stacks.truncated);
	json_put_reasons(j, "reasons", &view->stacks.reasons);
	json_u64(j, "guessed", view->stacks.guessed);
	json_u64(j, "gaps", view->stacks.gaps);
	json_close(j, '}');
}

/* What may not be of the request that was asked for, or may lack. */
static void put_request(struct json *j, const struct view *view)
{
	if (!view->others && !view->unplaced && !view->unlinked)
		return;
	json_open(j, "request", '{');
	json_u64(j, "shared", view->others);
	json_u64(j, "not_known", view->unplaced);
	json_put_unlinked(j, view->unlinked);
	json_close(j, '}');
}

static void put_view(struct json *j, const struct view *view)
{
	put_span(j, view);
	put_event(j, view);
	json_put_reasons(j, "loss", &view->losses);
	put_stacks(j, view);
	put_request(j, view);
}

static const char *kind_name(const struct label *label)
{
	return film_frame_kind_name(label->kind);
}

static void open_function(struct json *j, const struct function *f)
{
	json_open(j, NULL, '{');
	json_text(j, "name", f->label->name);
	json_text(j, "image", f->label->image);
	json_text(j, "kind", kind_name(f->label));
	if (*f->label->file) {
		json_text(j, "file", f->label->file);
		json_u64(j, "line", f->label->line);
	}
	json_bool(j, "guessed", f->guess);
}

struct process_total {
	uint32_t process;
	uint64_t total;
};

static int most_first(const void *a, const void *b)
{
	const struct process_total *x = a, *y = b;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x->process < y->process ? -1 : x->process > y->process;
}

static int put_processes(struct json *j, const struct view *view)
{
	const struct film *film = view->film;
	struct process_total *totals = calloc(film->process_count + 1ull, sizeof(*totals));

	if (!totals)
		return -ENOMEM;
	for (uint32_t i = 0; i < film->process_count; i++)
		totals[i] = (struct process_total){i, view->processes ? view->processes[i] : 0};
	qsort(totals, film->process_count, sizeof(*totals), most_first);

	json_open(j, "processes", '[');
	for (uint32_t i = 0; i < film->process_count && totals[i].total; i++) {
		const struct film_process *process = &film->processes[totals[i].process];

		json_open(j, NULL, '{');
		json_u64(j, "pid", process->pid);
		json_text(j, "comm", process->comm);
		json_text(j, "command", process->command);
		json_u64(j, "total", totals[i].total);
		json_close(j, '}');
	}
	json_close(j, ']');
	free(totals);
	return 0;
}

/* Null: not known. */
static void put_cpu(struct json *j, const char *name)
{
	uint32_t number;

	if (name_cpu_number(name, &number))
		json_u64(j, "cpu", number);
	else
		json_null(j, "cpu");
}

/* Empty where nothing was asked for by process, thread or image. */
static void put_groups(struct json *j, const struct groups *groups)
{
	json_open(j, "groups", '[');
	vec_foreach (groups, group) {
		json_open(j, NULL, '{');
		if (group->process) {
			if (!group->processes)
				json_u64(j, "pid", group->process->pid);
			json_text(j, group->processes ? group->processes_key : "process",
				  group->processes ? group->processes : group->process->comm);
		}
		if (group->versions)
			json_text(j, "version", group->versions);
		if (group->environments)
			json_text(j, "environment", group->environments);
		if (group->thread) {
			json_u64(j, "tid", group->thread->tid);
			json_text(j, "thread", group->thread->comm);
		}
		if (group->cpu)
			put_cpu(j, group->cpu->name);
		if (group->endpoint)
			json_text(j, "endpoint", group->endpoint->name);
		if (group->wait)
			json_text(j, "wait", group->wait->name);
		if (group->waker)
			json_text(j, "waker", group->waker->name);
		if (group->lock)
			json_text(j, "lock", group->lock->name);
		if (group->holder)
			json_text(j, "holder", group->holder->name);
		if (group->holders)
			json_text(j, "holders", group->holders);
		if (group->lock || group->holder) {
			json_u64(j, "waits", group->waits);
			json_u64(j, "longest", group->longest);
		}
		if (group->image)
			json_text(j, "image",
				  *group->image->image ? group->image->image : group->image->name);
		else if (!group->cpu && !group->endpoint && !group->wait && !group->waker &&
			 !group->lock && !group->holder)
			json_u64(j, "samples", group->samples);
		json_u64(j, "self", group->self);
		json_u64(j, "total", group->total);
		json_close(j, '}');
	}
	json_close(j, ']');
}

/* Durations of single calls are null where none is known. */
static void put_measure(struct json *j, const char *key, const struct call_stats *stats,
			uint64_t value)
{
	if (stats->measured)
		json_u64(j, key, value);
	else
		json_null(j, key);
}

static void put_calls(struct json *j, const struct function *f, bool is_summary)
{
	static const struct call_stats none;
	const struct call_stats *stats = f->calls[TREE_NOW] ? f->calls[TREE_NOW] : &none;

	json_u64(j, "calls", stats->calls);
	put_measure(j, "min", stats, stats->min);
	put_measure(j, "max", stats, stats->max);
	put_measure(j, "avg", stats, call_stats_average(stats));
	put_measure(j, "p50", stats, call_stats_quantile(stats, 500));
	put_measure(j, "p99", stats, call_stats_quantile(stats, 990));
	put_measure(j, "error", stats, call_stats_error(stats));
	json_u64(j, "on_cpu", function_on_cpu(f, TREE_NOW));
	json_u64(j, "inferred", stats->inferred);
	json_u64(j, "unsure_total", function_unsure_total(f, TREE_NOW));
	json_u64(j, "unsure_self", function_unsure_self(f, TREE_NOW));
	json_u64(j, "open", stats->open);
	json_u64(j, "cut", stats->cut);
	if (is_summary)
		json_null(j, "clamped");
	else
		json_u64(j, "clamped", stats->clamped);
	json_bool(j, "bound", stats->is_bound);
}

static void put_all_calls(struct json *j, const struct report *report)
{
	const struct call_view *calls = report->view.calls;

	json_open(j, "calls", '{');
	json_u64(j, "calls", calls->calls);
	json_u64(j, "inferred", calls->inferred);
	json_u64(j, "open", calls->open);
	json_u64(j, "cut", calls->cut);
	json_u64(j, "subtracted", calls->subtracted);
	json_u64(j, "bounds", call_bounds(&report->functions));
	json_bool(j, "raw", calls->is_raw);
	json_bool(j, "summary", calls->is_summary);
	json_close(j, '}');
}

static int put_functions(struct json *j, const struct report *report, enum function_order order)
{
	const struct function **rows = functions_in_order(&report->functions, order);

	json_open(j, "functions", '[');
	for (size_t i = 0; rows && i < report->functions.count; i++) {
		const struct function *f = rows[i];

		open_function(j, f);
		json_u64(j, "self", f->self[TREE_NOW]);
		json_u64(j, "total", f->total[TREE_NOW]);
		if (report->view.calls)
			put_calls(j, f, report->view.calls->is_summary);
		json_close(j, '}');
	}
	json_close(j, ']');
	free(rows);
	return rows ? 0 : -ENOMEM;
}

int show_json(const struct report *report, const struct show_options *options, FILE *out)
{
	struct json j = {.out = out};
	int err;

	json_open(&j, NULL, '{');
	json_put_film(&j, report->view.film, report->view.film->info.start,
		      report->view.film->info.end);
	put_view(&j, &report->view);
	err = put_processes(&j, &report->view);
	put_groups(&j, &report->groups);
	if (report->view.calls)
		put_all_calls(&j, report);
	if (!err)
		err = put_functions(&j, report, options->order);
	json_close(&j, '}');
	fputc('\n', out);
	return err;
}

static void put_side(struct json *j, const char *key, const struct view *view)
{
	json_open(j, key, '{');
	json_put_film(j, view->film, view->film->info.start, view->film->info.end);
	put_view(j, view);
	json_close(j, '}');
}

/* Amounts are each film's own; the changes are of shares, as parts of one. */
int show_diff_json(const struct diff *diff, const struct show_options *options, FILE *out)
{
	const struct functions *functions = &diff->functions;
	struct json j = {.out = out};

	(void)options;
	json_open(&j, NULL, '{');
	put_side(&j, "before", &diff->before);
	put_side(&j, "now", &diff->now);
	json_open(&j, "functions", '[');
	for (size_t i = 0; i < functions->count; i++) {
		const struct function *f = &functions->at[i];

		open_function(&j, f);
		json_u64(&j, "before_self", f->self[TREE_BEFORE]);
		json_u64(&j, "before_total", f->total[TREE_BEFORE]);
		json_u64(&j, "self", f->self[TREE_NOW]);
		json_u64(&j, "total", f->total[TREE_NOW]);
		if (diff->now.calls) {
			json_u64(&j, "before_calls",
				 f->calls[TREE_BEFORE] ? f->calls[TREE_BEFORE]->calls : 0);
			json_u64(&j, "calls", f->calls[TREE_NOW] ? f->calls[TREE_NOW]->calls : 0);
		}
		json_double(&j, "self_change", diff_self_growth(diff, f));
		json_double(&j, "total_change", diff_total_growth(diff, f));
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	fputc('\n', out);
	return 0;
}
