// SPDX-License-Identifier: Apache-2.0
#include "query/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "film/events.h"
#include "query/report.h"
#include "query/summary_find.h"

enum {
	PROCESSES_KEPT = 8,
	FOUND_MOST = 3, /* of a kind and an event, on a page of all */
};

static int most_first(const void *a, const void *b)
{
	const struct summary_process *x = a, *y = b;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x->process < y->process ? -1 : x->process > y->process;
}

/* Which processes an event's total is of. 0 or -ENOMEM. */
static int add_processes(struct summary *s, const struct view *view)
{
	for (uint32_t i = 1; i < s->film->process_count; i++)
		if (view->processes && view->processes[i] &&
		    !vec_push(&s->processes, (struct summary_process){i, view->processes[i]}))
			return -ENOMEM;
	if (!s->processes.count)
		return 0;
	s->measure = (uint32_t)(view->event - s->film->events);
	s->measured = view->total;
	qsort(s->processes.at, s->processes.count, sizeof(*s->processes.at), most_first);
	s->processes_of_all = s->processes.count;
	if (s->processes.count > PROCESSES_KEPT)
		s->processes.count = PROCESSES_KEPT;
	return 0;
}

/* A thread that has no work is not slow. */
static bool is_idle(const struct summary *s, uint32_t event)
{
	const struct event_type *type = event_of(&s->film->events[event]);

	return type == event_type(EVENT_IDLE) || type == event_type(EVENT_GO_IDLE);
}

/* What a report says of an event. 0 or a negative errno with *why filled. */
static int look_at_stacks(struct summary *s, const struct question *q, struct summary_event *row,
			  struct fail *why)
{
	struct report report;
	int err = report_make(s->film, q, false, &report, why);

	if (!err) {
		row->samples = report.view.samples;
		row->total = report.view.total;
		row->has_total = true;
		row->complete = report.view.stacks.complete;
		row->has_stacks = !report.view.calls;
		/* the first event that has them is on-cpu, as a rule */
		if ((!s->measure && add_processes(s, &report.view)) ||
		    (!is_idle(s, row->event) && summary_find_stacks(s, row->event, &report)))
			err = fail_errno(why, -ENOMEM, NULL, "cannot sum up the film");
	}
	report_free(&report);
	return err;
}

/* The options of the question that say something of an event. */
static struct question ask(const struct summary *s, const struct question *q, uint32_t event)
{
	struct question asked = {
		.event = s->film->events[event].name,
		.filter = q->filter,
		.is_raw = q->is_raw,
	};

	if (!event_of(&s->film->events[event])->is_level)
		asked.filter.grown = asked.filter.leaks = 0;
	return asked;
}

/*
 * A program that has ended holds nothing: what stands out of a level is at its peak. The question
 * becomes one that ends there.
 */
static int find_peak(struct summary *s, struct question *q, struct summary_event *row,
		     struct fail *why)
{
	struct view view;
	int err = view_open(s->film, q, VIEW_WHOLE, &view, why);

	if (!err && view.peak.time) {
		row->peak = view.peak.time;
		q->filter.to = (struct when){
			.kind = WHEN_SINCE_START,
			.ns = view.peak.time + 1 - s->film->info.start,
		};
	}
	view_free(&view);
	return err;
}

static int look_at_event(struct summary *s, const struct question *q, uint32_t event,
			 struct fail *why)
{
	const struct event_type *type = event_of(&s->film->events[event]);
	struct question asked = ask(s, q, event);
	struct summary_event row = {.event = event};
	int err = 0;

	if (type->is_level)
		err = find_peak(s, &asked, &row, why);
	if (err)
		return err;
	if (film_has_turns(s->film, event))
		err = summary_find_states(s, &asked, &row, why);
	else if (film_has_requests(s->film, event))
		err = summary_find_requests(s, &asked, &row, why);
	else if (type->has_no_samples)
		film_event_total(s->film, event, &row.samples, &row.total);
	else
		err = look_at_stacks(s, &asked, &row, why);
	/* a wait of the run queue is for a CPU alone */
	if (!err && film_has_waits(s->film, event) && summary_wants(s, SUMMARY_WAIT) &&
	    !is_idle(s, event) && type != event_type(EVENT_RUN_QUEUE))
		err = summary_find_groups(s, &asked, event, SUMMARY_WAIT, why);
	if (!err && film_has_locks(s->film, event) && summary_wants(s, SUMMARY_LOCK))
		err = summary_find_groups(s, &asked, event, SUMMARY_LOCK, why);
	if (!err && type->is_level && summary_wants(s, SUMMARY_GROWTH))
		err = summary_find_growth(s, &asked, &row, why);
	if (!err &&
	    (view_count_own_losses(&row.losses, s->film, event) || !vec_push(&s->events, row)))
		err = fail_errno(why, -ENOMEM, NULL, "cannot sum up the film");
	if (err)
		view_free_reasons(&row.losses);
	return err;
}

int summary_make(struct film *film, const struct question *q, const struct summary_wanted *wanted,
		 struct summary *summary, struct fail *why)
{
	uint32_t only = 0;
	int err;

	*summary = (struct summary){
		.film = film,
		.wanted = {.kinds = wanted->kinds ? wanted->kinds : UINT32_MAX,
			   .most = wanted->most ? wanted->most : FOUND_MOST},
		/* ids begin at 1, and the tables with a row that is not used */
		.process_count = film->process_count ? film->process_count - 1 : 0,
		.thread_count = film->thread_count ? film->thread_count - 1 : 0,
	};
	err = filter_span(&q->filter, &film->info, &summary->from, &summary->to, why);
	if (summary->from < film->info.start)
		summary->from = film->info.start;
	if (summary->to > film->info.end)
		summary->to = film->info.end;
	/* a time before or after the film, which has nothing there */
	if (summary->to < summary->from)
		summary->to = summary->from;
	if (!err && q->event)
		err = view_event(film, q->event, &only, why);
	for (uint32_t event = 1; !err && event < film->event_count; event++)
		if ((!only || event == only) &&
		    (film_has_any(film, event) || film_sum_count(film, event)))
			err = look_at_event(summary, q, event, why);
	if (!err && view_count_own_losses(&summary->losses, film, 0))
		err = fail_errno(why, -ENOMEM, NULL, "cannot sum up the film");
	return err;
}

void summary_free(struct summary *summary)
{
	vec_foreach (&summary->events, row)
		view_free_reasons(&row->losses);
	vec_foreach (&summary->findings, finding) {
		free(finding->subject);
		free(finding->detail);
		free(finding->id);
	}
	view_free_reasons(&summary->losses);
	vec_free(&summary->events);
	vec_free(&summary->processes);
	vec_free(&summary->findings);
}
