// SPDX-License-Identifier: Apache-2.0
#include "cmd/inspect_verb.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "record/sources.h"
#include "host/recorder.h"
#include "host/say.h"
#include "show/inspect.h"

const struct inspect_limits inspect_usual_limits = {.text = 256, .elements = 16, .depth = 3};

const char *const inspect_usual_redacted[] = {"password",   "passwd",	     "secret", "token",
					      "credential", "authorization", NULL};

static void print_call(void *context, const struct inspected *call)
{
	struct inspect_verb *o = context;
	struct inspect_line line = {
		.wall = call->time + (uint64_t)o->wall_offset,
		.pid = call->pid,
		.tid = call->tid,
		.goroutine = call->goroutine,
		.comm = call->comm,
		.function = call->function,
		.place = call->place,
		.file = call->file,
		.number = call->line,
		.is_optimised = call->is_optimised,
		.arguments = call->arguments,
		.results = call->results,
		.stack = call->stack,
		.stack_count = call->stack_count,
		.has_end = call->has_end,
		.waits_for_end = !o->inspect.no_end,
		.latency = call->latency,
	};

	if (o->summary)
		o->failed = o->failed ? o->failed : inspect_summary_add(o->summary, &line);
	else if (o->json)
		inspect_print_json(o->out, &line);
	else
		o->shortened += inspect_print_text(o->out, &line);
}

/* Many calls are written at once; what was written is seen. */
static void show_printed(void *context)
{
	struct inspect_verb *o = context;

	fflush(o->out);
}

static void warn(const char *words)
{
	fputs("stackcam: ", stderr);
	text_print_safe(stderr, words);
	putc('\n', stderr);
	fflush(stderr);
}

static void say_loss(uint64_t count, const char *words)
{
	if (count)
		fprintf(stderr, "  %llu %s\n", (unsigned long long)count, words);
}

/* "stackcam: 5 calls of 1 function shown", or, of a film, "x.film: 5 calls of 1 function, 12 kB" */
static void show_end(const struct inspect_verb *o, const struct inspect *inspect)
{
	struct inspect_statistics s;
	char bytes[32];

	inspect_statistics(inspect, &s);
	if (o->common.film) {
		text_print_safe(stderr, o->common.film);
		fputs(": ", stderr);
	} else {
		fputs("stackcam: ", stderr);
	}
	if (s.functions || !s.places)
		fprintf(stderr, "%llu call%s of %zu function%s",
			(unsigned long long)(s.calls - s.passes), text_plural(s.calls - s.passes),
			s.functions, text_plural(s.functions));
	if (s.places)
		fprintf(stderr, "%s%llu pass%s of %zu place%s of lines", s.functions ? ", " : "",
			(unsigned long long)s.passes, s.passes == 1 ? "" : "es", s.places,
			text_plural(s.places));
	text_bytes(bytes, sizeof(bytes), o->film_bytes);
	if (o->common.film)
		fprintf(stderr, ", %s\n", bytes);
	else
		fputs(" shown\n", stderr);
	say_loss(o->shortened, "of them with values shortened to \"…\": --json shows all of them, "
			       "--show those that it names");
	say_loss(s.unfinished, "of them without an end that was seen");
	say_loss(s.refused, "probes refused by the kernel: the instruction cannot be probed");
	say_loss(s.rejected_rate, "calls not shown: --rate was reached");
	say_loss(s.lost_ring, "beginnings or ends of calls lost: the ring was full");
	say_loss(s.ends_alone, "ends of calls whose beginning was lost");
	say_loss(s.lost_condition, "calls not shown: a value of the condition was not in memory");
	say_loss(s.lost_open, "ends of calls not seen: too many calls are open");
	say_loss(s.lost_other, "calls lost for other reasons");
	say_loss(s.late, "processes or files whose first calls were not seen");
}

static bool is_done(void *context)
{
	const struct inspect *inspect = context;

	return inspect_is_done(inspect);
}

/* What has been printed so far is to be seen. */
static int record(struct inspect_verb *o, int argc, char **argv, struct inspect *inspect,
		  struct command *command, struct fail *why)
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
	struct camera *camera = NULL;
	int err;

	struct fail first = {0};

	sources_turn_on_list(&sources, &o->events);
	sources.at[CAPTURE_SOURCE_INSPECT] = (struct source_settings){.on = true, .given = inspect};
	err = camera_new(&options, &camera, why);
	/* what is wrong with what the user has named comes first */
	if (inspect_wait(inspect, &first)) {
		err = inspect_wait(inspect, NULL);
		*why = first;
	}
	if (!err)
		err = recording_create_film(o->common.film, o->common.labels, argc, argv,
					    &recording.film, why);
	if (!err) {
		recording.session = (struct session){
			.camera = camera,
			.seconds = o->common.seconds,
			.command = recording_argv(&o->common) ? command : NULL,
			.argv = recording_argv(&o->common),
			.selection = &o->common.selection,
			.context = inspect,
			.is_done = is_done,
		};
		err = recording_run(&recording, why);
	}
	camera_free(camera);
	o->film_bytes = recording.film_bytes;
	return err;
}

static int open_out(struct inspect_verb *o, struct fail *why)
{
	o->out = recording_argv(&o->common) ? stderr : stdout;
	if (o->text)
		o->out = fopen(o->text, "we");
	if (!o->out)
		return fail_errno(why, -errno, NULL, "cannot write %s", o->text);
	if (o->inspect.drained)
		setvbuf(o->out, NULL, _IOFBF, 1 << 16);
	return 0;
}

static int show_summary(struct inspect_verb *o, struct fail *why)
{
	if (o->failed)
		return fail_errno(why, o->failed, NULL, "cannot add up the calls");
	if (o->json)
		inspect_summary_print_json(o->summary, o->out);
	else
		inspect_summary_print_text(o->summary, o->out);
	return 0;
}

static int inspect(struct inspect_verb *o, int argc, char **argv, struct command *command,
		   struct fail *why)
{
	struct command_options start = recording_command(&o->common);
	struct inspect_statistics statistics;
	struct inspect *inspect = NULL;
	int err = 0;

	o->inspect.keep = o->common.film != NULL;
	if (!o->common.film || o->live || o->json || o->text || o->summed)
		o->inspect.listener = print_call;
	if (o->inspect.listener && !o->summed)
		o->inspect.drained = show_printed;
	o->inspect.context = o;
	o->wall_offset = clock_wall_offset();
	if (start.argv)
		err = recording_check_command(start.argv, command, why);
	if (!err)
		err = open_out(o, why);
	if (!err)
		err = inspect_read_beside(&o->inspect, &inspect, why);
	if (!err && start.argv)
		err = command_prepare(&start, command, why);
	if (!err)
		err = record(o, argc, argv, inspect, command, why);
	if (!err && o->summary)
		err = show_summary(o, why);
	if (o->out && o->out != stderr && (fflush(o->out) || ferror(o->out)) && !err)
		err = fail_errno(why, -EIO, NULL, "cannot write %s",
				 o->text ? o->text : "to standard output");
	if (!err) {
		inspect_statistics(inspect, &statistics);
		o->kept = (struct kept){
			statistics.calls,
			statistics.lost_ring + statistics.lost_open + statistics.lost_other,
			!statistics.functions && !statistics.places && !statistics.refused};
	}
	if (!err && !o->common.quiet)
		show_end(o, inspect);
	if (o->out && o->text)
		fclose(o->out);
	inspect_free(inspect);
	return err;
}

int cmd_inspect(int argc, char **argv)
{
	struct inspect_verb o = {.inspect.limits = inspect_usual_limits};
	struct command command = {.pidfd = -1, .go = -1, .failed = -1};
	struct fail why = {0};
	int status, err;

	for (size_t i = 0; inspect_usual_redacted[i]; i++)
		if (!vec_push(&o.redacted, inspect_usual_redacted[i]))
			return EXIT_FAILURE;
	status = inspect_verb_parse(argc, argv, &o);
	if (status)
		goto out;
	o.inspect.plan = (struct plan_options){
		.selection = &o.common.selection,
		.patterns = o.patterns.at,
		.pattern_count = o.patterns.count,
		.inside = o.inside.at,
		.inside_count = o.inside.count,
		.exit = o.returns ? PROBE_WISH_RETURN : PROBE_WISH_RET,
		.no_guard = true,
		.only_files = !o.patterns.count,
	};
	o.inspect.places = o.places.at;
	o.inspect.place_count = o.places.count;
	o.inspect.parts = (const char *const *)o.parts.at;
	o.inspect.part_count = o.parts.count;
	o.inspect.redaction = (struct inspect_redaction){o.redacted.at, o.redacted.count};
	o.inspect.warn = o.common.quiet ? NULL : warn;
	recorder_raise_descriptors();
	if (o.list) {
		err = inspect_list(&o.inspect, stdout, &why);
		status = recording_exit_status(&command, err, &why);
		goto out;
	}
	o.summary = o.summed ? inspect_summary_new() : NULL;
	err = o.summed && !o.summary ? fail_errno(&why, -ENOMEM, NULL, "cannot add up the calls")
				     : inspect(&o, argc, argv, &command, &why);
	status = recording_exit_status(&command, err, &why);
	status = kept_exit_status(status, &o.kept, "calls");
	command_free(&command);
out:
	vec_free(&o.patterns);
	vec_free(&o.redacted);
	vec_free(&o.inside);
	vec_foreach (&o.files, file)
		free(*file);
	vec_foreach (&o.parts, part)
		free(*part);
	vec_free(&o.places);
	vec_free(&o.files);
	vec_free(&o.parts);
	inspect_summary_free(o.summary);
	free(o.pattern);
	recording_options_free(&o.common);
	return status;
}
