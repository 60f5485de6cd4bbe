// SPDX-License-Identifier: Apache-2.0
#include "cmd/verb.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vec.h"
#include "sources/calls/calls.h"
#include "sources/inspect/inspect.h"
#include "record/sources.h"
#include "cmd/inspect_verb.h"
#include "cmd/recording.h"
#include "cmd/trace_list.h"
#include "cmd/trace_options.h"
#include "cmd/trace_sums.h"
#include "cmd/trace_words.h"
#include "host/recorder.h"
#include "host/say.h"
#include "show/call_long.h"
#include "query/shown_text.h"

/*
 * Calls per second of one function, for some seconds in a row. A process that another user runs
 * must not be slowed down; a command that runs to be traced may be.
 */
#define MAX_RATE_DEFAULT 250000

/* "a=1, b=2", to be freed; null: no memory. */
static char *words_of(const struct shown_tree *tree)
{
	char *words = NULL;
	size_t size;
	FILE *to = open_memstream(&words, &size);

	if (!to)
		return NULL;
	shown_print_list(to, tree);
	if (!fclose(to))
		return words;
	free(words);
	return NULL;
}

static void print_call(void *context, const struct call_heard *heard)
{
	char *values = NULL;
	struct call_line line = {
		.kind = heard->begins ? CALL_BEGINS : CALL_ENDS,
		.time = heard->time,
		.pid = heard->pid,
		.tid = heard->tid,
		.lane = heard->lane,
		.depth = heard->depth,
		.cpu = heard->cpu,
		.comm = heard->comm,
		.name = heard->function,
		.duration = heard->duration,
		.error = heard->error,
		.waited = heard->waited,
		.inferred = heard->inferred,
		.open = heard->open,
		.unknown = heard->unknown,
	};

	if (heard->values)
		line.values = values = words_of(heard->values);
	if (heard->gap) {
		struct call_line gap = line;

		gap.kind = CALL_GAP;
		call_long_take(context, &gap);
	}
	call_long_take(context, &line);
	free(values);
}

static int open_lines(struct trace_options *o, FILE **out, struct call_lines **lines,
		      struct call_long **filter, struct fail *why)
{
	*out = stderr;
	if (o->text) {
		*out = fopen(o->text, "we");
		if (!*out)
			return fail_errno(why, -errno, NULL, "cannot write %s", o->text);
	}
	o->lines.start = clock_ns();
	o->lines.color = !o->no_color && (o->color || isatty(fileno(*out)));
	if (call_lines_new(*out, &o->lines, lines) ||
	    call_long_new(o->calls.shortest, *lines, filter))
		return fail_errno(why, -ENOMEM, NULL, "cannot print calls");
	o->calls.listener = print_call;
	o->calls.context = *filter;
	return 0;
}

/* --args: what takes the arguments of the tracer's calls. */
static int inspect_calls(struct trace_options *o, struct calls *calls,
			 const struct inspect_traced *traced, struct inspect **inspect,
			 struct fail *why)
{
	struct inspect_options options = {
		.traced = traced,
		.limits = inspect_usual_limits,
		.no_end = true,
		.warn = o->calls.warn,
	};
	int err;

	for (size_t i = 0; inspect_usual_redacted[i]; i++)
		if (!vec_push(&o->redacted, inspect_usual_redacted[i]))
			return fail_errno(why, -ENOMEM, NULL, "cannot trace");
	options.redaction = (struct inspect_redaction){o->redacted.at, o->redacted.count};
	err = inspect_new(&options, inspect, why);
	if (!err)
		calls_take_args_of(calls, *inspect);
	return err;
}

static int record(struct trace_options *o, int argc, char **argv, struct calls *calls,
		  struct inspect *inspect, struct command *command, struct fail *why)
{
	struct sources_settings sources = sources_settings_usual();
	struct camera_options options = {
		.selection = &o->common.selection,
		.sources = &sources,
		.verbose = o->common.verbose,
		.say = host_say_words,
		.quiet = o->common.quiet,
	};
	struct recording recording = {.options = &o->common};
	struct calls_statistics statistics;
	struct camera_statistics whole;
	struct camera *camera = NULL;
	int err;

	sources_turn_on_list(&sources, &o->events);
	sources.at[CAPTURE_SOURCE_CALLS] = (struct source_settings){.on = true, .given = calls};
	if (inspect)
		sources.at[CAPTURE_SOURCE_INSPECT] =
			(struct source_settings){.on = true, .given = inspect};
	err = camera_new(&options, &camera, why);
	if (!err)
		err = recording_create_film(o->common.film, o->common.labels, argc, argv,
					    &recording.film, why);
	if (!err) {
		/* not into what a command writes to the same terminal */
		bool progress = !o->common.quiet && !o->calls.listener &&
				!recording_argv(&o->common) && isatty(STDERR_FILENO);

		recording.session = (struct session){
			.camera = camera,
			.seconds = o->common.seconds,
			.command = recording_argv(&o->common) ? command : NULL,
			.argv = recording_argv(&o->common),
			.selection = &o->common.selection,
			.progress = progress ? trace_show_progress : NULL,
			.context = calls,
		};
		err = recording_run(&recording, why);
	}
	if (!err) {
		calls_statistics(calls, &statistics);
		camera_statistics(camera, &whole);
		o->kept = (struct kept){statistics.calls + whole.samples, whole.lost,
					!statistics.functions && !statistics.refused};
	}
	if (!err && !o->common.quiet)
		trace_show_end(o->sums_only ? NULL : o->common.film, &recording, &statistics);
	camera_free(camera);
	return err;
}

/* The command waits to be let go while its functions are found. */
static int trace(struct trace_options *o, int argc, char **argv, struct command *command,
		 struct fail *why)
{
	struct call_lines *lines = NULL;
	struct call_long *filter = NULL;
	struct command_options start = recording_command(&o->common);
	struct inspect_traced traced = {.first = calls_first_function(), .take = calls_args_take};
	struct inspect *inspect = NULL;
	struct calls *calls = NULL;
	FILE *out = NULL;
	int err = 0;

	o->calls.keep = o->common.film != NULL;
	o->calls.warn = o->common.quiet ? NULL : trace_warn;
	if (start.argv)
		err = recording_check_command(start.argv, command, why);
	if (!err && (!o->common.film || o->live || o->text))
		err = open_lines(o, &out, &lines, &filter, why);
	if (!err)
		err = calls_new(&o->calls, &calls, why);
	if (!err && o->args) {
		traced.plan = calls_plan(calls);
		traced.context = calls;
		err = inspect_calls(o, calls, &traced, &inspect, why);
	}
	if (!err && !o->common.quiet && plan_warning(calls_plan(calls)))
		trace_warn(plan_warning(calls_plan(calls)));
	if (!err && start.argv)
		err = command_prepare(&start, command, why);
	if (!err)
		err = record(o, argc, argv, calls, inspect, command, why);
	call_long_free(filter);
	if (lines && call_lines_end(lines) && !err)
		err = fail_errno(why, -ENOMEM, NULL, "cannot print calls");
	if (out && out != stderr && fclose(out) && !err)
		err = fail_errno(why, -errno, NULL, "cannot write %s", o->text);
	inspect_free(inspect);
	calls_free(calls);
	return err;
}

int cmd_trace(int argc, char **argv)
{
	struct trace_options o = {.calls.max_rate = MAX_RATE_UNSAID};
	struct command command = {.pidfd = -1, .go = -1, .failed = -1};
	struct trace_sums sums = {0};
	struct fail why = {0};
	int status = trace_options_parse(argc, argv, &o), err;

	if (status)
		goto out;
	if (o.calls.max_rate == MAX_RATE_UNSAID)
		o.calls.max_rate = o.common.selection.command ? 0 : MAX_RATE_DEFAULT;
	o.calls.plan.selection = &o.common.selection;
	o.calls.plan.patterns = o.patterns.at;
	o.calls.plan.pattern_count = o.patterns.count;
	o.calls.plan.inside = o.inside.at;
	o.calls.plan.inside_count = o.inside.count;
	recorder_raise_descriptors();
	if (o.list) {
		status = trace_list(&o.calls.plan);
		goto out;
	}
	o.sums_only = o.calls.summary && !o.common.film;
	err = o.sums_only ? trace_sums_begin(&sums, &why) : 0;
	if (o.sums_only)
		o.common.film = sums.film;
	if (!err)
		err = trace(&o, argc, argv, &command, &why);
	if (!err && o.sums_only)
		err = trace_sums_show(&sums, &why);
	trace_sums_end(&sums);
	status = recording_exit_status(&command, err, &why);
	status = kept_exit_status(status, &o.kept, "calls");
	command_free(&command);
out:
	trace_options_free(&o);
	return status;
}
