// SPDX-License-Identifier: Apache-2.0
#include "cmd/verb.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/temporary.h"
#include "record/camera.h"
#include "record/sources.h"
#include "cmd/films.h"
#include "cmd/recording.h"
#include "film/events.h"
#include "film/reader.h"
#include "host/recorder.h"
#include "host/say.h"
#include "query/threads.h"
#include "show/output.h"
#include "show/threads.h"
#include "show/words.h"

/* Threads that run have their stacks in samples of the CPUs, this many per second. */
#define FREQUENCY 999

struct arguments {
	struct recording_options common; /* which threads */
	struct camera_options camera;
	struct shape shape;
	bool each, json, help;
};

static const char help[] =
	"usage: stackcam threads [OPTION…] -p PID\n"
	"\n"
	"Prints what every thread of a process does right now: what it waits for, for how long,\n"
	"and its stack, of all languages and of the kernel. Nothing is stopped.\n"
	"\n"
	"Which threads:\n"
	"  -p, --pid PID[,PID…]    of these processes\n"
	"  -t, --tid TID[,TID…]    these alone\n"
	"  -n, --name GLOB         of processes of this name, e.g. 'nginx*'; may be repeated\n"
	"      --cgroup PATH       of processes of this control group; may be repeated\n"
	"  -a, --all               of the whole machine\n"
	"\n"
	"How:\n"
	"      --each              every thread with its stack: else those of a process that are\n"
	"                          alike have one stack\n"
	"      --format FORMAT     text (the default) or json\n"
	"      --lines             source lines\n"
	"      --native            also the interpreters' own frames\n"
	"      --kernel-only       only kernel frames\n"
	"      --user-only         only user frames\n"
	"  -h, --help              this text\n"
	"\n"
	"Examples:\n"
	"  stackcam threads -p 1234\n"
	"  stackcam threads -n 'java*' --each --lines\n"
	"  stackcam threads -a --format json | jq '.threads[] | select(.state == \"D\")'\n";

enum {
	OPT_EACH = 256,
	OPT_FORMAT,
	OPT_LINES,
	OPT_NATIVE,
	OPT_KERNEL_ONLY,
	OPT_USER_ONLY,
};

static const struct option long_options[] = {
	RECORDING_LONG_TARGETS,
	{"each", no_argument, NULL, OPT_EACH},
	{"format", required_argument, NULL, OPT_FORMAT},
	{"lines", no_argument, NULL, OPT_LINES},
	{"native", no_argument, NULL, OPT_NATIVE},
	{"kernel-only", no_argument, NULL, OPT_KERNEL_ONLY},
	{"user-only", no_argument, NULL, OPT_USER_ONLY},
	{"help", no_argument, NULL, 'h'},
	{0},
};

/* Returns 0 or an exit status. */
static int parse_option(struct arguments *a, int option, char **argv)
{
	int status = recording_parse_option("threads", option, &a->common);

	if (status >= 0)
		return status;
	switch (option) {
	case OPT_EACH:
		a->each = true;
		break;
	case OPT_FORMAT:
		a->json = !strcmp(optarg, "json");
		if (!a->json && strcmp(optarg, "text"))
			return cmd_usage("threads",
					 "unknown format '%s'; the formats are: text, json",
					 optarg);
		break;
	case OPT_LINES:
		a->shape.lines = a->camera.symbols.lines = true;
		break;
	case OPT_NATIVE:
		a->shape.native = true;
		break;
	case OPT_KERNEL_ONLY:
		a->camera.kernel_only = true;
		break;
	case OPT_USER_ONLY:
		a->camera.user_only = true;
		break;
	case 'h':
		a->help = true;
		break;
	default:
		return cmd_usage_option("threads", argv, long_options);
	}
	return 0;
}

/* Returns 0 or an exit status. */
static int parse(struct arguments *a, int argc, char **argv)
{
	const struct selection *s = &a->common.selection;
	int option, status;

	opterr = 0;
	while ((option = getopt_long(argc, argv, RECORDING_SHORT_TARGETS "h", long_options,
				     NULL)) != -1) {
		status = parse_option(a, option, argv);
		if (status || a->help)
			return status;
	}
	if (optind < argc)
		return cmd_usage("threads",
				 "'%s' is not an option; -p takes the number of a process",
				 argv[optind]);
	if (a->camera.kernel_only && a->camera.user_only)
		return cmd_usage("threads", "--kernel-only and --user-only exclude each other");
	if (!s->whole_machine && !s->pid_count && !s->tid_count && !s->name_count &&
	    !s->cgroup_count)
		return cmd_usage("threads", "name the threads: -p PID, -t TID, -n NAME, --cgroup "
					    "PATH, or -a for the whole machine");
	return recording_check_options("threads", &a->common);
}

/* Films the moment. 0 or a negative errno with *why filled. */
static int record(const struct arguments *a, int argc, char **argv, const char *path,
		  struct fail *why)
{
	struct sources_settings sources = sources_settings_usual();
	struct camera_options options = a->camera;
	struct film_writer *film = NULL;
	struct camera *camera = NULL;
	struct fail ignored;
	int err, closed;

	options.say = host_say_words;
	options.verbose = true;
	sources_turn_on(&sources, event_type(EVENT_ON_CPU)->name);
	sources_turn_on(&sources, event_type(EVENT_DUMP)->name);
	/* what they wait for, and who holds it */
	sources_turn_on(&sources, event_type(EVENT_THREADS)->name);
	sources_set_value(&sources, "frequency", FREQUENCY);
	options.sources = &sources;
	options.selection = &a->common.selection;
	recorder_raise_descriptors();
	err = camera_new(&options, &camera, why);
	if (!err)
		err = recording_create_film(path, "", argc, argv, &film, why);
	if (!err)
		err = camera_start(camera, film, why);
	if (!err)
		err = camera_stop(camera, why);
	camera_free(camera);
	closed = film ? film_close(film, clock_ns(), err ? &ignored : why) : 0;
	return err ? err : closed;
}

/* 0 or a negative errno with *why filled. */
static int write_dump(const struct arguments *a, struct film *film, struct output *output,
		      struct fail *why)
{
	const struct selection *s = &a->common.selection;
	struct thread_dump dump;
	int err = thread_dump_make(film, &a->shape, &dump, why);

	if (!err && !dump.count)
		err = fail(why, -ESRCH, NULL, "there are no such threads%s",
			   s->pid_count || s->tid_count ? " any more" : "");
	if (!err) {
		err = a->json ? show_threads_json(&dump, output->file)
			      : show_threads_text(&dump, a->each, output->file);
		if (err)
			fail_errno(why, err, NULL, "cannot list the threads");
		else if (!fflush(output->file) && !a->json)
			words_lost(film, dump.event, 0, stderr);
	}
	thread_dump_free(&dump);
	return err;
}

static int show(const struct arguments *a, struct film *film, struct fail *why)
{
	struct output output;
	int err = output_open(&output, NULL, why), shown;

	if (err)
		return err;
	shown = write_dump(a, film, &output, why);
	err = output_close(&output, !shown, shown ? NULL : why);
	return shown ? shown : err;
}

static int run(const struct arguments *a, int argc, char **argv)
{
	struct temporary temporary = {0};
	struct film *film = NULL;
	struct fail why = {0};
	sigset_t stop, before;
	int err;

	cmd_stops_block(&stop, &before);
	err = temporary_make("threads.film", &temporary, &why);
	if (!err)
		err = record(a, argc, argv, temporary.path, &why);
	if (!err)
		err = film_open(temporary.path, &film, &why);
	temporary_remove(&temporary);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (!err)
		err = show(a, film, &why);
	film_free(film);
	if (err == -EPIPE)
		output_broken_pipe();
	if (err)
		fail_print(&why);
	return err ? fail_exit_status(&why) : 0;
}

int cmd_threads(int argc, char **argv)
{
	struct arguments a = {0};
	int status = parse(&a, argc, argv);

	if (!status && a.help)
		fputs(help, stdout);
	else if (!status)
		status = run(&a, argc, argv);
	recording_options_free(&a.common);
	return status;
}
