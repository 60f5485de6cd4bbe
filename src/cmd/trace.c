// SPDX-License-Identifier: Apache-2.0
#include "cmd/verb.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/own.h"
#include "base/temporary.h"
#include "base/text.h"
#include "base/vec.h"
#include "film/reader.h"
#include "query/report.h"
#include "show/output.h"
#include "show/show.h"
#include "sources/calls/calls.h"
#include "sources/calls/plan.h"
#include "sources/inspect/inspect.h"
#include "record/sources.h"
#include "cmd/answer.h"
#include "cmd/inspect_verb.h"
#include "cmd/recording.h"
#include "cmd/trace_options.h"
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
		call_long_add(context, &gap);
	}
	call_long_add(context, &line);
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
		calls_set_inspect(calls, *inspect);
	return err;
}

/* What 'trace' says while it runs and at its end, to standard error. */

/* words: of plan_warning() */
static void trace_warn(const char *words)
{
	fputs("stackcam: ", stderr);
	text_print_safe(stderr, words);
	fputc('\n', stderr);
}

/* For struct session; context: the struct calls. */
static void trace_show_progress(void *context, uint64_t elapsed_ns)
{
	struct calls_statistics statistics;
	double seconds = (double)elapsed_ns / 1e9;
	char calls[32];

	calls_statistics(context, &statistics);
	text_count(calls, sizeof(calls), statistics.calls);
	fprintf(stderr, "\r\033[K%.0f s, %s calls of %zu functions, recorder at %.1f %% of one CPU",
		seconds, calls, statistics.functions, own_cpu_seconds() / seconds * 100);
}

static void show_losses(const struct calls_statistics *calls,
			const struct camera_statistics *camera)
{
	uint64_t lost = camera->lost + calls->strangers;
	/* the film was also told of what has words of its own here */
	uint64_t said = calls->strangers + calls->late + calls->taken_out + calls->gave_way;
	uint64_t others = camera->other_losses > said ? camera->other_losses - said : 0;

	if (lost)
		fprintf(stderr, "; %llu call%s lost", (unsigned long long)lost, text_plural(lost));
	if (calls->not_waited_for)
		fprintf(stderr, "; %llu not kept, although their callers may be slow",
			(unsigned long long)calls->not_waited_for);
	if (others)
		fprintf(stderr, "; %llu smaller loss%s, which the report names",
			(unsigned long long)others, others == 1 ? "" : "es");
	if (calls->refused)
		fprintf(stderr, "; %zu function%s could not be probed", calls->refused,
			text_plural(calls->refused));
	if (calls->left_out->count) {
		fprintf(stderr, "; %zu function%s that match%s left out, such as ",
			calls->left_out->count, text_plural(calls->left_out->count),
			calls->left_out->count == 1 ? "es is" : " are");
		text_print_safe(stderr, calls->left_out->name);
		fprintf(stderr, " (%s)", probe_refusal_words(calls->left_out->why));
	}
	if (calls->late)
		fprintf(stderr, "; the first calls in %zu file%s mapped later were not seen",
			calls->late, text_plural(calls->late));
	if (!lost && !camera->other_losses && !calls->not_waited_for && !calls->refused)
		fputs("; nothing lost", stderr);
}

static void show_debugged(const struct calls_statistics *calls)
{
	if (calls->gave_way)
		fprintf(stderr,
			"; a debugger came to process %d: all probes were taken away, so that its "
			"breakpoints work",
			(int)calls->debugged);
	else if (calls->debugged)
		fprintf(stderr,
			"; process %d ran under a debugger: a breakpoint that it set meanwhile on "
			"a "
			"traced function ends the process when it is deleted",
			(int)calls->debugged);
}

/* film: its name, null: none was kept. */
static void trace_show_end(const char *film, const struct recording *recording,
			   const struct calls_statistics *calls)
{
	struct camera_statistics camera;
	char count[32], bytes[32], longest[32];

	camera_statistics(recording->session.camera, &camera);
	text_count(count, sizeof(count), calls->calls);
	text_bytes(bytes, sizeof(bytes), recording->film_bytes);
	if (recording->session.progress)
		fputs("\r\033[K", stderr);
	if (film)
		text_print_safe(stderr, film);
	else
		fputs("traced", stderr);
	fprintf(stderr, ": %s call%s of %zu function%s in %.1f s", count, text_plural(calls->calls),
		calls->functions, text_plural(calls->functions),
		(double)recording->session.elapsed_ns / 1e9);
	if (film)
		fprintf(stderr, ", %s", bytes);
	if (!calls->calls && !recording->session.command &&
	    !recording->session.selection->name_count)
		fputs("; processes that a target had started before are not traced with it: -n "
		      "NAME "
		      "names them all",
		      stderr);
	if (calls->dropped)
		fprintf(stderr, "; %llu faster ones not kept", (unsigned long long)calls->dropped);
	if (camera.held) {
		text_duration(longest, sizeof(longest), camera.held_longest);
		fprintf(stderr,
			"; programs and libraries were held for their probes %llu time%s, %s at "
			"most",
			(unsigned long long)camera.held, text_plural(camera.held), longest);
	}
	show_losses(calls, &camera);
	if (calls->taken_out) {
		fprintf(stderr,
			"; %zu function%s no longer traced, called too often (--max-rate), such "
			"as ",
			calls->taken_out, text_plural(calls->taken_out));
		text_print_safe(stderr, calls->hottest ? calls->hottest : "");
	}
	show_debugged(calls);
	fputc('\n', stderr);
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
	struct inspect_traced traced = {.first = calls_first_function(), .emit = calls_args_add};
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

static const char *const cost_words[] = {
	[PROBE_COST_FAST] = "fast",
	[PROBE_COST_SLOW] = "slow",
};

static const char *const exit_words[] = {
	[PROBE_EXIT_RETURN] = "return",
	[PROBE_EXIT_RET] = "ret",
	[PROBE_EXIT_INFERRED] = "inferred",
};

struct tally {
	size_t traced, refused, by_cost[3];
};

static void print_function(const struct probe_function *f, struct tally *tally)
{
	if (f->refusal != PROBE_ALLOWED) {
		tally->refused++;
		fputs("  -     -         ", stdout);
		text_print_safe(stdout, f->name);
		printf("  (not traced: %s)\n", probe_refusal_words(f->refusal));
		return;
	}
	tally->traced++;
	tally->by_cost[f->cost]++;
	printf("  %-5s %-9s ", cost_words[f->cost], exit_words[f->exit]);
	text_print_safe(stdout, f->name);
	putchar('\n');
}

/*
 * 'trace --list': prints what would be traced, at which cost, and what not, and why. Returns an
 * exit status.
 */
static int trace_list(const struct plan_options *options)
{
	struct plan_options wanted = *options;
	const struct plan_function *functions;
	const struct plan_image *images;
	struct tally tally = {0};
	struct fail why = {0};
	struct plan *plan;
	size_t count, all, i, k;

	wanted.refused_too = true;
	if (plan_new(&wanted, &plan, &why)) {
		fail_print(&why);
		return fail_exit_status(&why);
	}
	images = plan_images(plan, &count);
	functions = plan_functions(plan, &all);
	for (i = 0; i < count; i++) {
		text_print_safe(stdout, images[i].path);
		puts(":\n  COST  EXIT      FUNCTION");
		for (k = 0; k < images[i].functions.count; k++)
			if (!functions[images[i].first + k].is_moved)
				print_function(&images[i].functions.at[k], &tally);
	}
	printf("%zu functions would be traced: %zu fast, %zu slow (several times as dear); "
	       "%zu are left alone\n",
	       tally.traced, tally.by_cost[PROBE_COST_FAST], tally.by_cost[PROBE_COST_SLOW],
	       tally.refused);
	plan_free(plan);
	return 0;
}

#define ROWS 40

static int print(struct film *film, struct output *output, struct fail *why)
{
	const struct question question = {0};
	struct show_options options = {.limit = ROWS};
	struct report report;
	int err = report_make(film, &question, false, &report, why);

	cmd_fit_output(&options, output, false, false);
	if (!err) {
		err = show_format_find("table")->report(&report, &options, output->file);
		if (err)
			fail_errno(why, err, NULL, "cannot show the sums");
	}
	report_free(&report);
	return err;
}

/*
 * Prints a film's table of functions to standard output. Returns 0, or a negative errno with *why
 * filled.
 */
static int show_sums(const char *path, struct fail *why)
{
	struct film *film = NULL;
	struct output output;
	struct fail ignored;
	int err = film_open(path, &film, why), closed;

	if (!err)
		err = output_open(&output, NULL, why);
	if (!err) {
		err = print(film, &output, why);
		closed = output_close(&output, !err, err ? &ignored : why);
		err = err ? err : closed;
	}
	film_free(film);
	return err;
}

int cmd_trace(int argc, char **argv)
{
	struct trace_options o = {.calls.max_rate = MAX_RATE_UNSAID};
	struct command command = {.pidfd = -1, .go = -1, .failed = -1};
	struct temporary sums = {0};
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
	/* the sums are in a film that is gone once it has been shown */
	err = o.sums_only ? temporary_make("sums.film", &sums, &why) : 0;
	if (o.sums_only)
		o.common.film = sums.path;
	if (!err)
		err = trace(&o, argc, argv, &command, &why);
	if (!err && o.sums_only)
		err = show_sums(sums.path, &why);
	temporary_remove(&sums);
	status = recording_exit_status(&command, err, &why);
	status = kept_exit_status(status, &o.kept, "calls");
	command_free(&command);
out:
	trace_options_free(&o);
	return status;
}
