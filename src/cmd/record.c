// SPDX-License-Identifier: Apache-2.0
#include "cmd/verb.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/text.h"
#include "host/flight.h"
#include "host/flight_socket.h"
#include "host/notify.h"
#include "host/until.h"
#include "record/camera.h"
#include "record/sources.h"
#include "cmd/camera_options.h"
#include "cmd/kept.h"
#include "cmd/recording.h"
#include "cmd/source_options.h"
#include "film/event_list.h"
#include "host/recorder.h"
#include "host/say.h"

struct record_options {
	struct recording_options common;
	struct camera_options camera;
	struct sources_settings sources;
	struct event_list events;
	bool with_logs, with_gpu_instructions;
	struct source_options options;
	uint64_t flight, flight_bytes; /* ns in memory, 0: it writes a film; bytes of them */
};

static const char help[] =
	"usage: stackcam record [OPTION…] [-- COMMAND ARG…]\n"
	"\n"
	"Films where processes spend CPU time, until the command ends, the time is over, or "
	"Ctrl-C.\n"
	"\n"
	"What to film (the whole machine when nothing is named):\n"
	"  -a, --all               the whole machine, also while a command runs\n"
	"  -p, --pid PID[,PID…]    these processes, their threads and new children\n"
	"  -t, --tid TID[,TID…]    these threads only\n"
	"  -n, --name GLOB         processes of this name, e.g. 'nginx*'; may be repeated\n"
	"      --cgroup PATH       processes of this control group; may be repeated\n"
	"      --no-children       not the children that they start from now on\n"
	"\n"
	"Beside -p, -t, -n or --cgroup a COMMAND is not filmed: it says how long to film.\n"
	"\n"
	"How a COMMAND is started:\n"
	"  -u, --user USER         as this user\n"
	"      --no-randomize-addr with its memory at the same addresses each time\n"
	"\n"
	"How:\n" CMD_HELP_EVENTS CMD_HELP_SOURCES
	"  -d, --duration SECONDS  end after this time; 500ms and 5m are understood too\n"
	"  -o, --output FILM       the film (default stackcam.film); one that is there becomes\n"
	"                          FILM.old\n"
	"      --label KEY=VALUE   a label of the film, such as env=prod; may be repeated\n"
	"      --kernel-only       only time in the kernel, only kernel frames\n"
	"      --user-only         only time in user code, only user frames\n"
	"      --exact             of mem-alloc and mem-inuse: every allocation, not a sample of "
	"them\n"
	"      --logs              also what threads write to logs, as -e logs: it may hold "
	"secrets\n"
	"      --gpu-instructions  also where warps of GPUs are and why they wait, as -e "
	"gpu-instructions\n"
	"      --lines             look up source lines (slower end; 'stackcam resolve' can do it "
	"later)\n"
	"      --inlines           and inlined functions\n"
	"      --flight TIME       keep the last seconds in memory (4s to 1h), and write them as a "
	"film "
	"at\n"
	"                          'stackcam keep --pid', at the end, and when a process dies of a "
	"signal,\n"
	"                          a thread hangs or an accept queue fills\n"
	"      --flight-memory SIZE\n"
	"                          what these may take (default 64MB); the oldest go first\n"
	"  -q, --quiet             say nothing but errors\n"
	"      --verbose           where the kernel refuses a program of stackcam, say why\n"
	"  -h, --help              this text\n"
	"\n"
	"Examples:\n"
	"  stackcam record -d 10                          the whole machine for 10 s\n"
	"  stackcam record -p 1234 -o db.film             one process until Ctrl-C\n"
	"  stackcam record -e threads,deaths -n db --flight 60s\n"
	"                                                 its last minute, kept when it crashes\n"
	"  stackcam record -F 999 -- ./work --fast        a command and its children\n";

enum {
	OPT_KERNEL_ONLY = 256,
	OPT_USER_ONLY,
	OPT_LINES,
	OPT_INLINES,
	OPT_EXACT,
	OPT_LOGS,
	OPT_GPU_INSTRUCTIONS,
	OPT_FLIGHT,
	OPT_FLIGHT_MEMORY,
};

#define FLIGHT_MIN	    4000000000ull
#define FLIGHT_MAX	    3600000000000ull
#define FLIGHT_BYTES	    64000000u
#define FLIGHT_WORDS	    "--flight takes a time from 4s to 1h"
#define FLIGHT_BYTES_MIN    1000000u
#define FLIGHT_BYTES_MAX    4000000000ull
#define FLIGHT_MEMORY_WORDS "--flight-memory takes a size from 1MB to 4GB"

static const struct option long_options[] = {
	RECORDING_LONG_OPTIONS,
	{"event", required_argument, NULL, 'e'},
	{"kernel-only", no_argument, NULL, OPT_KERNEL_ONLY},
	{"user-only", no_argument, NULL, OPT_USER_ONLY},
	{"lines", no_argument, NULL, OPT_LINES},
	{"inlines", no_argument, NULL, OPT_INLINES},
	{"exact", no_argument, NULL, OPT_EXACT},
	{"logs", no_argument, NULL, OPT_LOGS},
	{"gpu-instructions", no_argument, NULL, OPT_GPU_INSTRUCTIONS},
	{"flight", required_argument, NULL, OPT_FLIGHT},
	{"flight-memory", required_argument, NULL, OPT_FLIGHT_MEMORY},
	{"help", no_argument, NULL, 'h'},
	{0},
};

/* Parses one option. Returns 0, or an exit status with all said. */
static int parse_option(int option, char **argv, struct record_options *o)
{
	struct fail why;
	const char *of_source = source_options_name(&o->options, option);
	int status = recording_parse_option("record", option, &o->common);

	if (status >= 0)
		return status;
	if (of_source && sources_set(&o->sources, of_source, optarg, &why))
		return cmd_usage("record", "%s", why.what);
	if (of_source)
		return 0;
	switch (option) {
	case 'e':
		if (event_list_parse_more(optarg, &o->events, &why))
			return cmd_usage("record", "%s", why.what);
		break;
	case OPT_KERNEL_ONLY:
		o->camera.kernel_only = true;
		break;
	case OPT_USER_ONLY:
		o->camera.user_only = true;
		break;
	case OPT_INLINES:
		o->camera.symbols.inlines = true;
		break;
	case OPT_EXACT:
		sources_set_value(&o->sources, "mem-interval", 1);
		break;
	case OPT_LOGS:
		o->with_logs = true;
		break;
	case OPT_GPU_INSTRUCTIONS:
		o->with_gpu_instructions = true;
		break;
	case OPT_LINES:
		o->camera.symbols.lines = true;
		break;
	case OPT_FLIGHT:
		if (text_parse_time(optarg, 1000000000, &o->flight) || !o->flight)
			return cmd_usage("record", FLIGHT_WORDS);
		break;
	case OPT_FLIGHT_MEMORY:
		if (text_parse_bytes(optarg, &o->flight_bytes))
			return cmd_usage("record", FLIGHT_MEMORY_WORDS);
		break;
	default:
		return cmd_usage_option("record", argv, o->options.rows);
	}
	return 0;
}

/* Whether --flight goes with the rest. Returns 0, or an exit status with all said. */
static int check_flight(const struct record_options *o)
{
	if (o->flight < FLIGHT_MIN || o->flight > FLIGHT_MAX)
		return cmd_usage("record", FLIGHT_WORDS);
	if (o->flight_bytes < FLIGHT_BYTES_MIN || o->flight_bytes > FLIGHT_BYTES_MAX)
		return cmd_usage("record", FLIGHT_MEMORY_WORDS);
	if (recording_argv(&o->common))
		return cmd_usage("record", "--flight takes processes that run already: -p, -n, "
					   "--cgroup or -a, and no command");
	if (o->camera.kernel_only || o->camera.user_only || o->camera.symbols.inlines ||
	    o->camera.symbols.lines)
		return cmd_usage("record", "--flight cannot be with --kernel-only, --user-only, "
					   "--lines or --inlines");
	return 0;
}

static int parse(int argc, char **argv, struct record_options *o)
{
	int option, status;

	opterr = 0;
	source_options_begin(&o->options, long_options, "+" RECORDING_SHORT_OPTIONS "e:h");
	while ((option = getopt_long(argc, argv, o->options.letters, o->options.rows, NULL)) !=
	       -1) {
		if (option == 'h') {
			cmd_print_help(help);
			exit(0);
		}
		status = parse_option(option, argv, o);
		if (status)
			return status;
	}
	if (o->camera.kernel_only && o->camera.user_only)
		return cmd_usage("record", "--kernel-only and --user-only exclude each other");
	if (optind < argc)
		o->common.selection.command = argv + optind;
	status = recording_check_options("record", &o->common);
	if (!status && o->flight)
		status = check_flight(o);
	if (!status)
		recording_say_absent(&o->common, "filmed");
	return status;
}

/* record --flight: the last seconds are in memory, and become a film when something happens. */

struct flying {
	const struct record_options *options;
	struct flight *flight;
	struct flight_socket *asked;
	unsigned int kept; /* films that something that happened was the reason for */
	bool is_end;	   /* what is kept next is the end of the recording */
};

/* FILM at the end, and before that FILM with a number before its ending. */
static int film_path(const struct flying *flying, char *path, size_t size)
{
	const char *film = flying->options->common.film, *dot = strrchr(film, '.');
	size_t stem = dot && !strchr(dot, '/') ? (size_t)(dot - film) : strlen(film);
	int length = flying->is_end ? snprintf(path, size, "%s", film)
				    : snprintf(path, size, "%.*s-%u%s", (int)stem, film,
					       flying->kept + 1, film + stem);

	return (size_t)length < size ? 0 : -ENAMETOOLONG;
}

static void folder_of(const char *path, char *folder, size_t size)
{
	const char *slash = strrchr(path, '/');

	if (slash)
		snprintf(folder, size, "%.*s", slash == path ? 1 : (int)(slash - path), path);
	else
		snprintf(folder, size, ".");
}

static int keep(void *context, const struct store_keep *films, char *path, size_t size,
		struct fail *why)
{
	struct flying *flying = context;
	char folder[PATH_MAX];
	int err = film_path(flying, path, size);

	if (err) {
		for (size_t i = 0; i < films->count; i++)
			film_bytes_free(&films->films[i]);
		return fail_errno(why, err, NULL, "cannot keep a film");
	}
	folder_of(path, folder, sizeof(folder));
	/* one of an earlier recording makes way, as with all that is recorded */
	if (films->count && unlink(path) && errno != ENOENT)
		err = -errno;
	if (err)
		fail_errno(why, err, NULL, "cannot replace %s", path);
	if (!err)
		err = store_keep_at(folder, films, path, why);
	flying->kept += !err && !flying->is_end;
	return err;
}

static int load(struct flying *flying, const char *host, const char *command, struct fail *why)
{
	const struct record_options *o = flying->options;
	const struct camera_flight usual = camera_flight_usual();
	const struct flight_options options = {
		.selection = &o->common.selection,
		.events = &o->events,
		.sources = &o->sources,
		.host = host,
		.labels = o->common.labels,
		.command = command,
		.time = o->flight,
		.bytes = o->flight_bytes,
		.after = usual.after,
		.limits = usual.limits,
		.queue = usual.queue,
		.quiet = o->common.quiet,
	};

	return flight_new(&options, &flying->flight, why);
}

static void say_ended(void *context)
{
	struct flying *flying = context;

	flight_stop(flying->flight);
}

/* Until something ends it. */
static int fly_on(struct flying *flying, int signals, struct fail *why)
{
	const struct record_options *o = flying->options;
	const struct flight_place place = {.keep = keep, .context = flying};
	const struct until until = {
		.signals = signals,
		.duration = (uint64_t)(o->common.seconds * 1e9),
		.beside = flight_ended(flying->flight),
		.beside_ended = say_ended,
		.context = flying,
	};
	struct flight_kept kept;
	int err = flight_start(flying->flight, &place, why);

	if (!err)
		err = flight_socket_start(flying->flight, &flying->asked, why);
	if (err)
		return err;
	if (!o->common.quiet)
		host_say("recording into memory; 'stackcam keep --pid %d' keeps the last %llu s, "
			 "and so does the end",
			 (int)getpid(), (unsigned long long)(o->flight / 1000000000));
	notify("READY=1");
	err = until_end(&until);
	if (err)
		return fail_errno(why, err, NULL, "cannot wait for signals");
	flying->is_end = true;
	until_let_signals_end();
	err = flight_keep(flying->flight, "the recording ended", &kept, why);
	/* all was kept just before */
	return err == -ENODATA ? 0 : err;
}

/*
 * Records into memory until a signal, or the time that the options have; what happens, and
 * 'stackcam keep --pid', keeps the last seconds as FILM-1.film and so on, and the end as FILM.
 * Returns an exit status.
 */
static int record_flight(const struct record_options *options, int argc, char **argv)
{
	struct flying flying = {.options = options};
	char host[HOST_NAME_MAX + 1] = "localhost";
	struct buf command = {0};
	struct fail why = {0}, ended = {0};
	int signals, err;

	gethostname(host, sizeof(host) - 1);
	cmd_put_command(&command, argc, argv);
	signals = until_block_signals(&why);
	err = signals < 0 ? signals : 0;
	if (!err)
		err = load(&flying, host, command.failed ? "" : (const char *)command.at, &why);
	if (!err)
		err = fly_on(&flying, signals, &why);
	flight_stop(flying.flight);
	flight_socket_free(flying.asked);
	if (flying.flight && flight_join(flying.flight, &ended) && !err) {
		err = ended.err;
		why = ended;
	}
	flight_free(flying.flight);
	if (signals >= 0)
		close(signals);
	buf_free(&command);
	if (err)
		fail_print(&why);
	return err ? fail_exit_status(&why) : 0;
}

static void show_progress(void *context, uint64_t elapsed_ns)
{
	struct camera_statistics statistics;
	double seconds = (double)elapsed_ns / 1e9;
	char samples[32];

	camera_statistics(context, &statistics);
	text_count(samples, sizeof(samples), statistics.samples);
	fprintf(stderr, "\r\033[K%.0f s, %s samples, %llu lost, recorder at %.1f %% of one CPU",
		seconds, samples, (unsigned long long)statistics.lost,
		own_cpu_seconds() / seconds * 100);
}

/* Why a film of these events has nothing in it, as far as that is known. */
static const char *why_empty(const struct event_list *events)
{
	bool is_of_bytes = true;

	for (size_t i = 0; i < events->count; i++) {
		if (events->at[i]->is_of_all_that_runs)
			return "nothing that was to be filmed ran";
		is_of_bytes &= events->at[i]->quantity == EVENT_BYTES;
	}
	return is_of_bytes ? "there was nothing to film, or too little for a sample"
			   : "stackcam saw nothing of what it was to film";
}

static void show_end(const struct record_options *o, const struct session *session, uint64_t size)
{
	struct camera_statistics statistics;
	char samples[32], bytes[32];
	uint64_t stacks;

	camera_statistics(session->camera, &statistics);
	stacks = statistics.samples - statistics.rows;
	text_count(samples, sizeof(samples), statistics.samples);
	text_bytes(bytes, sizeof(bytes), size);
	if (session->progress)
		fputs("\r\033[K", stderr);
	text_print_safe(stderr, o->common.film);
	fprintf(stderr, ": %s sample%s in %.1f s, %s", samples, statistics.samples == 1 ? "" : "s",
		(double)session->elapsed_ns / 1e9, bytes);
	if (stacks)
		fprintf(stderr, ", %.1f %% of stacks complete",
			(double)statistics.complete * 100 / (double)stacks);
	if (statistics.lost)
		fprintf(stderr, "; %llu sample%s lost", (unsigned long long)statistics.lost,
			statistics.lost == 1 ? "" : "s");
	if (statistics.unseen_ms)
		fprintf(stderr,
			"; probes were out for %.1f s, to keep to their budget, as the report says",
			(double)statistics.unseen_ms / 1e3);
	if (statistics.other_losses)
		fprintf(stderr, "; %llu smaller loss%s, which the report names",
			(unsigned long long)statistics.other_losses,
			statistics.other_losses == 1 ? "" : "es");
	if (!statistics.lost && !statistics.other_losses && !statistics.unseen_ms)
		fputs("; nothing lost", stderr);
	if (*statistics.refusal) {
		fputs("; ", stderr);
		text_print_safe(stderr, statistics.refusal);
	}
	if (!statistics.samples)
		fprintf(stderr, "; %s", why_empty(&o->events));
	fputc('\n', stderr);
}

int cmd_record(int argc, char **argv)
{
	struct record_options o = {.sources = sources_settings_usual(),
				   .common.film = "stackcam.film",
				   .flight_bytes = FLIGHT_BYTES};
	struct command command = {.pidfd = -1, .go = -1, .failed = -1};
	struct recording recording = {.options = &o.common};
	struct command_environment environment = {0};
	struct camera *camera = NULL;
	struct camera_statistics statistics;
	struct command_options start;
	struct kept kept = {0};
	struct fail why = {0};
	int status = parse(argc, argv, &o), err;

	if (status)
		goto out;
	if (!o.events.count)
		o.events = event_list_usual();
	if (o.with_logs)
		event_list_add(&o.events, EVENT_LOGS);
	if (o.with_gpu_instructions)
		event_list_add(&o.events, EVENT_GPU_INSTRUCTIONS);
	sources_turn_on_list(&o.sources, &o.events);
	if (o.flight) {
		status = record_flight(&o, argc, argv);
		goto out;
	}
	o.camera.sources = &o.sources;
	o.camera.selection = &o.common.selection;
	o.camera.say = host_say_words;
	o.camera.quiet = o.common.quiet;
	o.camera.verbose = o.common.verbose;
	start = recording_command(&o.common);
	err = start.argv ? recording_check_command(start.argv, &command, &why) : 0;
	if (!err && o.common.selection.command)
		err = sources_command(&o.sources, &environment, &why);
	start.environment = &environment;
	if (!err && start.argv)
		err = command_prepare(&start, &command, &why);
	recorder_raise_descriptors();
	if (!err)
		err = camera_new(&o.camera, &camera, &why);
	if (!err)
		err = recording_create_film(o.common.film, o.common.labels, argc, argv,
					    &recording.film, &why);
	if (!err) {
		recording.session = (struct session){
			.camera = camera,
			.seconds = o.common.seconds,
			.command = start.argv ? &command : NULL,
			.argv = start.argv,
			.selection = &o.common.selection,
			/* not into what a command writes to the same terminal */
			.progress = !o.common.quiet && !start.argv && isatty(STDERR_FILENO)
					    ? show_progress
					    : NULL,
			.context = camera,
		};
		err = recording_run(&recording, &why);
	}
	if (!err && !o.common.quiet)
		show_end(&o, &recording.session, recording.film_bytes);
	if (!err) {
		camera_statistics(camera, &statistics);
		kept = (struct kept){statistics.samples, statistics.lost};
	}
	camera_free(camera);
	status = recording_exit_status(&command, err, &why);
	status = kept_exit_status(status, &kept, "samples");
	command_free(&command);
out:
	recording_options_free(&o.common);
	return status;
}
