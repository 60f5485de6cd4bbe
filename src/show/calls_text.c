// SPDX-License-Identifier: Apache-2.0
#include "show/replay.h"

#include <errno.h>

#include "query/call_values.h"

struct calls_text {
	const struct film *film;
	struct call_names names;
	struct call_lines *lines;
	struct call_values values;
};

static int add_event(void *context, const struct call_event *event)
{
	static const enum call_line_kind kinds[] = {
		[CALL_EVENT_BEGIN] = CALL_BEGINS,
		[CALL_EVENT_END] = CALL_ENDS,
		[CALL_EVENT_GAP] = CALL_GAP,
	};
	struct calls_text *t = context;
	const struct film_call *call = event->call;
	const struct film_thread *thread = &t->film->threads[call->thread];
	const struct film_process *process = &t->film->processes[thread->process];
	struct call_line line = {
		.kind = kinds[event->kind],
		.time = event->time,
		.pid = process->pid,
		.tid = thread->tid,
		.lane = call->lane,
		.depth = event->level < UINT16_MAX ? (uint16_t)event->level : UINT16_MAX,
		.cpu = call->cpu,
		.comm = process->comm,
		.name = call_names_of(&t->names, call->frame),
		.duration = event->duration,
		.error = event->error,
		.waited = call->waited,
		.inferred = call->flags & FILM_CALL_INFERRED,
		.open = call->flags & FILM_CALL_OPEN,
		.unknown = call->flags & FILM_CALL_UNKNOWN,
	};

	if (event->kind == CALL_EVENT_BEGIN)
		line.values = call_values_text(&t->values, call);
	else if (event->kind == CALL_EVENT_END)
		line.values = call_values_returned(&t->values, call);

	if (!line.name)
		return -ENOMEM;
	/* it is still running where the span ends: call_lines_end() says so */
	if (event->kind == CALL_EVENT_END && event->is_beyond)
		return 0;
	return call_lines_add(t->lines, &line);
}

int show_calls_text(struct film *film, const struct replay_question *q,
		    const struct call_lines_options *options, FILE *out, struct replay_sums *sums,
		    struct fail *why)
{
	struct calls_text t = {.film = film};
	int err = call_names_init(&t.names, film), ended;

	if (!err && !q->no_values)
		err = call_values_read(film, q, &t.values, why);
	if (!err)
		err = call_lines_new(out, options, &t.lines);
	if (!err) {
		err = replay_film(film, q, add_event, &t, sums, why);
		ended = call_lines_end(t.lines);
		err = err ? err : ended;
	}
	call_values_warn(&t.values);
	call_values_free(&t.values);
	call_names_free(&t.names);
	return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot replay the film") : err;
}
