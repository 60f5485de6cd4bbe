// SPDX-License-Identifier: Apache-2.0
#include "show/summary.h"

#include "base/json.h"
#include "query/report.h"
#include "show/json_film.h"

static void put_span(struct json *j, const struct summary *s)
{
	char time[64];

	json_open(j, "span", '{');
	film_rfc3339(&s->film->info, s->from, time, sizeof(time));
	json_text(j, "from", time);
	film_rfc3339(&s->film->info, s->to, time, sizeof(time));
	json_text(j, "to", time);
	json_close(j, '}');
}

static void put_event(struct json *j, const struct summary *s, const struct summary_event *row)
{
	const struct film_event *event = &s->film->events[row->event];
	char time[64];

	json_open(j, NULL, '{');
	json_text(j, "name", event->name);
	json_text(j, "unit", event->unit);
	json_u64(j, "samples", row->samples);
	if (row->has_total)
		json_u64(j, "total", row->total);
	if (row->peak) {
		film_rfc3339(&s->film->info, row->peak, time, sizeof(time));
		json_text(j, "peak_time", time);
	}
	if (row->has_stacks)
		json_u64(j, "complete", row->complete);
	json_put_reasons(j, "loss", &row->losses);
	json_close(j, '}');
}

static void put_processes(struct json *j, const struct summary *s)
{
	json_open(j, "processes", '[');
	vec_foreach (&s->processes, row) {
		const struct film_process *process = &s->film->processes[row->process];

		json_open(j, NULL, '{');
		json_u64(j, "pid", process->pid);
		json_text(j, "comm", process->comm);
		json_text(j, "event", s->film->events[s->measure].name);
		json_u64(j, "total", row->total);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_finding(struct json *j, const struct summary *s, const struct summary_finding *f)
{
	bool is_of_requests = f->kind == SUMMARY_ENDPOINT || f->kind == SUMMARY_REQUEST;

	json_open(j, NULL, '{');
	json_text(j, "kind", summary_words(f->kind)->name);
	json_text(j, "event", s->film->events[f->event].name);
	json_text(j, "subject", f->subject);
	if (*f->detail)
		json_text(j, "detail", f->detail);
	if (*f->id)
		json_text(j, "id", f->id);
	json_u64(j, "value", f->value);
	json_text(j, "unit", is_of_requests ? "ns" : s->film->events[f->event].unit);
	if (f->whole)
		json_u64(j, "whole", f->whole);
	if (f->count)
		json_u64(j, "count", f->count);
	if (f->median)
		json_u64(j, "p50", f->median);
	if (f->p99)
		json_u64(j, "p99", f->p99);
	if (f->longest)
		json_u64(j, "longest", f->longest);
	if (f->failed)
		json_u64(j, "failed", f->failed);
	json_close(j, '}');
}

int show_summary_json(struct film *film, const struct question *q,
		      const struct show_options *options, FILE *out, uint64_t *samples,
		      struct fail *why)
{
	struct json j = {.out = out};
	struct summary s;
	int err = summary_make(film, q, &(struct summary_wanted){0}, &s, why);

	(void)options;
	*samples = 1;
	if (!err) {
		json_open(&j, NULL, '{');
		json_text(&j, "schema", "stackcam/summary/1");
		json_put_film(&j, film, film->info.start, film->info.end);
		put_span(&j, &s);
		json_u64(&j, "process_count", s.process_count);
		json_u64(&j, "thread_count", s.thread_count);
		json_open(&j, "events", '[');
		vec_foreach (&s.events, row)
			put_event(&j, &s, row);
		json_close(&j, ']');
		json_put_reasons(&j, "loss", &s.losses);
		put_processes(&j, &s);
		json_open(&j, "findings", '[');
		vec_foreach (&s.findings, f)
			put_finding(&j, &s, f);
		json_close(&j, ']');
		json_close(&j, '}');
		fputc('\n', out);
	}
	summary_free(&s);
	return err;
}
