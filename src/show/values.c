// SPDX-License-Identifier: Apache-2.0
#include "show/values.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "query/call_values.h"
#include "query/served.h"
#include "query/values.h"
#include "show/inspect_heat.h"
#include "show/inspect_summary.h"

struct showing {
	const struct film *film;
	struct call_names names;
	struct served served;		 /* of a film with requests */
	struct inspect_summary *summary; /* null: calls are printed one by one */
	struct inspect_heat *heat;	 /* null: not asked for */
	FILE *out;
	bool is_json;
	uint64_t calls, shortened;
};

/*
 * What a goroutine did is known to be for a request only where the film knows when it ran: others
 * run on the same thread in turn.
 */
static void find_request(const struct showing *s, const struct valued_call *call,
			 struct inspect_line *line)
{
	const struct served_request *request =
		!call->goroutine || s->served.has_goroutines
			? served_request_at(&s->served, call->thread, call->end - call->duration)
			: NULL;

	line->request = request ? request->name : NULL;
	line->endpoint = request ? request->endpoint : NULL;
}

static int print_call(void *context, const struct valued_call *call)
{
	struct showing *s = context;
	const struct film_thread *thread = &s->film->threads[call->thread];
	const struct film_process *process = &s->film->processes[thread->process];
	struct inspect_line line = {
		.wall = call->end - call->duration + (uint64_t)s->film->info.wall_offset,
		.pid = process->pid,
		.tid = thread->tid,
		.goroutine = call->goroutine,
		.comm = thread->comm,
		.function = call_names_of(&s->names, call->frame),
		.arguments = &call->arguments,
		.results = &call->results,
		.has_end = valued_call_has_end(call),
		.waits_for_end = !(call->flags & FILM_CALL_BEGAN),
		.latency = call->duration,
	};
	int err = 0;

	if (!line.function)
		return -ENOMEM;
	find_request(s, call, &line);
	s->calls++;
	if (s->heat)
		err = inspect_heat_add(s->heat, &line);
	if (!err && s->summary)
		err = inspect_summary_add(s->summary, &line);
	else if (!err && s->is_json)
		inspect_print_json(s->out, &line);
	else if (!err)
		s->shortened += inspect_print_text(s->out, &line);
	return err;
}

/* "arg.id" is the argument id. */
static const char *path_of(const char *by)
{
	return !strncmp(by, "arg.", 4) ? by + 4 : by;
}

static int walk(struct showing *s, struct film *film, const struct question *q, struct fail *why)
{
	uint64_t broken = 0;
	int err = call_names_init(&s->names, film);

	s->film = film;
	if (q->by_value && !s->heat)
		s->heat = inspect_heat_new(path_of(q->by_value));
	if (q->by_value && !s->heat)
		err = -ENOMEM;
	if (err)
		return fail_errno(why, err, NULL, "cannot show the values");
	if (requests_event(film))
		err = served_load_each(&s->served, film, why);
	if (err)
		return err;
	err = values_each(film, q, print_call, s, &broken, why);
	if (err == -ENOMEM)
		fail_errno(why, err, NULL, "cannot show the values");
	if (!err && s->heat && s->calls && !inspect_heat_count(s->heat))
		err = fail(why, -ENOENT, "--format values shows which there are",
			   "no call with an end that was seen has a value '%s'",
			   path_of(q->by_value));
	if (!err && broken)
		fprintf(stderr, "stackcam: %llu calls of the film have damaged values\n",
			(unsigned long long)broken);
	return err;
}

static void end(struct showing *s)
{
	inspect_summary_free(s->summary);
	inspect_heat_free(s->heat);
	call_names_free(&s->names);
	served_free(&s->served);
}

static int summed(struct showing *s, struct film *film, const struct question *q, struct fail *why)
{
	s->summary = inspect_summary_new();
	if (!s->summary)
		return fail_errno(why, -ENOMEM, NULL, "cannot show the values");
	return walk(s, film, q, why);
}

int show_values(struct film *film, const struct question *q, const struct show_options *options,
		FILE *out, uint64_t *samples, struct fail *why)
{
	struct showing s = {.out = out};
	int err = summed(&s, film, q, why);

	(void)options;
	*samples = s.calls;
	if (!err && s.heat)
		inspect_heat_print_text(s.heat, out);
	else if (!err)
		inspect_summary_print_text(s.summary, out);
	end(&s);
	return err;
}

int show_values_json(struct film *film, const struct question *q,
		     const struct show_options *options, FILE *out, uint64_t *samples,
		     struct fail *why)
{
	struct showing s = {.out = out};
	struct json j = {.out = out};
	int err = summed(&s, film, q, why);

	(void)options;
	*samples = s.calls;
	if (!err && s.calls) {
		json_open(&j, NULL, '{');
		inspect_summary_put_json(s.summary, SIZE_MAX, &j);
		if (s.heat)
			inspect_heat_put_json(s.heat, SIZE_MAX, &j);
		json_close(&j, '}');
		putc('\n', out);
	}
	end(&s);
	return err;
}

static int one_by_one(struct film *film, const struct question *q, FILE *out, bool is_json,
		      uint64_t *samples, struct fail *why)
{
	struct showing s = {.out = out, .is_json = is_json};
	int err = walk(&s, film, q, why);

	*samples = s.calls;
	if (s.shortened)
		fprintf(stderr,
			"stackcam: %llu calls with values shortened to \"…\"; --format "
			"inspect-json shows all of them\n",
			(unsigned long long)s.shortened);
	end(&s);
	return err;
}

int show_inspect(struct film *film, const struct question *q, const struct show_options *options,
		 FILE *out, uint64_t *samples, struct fail *why)
{
	(void)options;
	return one_by_one(film, q, out, false, samples, why);
}

int show_inspect_json(struct film *film, const struct question *q,
		      const struct show_options *options, FILE *out, uint64_t *samples,
		      struct fail *why)
{
	(void)options;
	return one_by_one(film, q, out, true, samples, why);
}
