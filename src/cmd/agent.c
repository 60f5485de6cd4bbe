// SPDX-License-Identifier: Apache-2.0
#include "cmd/verb.h"

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/privileges.h"
#include "base/text.h"
#include "camera/reel.h"
#include "camera/sources.h"
#include "cmd/agent_options.h"
#include "cmd/notify.h"
#include "cmd/recording.h"
#include "send/http.h"
#include "send/sender.h"
#include "send/spool.h"
#include "send/to_others.h"
#include "send/to_server.h"

#define SECOND_NS 1000000000ull

/* How long the films that wait are sent when the agent is told to end. */
#define PATIENCE_NS	 (5 * SECOND_NS)
#define PATIENCE_ONLY_NS (3600 * SECOND_NS) /* where nothing else is to be done */

/* Of unwind tables: what the programs of a usual machine need several times over. */
#define TABLES_LIMIT (48ull << 20)

/* What the thread that films still needs once its probes are attached (cmd/serve.c says what for). */
#define RECORDER_PRIVILEGES                                                                \
	(privilege(CAP_BPF) | privilege(CAP_SYS_PTRACE) | privilege(CAP_DAC_READ_SEARCH) | \
	 privilege(CAP_CHECKPOINT_RESTORE) | privilege(CAP_SYSLOG))

struct agent {
	int argc;
	char **argv;
	struct agent_options options; /* of the start */
	pthread_mutex_t lock;	      /* of rules */
	struct identity *rules;	      /* how services are called, as the file said last */
	char host[256];
	struct buf command; /* the command line, for the films */

	struct selection selection;
	struct camera_options camera;
	struct sources_settings sources;
	struct reel *reel; /* null: nothing is filmed */
	pthread_t recorder;
	bool recorder_runs;
	int wake; /* eventfd: the recorder's thread has ended, of which */
	int recorder_err;
	struct fail recorder_failed; /* to be read once it has */

	struct spool *spool;
	struct http *http; /* null: to files */
	struct destination destination;
	struct sender *sender;
	atomic_bool stop; /* of sending */
};

static void say_fail(const struct fail *why, const char *then)
{
	cmd_say("%s%s%s%s", why->what, why->to_do[0] ? "; " : "", why->to_do, then);
}

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

	/* what there is of it can be read, and is sent */
	if (err)
		say_fail(why, "");
	if (spool_done(agent->spool, path, &failed))
		say_fail(&failed, "");
}

static void tell_recording(void *context, const struct fail *why)
{
	(void)context;
	say_fail(why, "; tried again until it works");
}

static void *record(void *context)
{
	struct agent *agent = context;

	agent->recorder_err = reel_run(agent->reel, &agent->recorder_failed);
	eventfd_write(agent->wake, 1);
	return NULL;
}

static int load_camera(struct agent *agent, struct fail *why)
{
	const struct reel_options reel = {
		.camera = &agent->camera,
		.span_ns = agent->options.span,
		.hostname = agent->host,
		.labels = agent->options.common.labels,
		.command = (const char *)agent->command.at,
		.next = next_film,
		.done = film_done,
		.trouble = tell_recording,
		.works = recording_tell_works,
		.context = agent,
	};

	agent->selection.whole_machine = true;
	agent->sources = sources_settings_usual();
	sources_turn_on_list(&agent->sources, &agent->options.common.events);
	sources_set_value(&agent->sources, "frequency", agent->options.common.frequency);
	agent->camera = (struct camera_options){
		.selection = &agent->selection,
		.sources = &agent->sources,
		.tables_limit = TABLES_LIMIT,
	};
	recording_raise_descriptors();
	return reel_new(&reel, &agent->reel, why);
}

/* The sender */

static void tell_trouble(void *context, const struct fail *why)
{
	(void)context;
	say_fail(why, "; films wait in the spool");
}

static void tell_works(void *context, uint64_t films)
{
	(void)context;
	cmd_say("sending works again; films that wait: %llu", (unsigned long long)films);
}

static void tell_almost(void *context, const struct fail *why)
{
	(void)context;
	say_fail(why, "");
}

static void tell_useless(void *context, const struct spool_film *film, const struct fail *why)
{
	(void)context;
	(void)film;
	say_fail(why, "; the film is set aside");
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
	const struct to_server_options server = {
		.url = o->where,
		.host = agent->host,
		.agent = spool_agent(agent->spool),
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
	err = http_new(&http, &agent->http, why);
	others.http = agent->http;
	if (err)
		return err;
	if (o->to == AGENT_TO_PYROSCOPE)
		return to_pyroscope(&others, o->push, &agent->destination, why);
	if (o->to == AGENT_TO_OTLP)
		return to_otlp(&others, &agent->destination, why);
	return to_server(&server, agent->http, &agent->destination, why);
}

static int start_sender(struct agent *agent, struct fail *why)
{
	const struct sender_options options = {
		.spool = agent->spool,
		.destination = agent->destination,
		.stop = &agent->stop,
		.trouble = tell_trouble,
		.works = tell_works,
		.almost = tell_almost,
		.useless = tell_useless,
		.context = agent,
	};

	return sender_start(&options, &agent->sender, why);
}

/* Privileges */

static int give_folder(const struct passwd *user, const char *path, struct fail *why)
{
	if (mkdir(path, 0700) && errno != EEXIST)
		return fail_errno(why, -errno, NULL, "cannot make the folder '%s'", path);
	if (chown(path, user->pw_uid, user->pw_gid))
		return fail_errno(why, -errno, NULL, "cannot give the folder '%s' to user '%s'",
				  path, user->pw_name);
	return 0;
}

/* Becomes the user that the options name, whose folders it will write to. */
static int become_user(const struct agent_options *options, struct fail *why)
{
	const struct passwd *user;
	int err;

	if (!options->common.user)
		return 0;
	user = getpwnam(options->common.user);
	if (!user)
		return fail(why, -EINVAL, "name one of this machine", "there is no user '%s'",
			    options->common.user);
	if (user->pw_uid == geteuid())
		return 0;
	err = give_folder(user, options->spool, why);
	if (!err && options->to == AGENT_TO_PPROF)
		err = give_folder(user, options->where, why);
	return err ? err : privileges_become(user->pw_uid, user->pw_gid, options->common.user, why);
}

/* What the recorder's thread needs stays. */
static int drop_most(const struct agent *agent, struct fail *why)
{
	int err = become_user(&agent->options, why);

	if (!err)
		err = privileges_keep(RECORDER_PRIVILEGES, why);
	return err ? err : privileges_filter_calls(why);
}

/* For what begins from now on: it talks to others, and needs nothing but the spool. */
static int drop_rest(const struct agent *agent, struct fail *why)
{
	int err = 0;

	if (agent->options.to != AGENT_TO_PPROF)
		err = privileges_write_below(agent->options.spool, why);
	return err ? err : privileges_keep(0, why);
}

/* From start to end */

static int start_recorder(struct agent *agent, struct fail *why)
{
	int err = pthread_create(&agent->recorder, NULL, record, agent);

	agent->recorder_runs = !err;
	return err ? fail_errno(why, -err, NULL, "cannot start a thread") : 0;
}

static int start_filming(struct agent *agent, struct fail *why)
{
	int nice = getpriority(PRIO_PROCESS, 0), err = load_camera(agent, why);

	/* the recorder will inherit it: by then nobody may raise it any more */
	camera_raise_priority();
	if (!err)
		err = drop_most(agent, why);
	if (!err)
		err = spool_open(agent->options.spool, agent->options.spool_limit, &agent->spool,
				 why);
	if (!err)
		err = start_recorder(agent, why);
	setpriority(PRIO_PROCESS, 0, nice);
	return err ? err : drop_rest(agent, why);
}

static int start(struct agent *agent, struct fail *why)
{
	int err = agent->options.send_only
			  ? spool_open(agent->options.spool, agent->options.spool_limit,
				       &agent->spool, why)
			  : start_filming(agent, why);

	if (!err)
		err = open_destination(agent, why);
	return err ? err : start_sender(agent, why);
}

static void stop_recorder(struct agent *agent)
{
	if (!agent->recorder_runs)
		return;
	reel_stop(agent->reel);
	pthread_join(agent->recorder, NULL);
	agent->recorder_runs = false;
}

/* Reads the configuration again. What is wrong is told, and all stays as it is. */
static void reload(struct agent *agent)
{
	struct agent_options options;
	struct identity *before = NULL;

	if (agent_options_read(agent->argc, agent->argv, &options)) {
		cmd_say("nothing is changed");
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
	cmd_say("the configuration was read again");
}

/* Until a signal ends it, the time is over, or the recorder cannot go on. */
static int wait_for_end(struct agent *agent, int signals)
{
	struct pollfd fds[] = {{.fd = signals, .events = POLLIN},
			       {.fd = agent->wake, .events = POLLIN}};
	uint64_t watchdog = notify_watchdog(), begin = clock_ns(), passed;
	const uint64_t step = watchdog ? watchdog / 2 : 60 * SECOND_NS;
	const uint64_t duration = agent->options.duration;
	struct signalfd_siginfo signal;

	for (;;) {
		uint64_t wait = step;
		int count;

		passed = clock_ns() - begin;
		if (duration && passed >= duration)
			return 0;
		if (duration && duration - passed < step)
			wait = duration - passed;
		count = poll(fds, 2, (int)(wait / 1000000) + 1);
		if (count > 0 && fds[1].revents)
			return agent->recorder_err;
		notify("WATCHDOG=1");
		if (count <= 0 || read(signals, &signal, sizeof(signal)) != sizeof(signal))
			continue;
		if (signal.ssi_signo != SIGHUP)
			return 0;
		reload(agent);
	}
}

static void say_end(const struct agent *agent)
{
	struct spool_status status;

	spool_status(agent->spool, &status);
	cmd_say("%llu film%s sent%s", (unsigned long long)status.sent, text_plural(status.sent),
		status.films ? "; others wait in the spool for the next start" : "");
	if (status.lost)
		cmd_say("%llu film%s lost: the spool was full", (unsigned long long)status.lost,
			text_plural(status.lost));
}

static int run(struct agent *agent, int signals, struct fail *why)
{
	struct spool_status status;
	int err = start(agent, why);

	if (!err && !agent->options.send_only) {
		notify("READY=1");
		cmd_say("filming this machine; films go to %s", http_shown(agent->options.where));
		err = wait_for_end(agent, signals);
		notify("STOPPING=1");
	}
	stop_recorder(agent);
	if (err && agent->recorder_err)
		*why = agent->recorder_failed;
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

/* Signals are waited for: no thread is interrupted by them. */
static int take_signals(void)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static int film_and_send(struct agent *agent, struct fail *why)
{
	int signals, err;

	if (agent->options.host)
		snprintf(agent->host, sizeof(agent->host), "%s", agent->options.host);
	else if (gethostname(agent->host, sizeof(agent->host) - 1))
		strcpy(agent->host, "localhost");
	agent->wake = eventfd(0, EFD_CLOEXEC);
	/* while the spool is being emptied, a signal ends it as any other program */
	signals = agent->options.send_only ? -1 : take_signals();
	err = run(agent, signals, why);
	if (agent->destination.free)
		agent->destination.free(agent->destination.self);
	http_free(agent->http);
	reel_free(agent->reel);
	spool_free(agent->spool);
	close(agent->wake);
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
	selection_free(&agent->selection);
	agent_options_free(&agent->options);
	free(agent);
	return status < 0 ? 0 : status;
}
