// SPDX-License-Identifier: Apache-2.0
#include "cmd/verb.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/text.h"
#include "cmd/agent_options.h"
#include "host/drop.h"
#include "host/flight.h"
#include "host/flight_socket.h"
#include "host/notify.h"
#include "host/recorder.h"
#include "host/say.h"
#include "host/until.h"
#include "send/http.h"
#include "send/sender.h"
#include "send/spool.h"
#include "send/to_others.h"
#include "send/to_collectors.h"

/* How long the agent goes on to send the films that wait when it has been asked to end. */
#define PATIENCE_NS	 (5 * SECOND_NS)
#define PATIENCE_ONLY_NS (3600 * SECOND_NS) /* where nothing else is to be done */

struct agent {
	int argc;
	char **argv;
	struct agent_options options; /* of the start */
	pthread_mutex_t lock;	      /* of rules */
	struct identity *rules;	      /* how services are called, as the file said last */
	char host[256];
	struct buf command; /* the command line, for the films */

	struct recorder *recorder;   /* null: nothing is filmed */
	struct flight *flight;	     /* null: there is no flight recorder */
	struct flight_socket *asked; /* by which it is asked to keep what it has */
	struct spool *spool;
	struct http *http; /* null: to files */
	struct destination destination;
	struct sender *sender;
	atomic_bool stop; /* of sending */
};

/* The recorder */

static int next_film(void *context, uint64_t now, char *path, size_t size, struct fail *why)
{
	struct agent *agent = context;

	return spool_next(agent->spool, now, path, size, why);
}

static void film_done(void *context, const char *path, int err, const struct fail *why)
{
	struct agent *agent = context;
	struct fail failed = {0};

	/* the part that was written can be read, and is sent */
	if (err)
		host_say_fail(why, "");
	if (spool_done(agent->spool, path, &failed))
		host_say_fail(&failed, "");
}

static int load_recorder(struct agent *agent, struct fail *why)
{
	const struct recorder_options options = {
		.events = &agent->options.common.events,
		.frequency = agent->options.common.frequency,
		.sample_cpu = agent->options.common.sample_cpu,
		.requests = agent->options.common.requests,
		.span_ns = agent->options.span,
		.leaves_builds = agent->options.names_by_server,
		.hostname = agent->host,
		.labels = agent->options.common.labels,
		.command = (const char *)agent->command.at,
		.next = next_film,
		.done = film_done,
		.context = agent,
	};

	return recorder_new(&options, &agent->recorder, why);
}

/* The flight recorder: what it keeps is sent as all other films are */

static int load_flight(struct agent *agent, struct fail *why)
{
	const struct camera_names names = {agent->host, agent->options.common.labels,
					   (const char *)agent->command.at};

	return camera_load_flight(&agent->options.camera, &agent->options.common.requests,
				  &agent->options.common.events, &names, &agent->flight, why);
}

static int keep_in_spool(void *context, const struct store_keep *films, char *path, size_t size,
			 struct fail *why)
{
	struct agent *agent = context;
	struct store_keep sent = *films;
	char *end;
	int err = films->count ? spool_next(agent->spool, clock_wall(), path, size, why) : 0;

	for (size_t i = 0; err && i < films->count; i++)
		film_bytes_free(&films->films[i]);
	sent.is_sent = true;
	if (!err)
		err = store_keep_at(agent->options.spool, &sent, path, why);
	if (!err)
		err = spool_done(agent->spool, path, why);
	/* which has given it another ending */
	if (!err && (end = strrchr(path, '.')))
		snprintf(end, size - (size_t)(end - path), ".film");
	return err;
}

static int start_flight(struct agent *agent, struct fail *why)
{
	const struct flight_place place = {.keep = keep_in_spool, .context = agent};
	int err = flight_start(agent->flight, &place, why);

	return err ? err : flight_socket_start(agent->flight, &agent->asked, why);
}

static void say_flight_ended(void *context)
{
	struct agent *agent = context;

	camera_say_flight_ended(agent->flight);
}

/* The sender */

static void report_trouble(void *context, const struct fail *why)
{
	(void)context;
	host_say_fail(why, "; films wait in the spool");
}

static void report_works(void *context, uint64_t films)
{
	(void)context;
	host_say("sending works again; films that wait: %llu", (unsigned long long)films);
}

static void report_almost(void *context, const struct fail *why)
{
	(void)context;
	host_say_fail(why, "");
}

static void report_useless(void *context, const struct spool_film *film, const struct fail *why)
{
	(void)context;
	(void)film;
	host_say_fail(why, "; the film is set aside");
}

static void log_line(void *context, const char *text)
{
	(void)context;
	host_say("%s", text);
}

static void service_of(void *context, const struct film_process *process, char *to, size_t size)
{
	struct agent *agent = context;

	pthread_mutex_lock(&agent->lock);
	identity_of(agent->rules, process, to, size);
	pthread_mutex_unlock(&agent->lock);
}

static int open_destination(struct agent *agent, struct fail *why)
{
	const struct agent_options *o = &agent->options;
	const struct http_options http = {
		.ca = o->ca,
		.certificate = o->certificate,
		.key = o->key,
		.token_file = o->common.token_file,
		.stop = &agent->stop,
	};
	const struct to_collectors_options collectors = {
		.urls = o->where,
		.host = agent->host,
		.spool = agent->spool,
		.log = log_line,
		.context = agent,
	};
	struct to_others_options others = {
		.where = o->where,
		.service_of = service_of,
		.context = agent,
		.limit = o->pprof_limit,
	};
	int err;

	if (o->to == AGENT_TO_PPROF)
		return to_pprof_folder(&others, &agent->destination, why);
	host_say_exposed(o->common.token_file);
	err = http_new(&http, &agent->http, why);
	others.http = agent->http;
	if (err)
		return err;
	if (o->to == AGENT_TO_PYROSCOPE)
		return to_pyroscope(&others, o->push, &agent->destination, why);
	if (o->to == AGENT_TO_OTLP)
		return to_otlp(&others, &agent->destination, why);
	return to_collectors(&collectors, agent->http, &agent->destination, why);
}

static int start_sender(struct agent *agent, struct fail *why)
{
	const struct sender_options options = {
		.spool = agent->spool,
		.destination = agent->destination,
		.stop = &agent->stop,
		.trouble = report_trouble,
		.works = report_works,
		.almost = report_almost,
		.useless = report_useless,
		.context = agent,
	};

	return sender_start(&options, &agent->sender, why);
}

/* From start to end */

/* Becomes the user that the options name, whose folders it will write to. */
static int become_user(const struct agent_options *options, struct fail *why)
{
	const struct drop_folder folders[] = {{.path = options->spool}, {.path = options->where}};

	return drop_to_user(options->common.user, folders, options->to == AGENT_TO_PPROF ? 2 : 1,
			    why);
}

static int open_spool(struct agent *agent, struct fail *why)
{
	return spool_open(agent->options.spool, agent->options.spool_limit, &agent->spool, why);
}

/* What begins behind the recorder talks to others, and needs nothing but the spool. */
static int start_filming(struct agent *agent, struct fail *why)
{
	const bool is_to_files = agent->options.to == AGENT_TO_PPROF;
	int err = load_recorder(agent, why);

	if (!err)
		err = load_flight(agent, why);
	if (!err)
		err = become_user(&agent->options, why);
	if (!err)
		err = drop_to_recorder(0, why);
	if (!err)
		err = open_spool(agent, why);
	/* the last that was loaded first, as each gives back the priority that it found */
	if (!err && agent->flight)
		err = start_flight(agent, why);
	if (!err)
		err = recorder_start(agent->recorder, why);
	if (!err)
		err = recorder_await(agent->recorder, why);
	return err ? err : drop_to_others(is_to_files ? NULL : agent->options.spool, NULL, 0, why);
}

static int start(struct agent *agent, struct fail *why)
{
	int err = agent->options.send_only ? open_spool(agent, why) : start_filming(agent, why);

	if (!err)
		err = open_destination(agent, why);
	return err ? err : start_sender(agent, why);
}

/* Reads the configuration again. It reports what is wrong, and then changes nothing. */
static void reload(void *context)
{
	struct agent *agent = context;
	struct agent_options options;
	struct identity *before = NULL;

	if (agent_options_read(agent->argc, agent->argv, &options)) {
		host_say("nothing is changed");
		agent_options_free(&options);
		return;
	}
	agent_options_say_kept(&agent->options, &options);
	pthread_mutex_lock(&agent->lock);
	before = agent->rules;
	agent->rules = options.common.identity;
	options.common.identity = NULL;
	pthread_mutex_unlock(&agent->lock);
	identity_free(before);
	spool_set_limit(agent->spool, options.spool_limit);
	agent_options_free(&options);
	host_say("the configuration was read again");
}

static void say_end(const struct agent *agent)
{
	struct spool_status status;

	spool_status(agent->spool, &status);
	host_say("%llu film%s sent%s", (unsigned long long)status.sent, text_plural(status.sent),
		 status.films ? "; others wait in the spool for the next start" : "");
	if (status.lost)
		host_say("%llu film%s lost: the spool was full", (unsigned long long)status.lost,
			 text_plural(status.lost));
}

/* Until something ends it. Returns 0 or a negative errno. */
static int film(struct agent *agent, int signals)
{
	const struct until until = {
		.beside = flight_ended(agent->flight),
		.beside_ended = say_flight_ended,
		.signals = signals,
		.duration = agent->options.duration,
		.recorder = agent->recorder,
		.reload = reload,
		.context = agent,
	};
	int err;

	notify("READY=1");
	host_say("filming this machine; films go to %s", http_shown(agent->options.where));
	err = until_end(&until);
	notify("STOPPING=1");
	return err;
}

static int run(struct agent *agent, int signals, struct fail *why)
{
	struct fail ended = {0};
	struct spool_status status;
	int err = start(agent, why);

	if (!err && !agent->options.send_only) {
		err = film(agent, signals);
		if (err)
			fail_errno(why, err, NULL, "cannot wait for signals");
	}
	flight_stop(agent->flight);
	recorder_stop(agent->recorder);
	if (recorder_join(agent->recorder, &ended) && !err) {
		err = ended.err;
		*why = ended;
	}
	flight_socket_free(agent->asked);
	if (flight_join(agent->flight, &ended) && !err) {
		err = ended.err;
		*why = ended;
	}
	sender_stop(agent->sender, agent->options.send_only ? PATIENCE_ONLY_NS : PATIENCE_NS);
	if (!agent->spool)
		return err;
	spool_status(agent->spool, &status);
	if (!err && agent->options.send_only && status.films)
		return fail(why, -EAGAIN, "send them later",
			    "films that wait in the spool %s: %llu", agent->options.spool,
			    (unsigned long long)status.films);
	if (!err)
		say_end(agent);
	return err;
}

static void put_command(struct agent *agent, int argc, char **argv)
{
	const char *user;
	size_t length;

	buf_put_text(&agent->command, "stackcam");
	for (int i = 0; i < argc; i++) {
		length = http_user(argv[i], &user);
		buf_printf(&agent->command, " %.*s%s", (int)(user - argv[i]), argv[i],
			   user + length);
	}
	buf_put_u8(&agent->command, 0);
}

static int film_and_send(struct agent *agent, struct fail *why)
{
	int signals = -1, err = 0;

	if (agent->options.host)
		snprintf(agent->host, sizeof(agent->host), "%s", agent->options.host);
	else if (gethostname(agent->host, sizeof(agent->host) - 1))
		strcpy(agent->host, "localhost");
	/* while the spool is being emptied, a signal ends it as any other program */
	if (!agent->options.send_only) {
		signals = until_block_signals(why);
		err = signals < 0 ? signals : 0;
	}
	if (!err)
		err = run(agent, signals, why);
	if (agent->destination.free)
		agent->destination.free(agent->destination.self);
	http_free(agent->http);
	flight_free(agent->flight);
	recorder_free(agent->recorder);
	spool_free(agent->spool);
	if (signals >= 0)
		close(signals);
	return err;
}

int cmd_agent(int argc, char **argv)
{
	struct agent *agent = calloc(1, sizeof(*agent));
	struct fail why = {0};
	int status = EXIT_FAILURE;

	if (!agent)
		return status;
	pthread_mutex_init(&agent->lock, NULL);
	agent->argc = argc;
	agent->argv = argv;
	status = agent_options_read(argc, argv, &agent->options);
	if (!status) {
		agent->rules = agent->options.common.identity;
		agent->options.common.identity = NULL;
		put_command(agent, argc, argv);
		if (film_and_send(agent, &why)) {
			fail_print(&why);
			status = fail_exit_status(&why);
		}
	}
	buf_free(&agent->command);
	identity_free(agent->rules);
	pthread_mutex_destroy(&agent->lock);
	agent_options_free(&agent->options);
	free(agent);
	return status < 0 ? 0 : status;
}
