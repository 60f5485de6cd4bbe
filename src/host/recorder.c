// SPDX-License-Identifier: Apache-2.0
#include "host/recorder.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "record/reel.h"
#include "record/sources.h"
#include "host/say.h"

/* Of unwind tables: what the programs of a usual machine need several times over. */
#define TABLES_LIMIT (32ull << 20)
/* The same where some programs are chosen. */
#define TABLES_LIMIT_CHOSEN (16ull << 20)

/*
 * Of each CPU's ring: of four events some seconds of a busy machine, and while the reader is busy
 * for longer, what is in it goes aside (attach/rings.h). A log of switches takes no more.
 */
#define RING_LIMIT (4u << 20)

/*
 * Bytes of a film's tables, which are in memory while the film is indexed and while it is packed.
 */
#define TABLES_OF_FILM (8u << 20)

/* Stacks of waits a second and CPU: recording that never ends must not follow what programs do. */
#define WAIT_STACKS 100
/* Page faults for each stack: of a machine that does nothing but compile, some 200 a second. */
#define FAULT_PERIOD 1021

#define STILL_NS     15000000000ull

struct recorder {
	struct recorder_options options;
	struct selection everything;
	struct camera_options camera;
	struct sources_settings sources;
	struct reel *reel;
	int nice; /* of the one who made it */

	pthread_t thread;
	bool runs;
	int ended; /* eventfd */
	int err;   /* what ended it, of the thread until then */
	struct fail failed;
};

static void report_trouble(void *context, const struct fail *why)
{
	(void)context;
	host_say_fail(why, "; tried again until it works");
}

static void report_works(void *context, uint64_t unwritten)
{
	char samples[32];

	(void)context;
	text_count(samples, sizeof(samples), unwritten);
	host_say("films are written again; samples of this time that are in none: %s", samples);
}

static struct sources_settings usual_sources(const struct recorder_options *options)
{
	struct sources_settings sources = sources_settings_usual();

	sources_turn_on_list(&sources, options->events);
	if (options->frequency)
		sources_set_value(&sources, "frequency", options->frequency);
	if (options->requests.markers)
		sources_set(&sources, "markers", options->requests.markers, NULL);
	sources_set_value(&sources, "sample-cpu", options->sample_cpu);
	sources_set_value(&sources, "keep-query", options->requests.keep_query);
	sources_set_value(&sources, "wait-stacks", WAIT_STACKS);
	sources_set_value(&sources, "fault-period", FAULT_PERIOD);
	return sources;
}

static int load(struct recorder *recorder, struct fail *why)
{
	const struct recorder_options *options = &recorder->options;
	const struct reel_options reel = {
		.camera = &recorder->camera,
		.span_ns = options->span_ns,
		.tables_max = TABLES_OF_FILM,
		.aligned = options->aligned,
		.hostname = options->hostname,
		.labels = options->labels,
		.command = options->command,
		.next = options->next,
		.done = options->done,
		.in_memory = options->in_memory,
		.bytes_max = options->bytes_max,
		.taken = options->taken,
		.grows = options->grows,
		.trouble = report_trouble,
		.works = report_works,
		.context = options->context,
	};

	recorder->everything.whole_machine = true;
	recorder->sources = options->sources ? *options->sources : usual_sources(options);
	recorder->camera = (struct camera_options){
		.selection = options->selection ? options->selection : &recorder->everything,
		.sources = &recorder->sources,
		/* the thread gives up what that takes (drop_to_recorder()) */
		.loads_once = true,
		.names_soon = options->names_soon,
		.symbols.leaves_builds = options->leaves_builds,
		.tables_limit = options->selection ? TABLES_LIMIT_CHOSEN : TABLES_LIMIT,
		.ring_limit = RING_LIMIT,
		.listener = {options->happened, options->context},
		.limits = options->limits,
		.verbose = true,
		.say = host_say_words,
		.quiet = options->quiet,
	};
	recorder_raise_descriptors();
	return reel_new(&reel, &recorder->reel, why);
}

int recorder_new(const struct recorder_options *options, struct recorder **result, struct fail *why)
{
	struct recorder *recorder = calloc(1, sizeof(*recorder));
	int err = 0;

	*result = NULL;
	if (!recorder)
		return fail_errno(why, -ENOMEM, NULL, "cannot record");
	recorder->options = *options;
	recorder->nice = getpriority(PRIO_PROCESS, 0);
	recorder->ended = eventfd(0, EFD_CLOEXEC);
	if (recorder->ended < 0)
		err = fail_errno(why, -errno, NULL, "cannot wait for the recorder");
	if (!err)
		err = load(recorder, why);
	if (err) {
		recorder_free(recorder);
		return err;
	}
	/* the thread will inherit it: by then no code may raise it any more */
	camera_raise_priority();
	*result = recorder;
	return 0;
}

static void *record(void *context)
{
	struct recorder *recorder = context;

	pthread_setname_np(pthread_self(),
			   recorder->options.thread ? recorder->options.thread : "recorder");
	recorder->err = reel_run(recorder->reel, &recorder->failed);
	eventfd_write(recorder->ended, 1);
	return NULL;
}

int recorder_start(struct recorder *recorder, struct fail *why)
{
	int err = pthread_create(&recorder->thread, NULL, record, recorder);

	recorder->runs = !err;
	setpriority(PRIO_PROCESS, 0, recorder->nice);
	return err ? fail_errno(why, -err, NULL, "cannot start a thread") : 0;
}

int recorder_await(struct recorder *recorder, struct fail *why)
{
	return reel_await(recorder->reel) ? recorder_join(recorder, why) : 0;
}

void recorder_turn(struct recorder *recorder)
{
	if (recorder && recorder->runs)
		reel_turn(recorder->reel);
}

void recorder_stop(struct recorder *recorder)
{
	if (recorder && recorder->runs)
		reel_stop(recorder->reel);
}

int recorder_join(struct recorder *recorder, struct fail *why)
{
	if (!recorder)
		return 0;
	if (recorder->runs)
		pthread_join(recorder->thread, NULL);
	recorder->runs = false;
	if (recorder->err)
		*why = recorder->failed;
	return recorder->err;
}

void recorder_free(struct recorder *recorder)
{
	if (!recorder)
		return;
	reel_free(recorder->reel);
	if (recorder->ended >= 0)
		close(recorder->ended);
	free(recorder);
}

int recorder_ended(const struct recorder *recorder)
{
	return recorder ? recorder->ended : -1;
}

/* It says how it is once a second, however busy the machine. */
static bool is_still(const struct reel_statistics *statistics, uint64_t now)
{
	return statistics->seen && now > statistics->seen + STILL_NS;
}

void recorder_state(struct recorder *recorder, struct recorder_state *state)
{
	struct reel_statistics statistics;
	uint64_t now;

	*state = (struct recorder_state){0};
	if (!recorder)
		return;
	reel_statistics(recorder->reel, &statistics);
	now = clock_ns();
	*state = (struct recorder_state){
		.is_filming = statistics.is_writing,
		.samples = statistics.samples,
		.lost = statistics.lost,
		.frequency = statistics.frequency,
		.cpu_seconds = statistics.cpu_seconds,
		.hung = statistics.hung,
		.hung_ns = statistics.hung ? now - statistics.hung_since : 0,
		.still_ns = is_still(&statistics, now) ? now - statistics.seen : 0,
		.run_ns = statistics.run_ns,
		.losses = statistics.losses,
	};
}

void recorder_raise_descriptors(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}
