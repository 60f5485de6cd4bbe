// SPDX-License-Identifier: Apache-2.0
#include "cmd/verb.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <malloc.h>
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
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/privileges.h"
#include "base/text.h"
#include "base/tokens.h"
#include "camera/reel.h"
#include "camera/sources.h"
#include "cmd/notify.h"
#include "cmd/recording.h"
#include "cmd/serve_options.h"
#include "server/server.h"
#include "store/store.h"

/* Films become one when their hour is over; until then each is read again and again as it grows. */
#define FILM_NS 600000000000ull
#define TICK_MS 10000
/* That a token may send in an hour: those of 1000 agents that send every ten seconds. */
#define SENDER_FILMS 360000
/* In each, what films have more than before is looked for so many times besides. */
#define FOLLOWS	     3
#define KEEP_DEFAULT 10000000000ull
/* Of unwind tables: what the programs of a usual machine need several times over. */
#define TABLES_LIMIT (48ull << 20)

/*
 * What the thread that films still needs once its probes are attached: tables for new programs (BPF), to look
 * into processes (SYS_PTRACE) and their files (DAC_READ_SEARCH, CHECKPOINT_RESTORE for those that have no name
 * any more), and the kernel's names (SYSLOG).
 */
#define RECORDER_PRIVILEGES                                                                \
	(privilege(CAP_BPF) | privilege(CAP_SYS_PTRACE) | privilege(CAP_DAC_READ_SEARCH) | \
	 privilege(CAP_CHECKPOINT_RESTORE) | privilege(CAP_SYSLOG))

struct serve {
	int argc;
	char **argv;
	struct serve_options options;
	char host[HOST_NAME_MAX + 1];
	struct buf command; /* the command line, for the films */

	struct selection selection;
	struct camera_options camera;
	struct sources_settings sources;
	struct reel *reel; /* null: nothing is filmed */
	struct store *store;
	struct server *server;

	int wake, end; /* eventfds: a thread tells that it has ended; threads are told to end */
	pthread_t recorder, keeper;
	bool recorder_runs, keeper_runs;
	struct fail
		recorder_failed; /* what ended it; of the recorder, to be read once it has ended */
	int recorder_err;
	bool tick_failed;	 /* of the keeper */
	atomic_uint cpu;	 /* of the recorder, in the last seconds: millionths of one core */
	double last_cpu_seconds; /* of the keeper, as the next */
	uint64_t last_cpu_time;
	double pulse; /* of the recorder, when the watchdog was told last */
};

/* The recorder */

static int next_film(void *context, uint64_t now, char *path, size_t size, struct fail *why)
{
	struct serve *serve = context;

	return store_film_path(serve->store, serve->host, now, path, size, why);
}

static void tell_trouble(void *context, const struct fail *why)
{
	(void)context;
	cmd_say("%s%s%s; tried again until it works", why->what, why->to_do[0] ? "; " : "",
		why->to_do);
}

static void *record(void *context)
{
	struct serve *serve = context;

	pthread_setname_np(pthread_self(), "recorder");
	serve->recorder_err = reel_run(serve->reel, &serve->recorder_failed);
	eventfd_write(serve->wake, 1);
	return NULL;
}

static int load_camera(struct serve *serve, struct fail *why)
{
	struct reel_options reel = {
		.camera = &serve->camera,
		.span_ns = FILM_NS,
		.aligned = true,
		.hostname = serve->host,
		.labels = serve->options.common.labels,
		.command = (const char *)serve->command.at,
		.next = next_film,
		.trouble = tell_trouble,
		.works = recording_tell_works,
		.context = serve,
	};

	serve->selection.whole_machine = true;
	serve->sources = sources_settings_usual();
	sources_turn_on_list(&serve->sources, &serve->options.common.events);
	sources_set_value(&serve->sources, "frequency", serve->options.common.frequency);
	serve->camera = (struct camera_options){
		.selection = &serve->selection,
		.sources = &serve->sources,
		.names_soon = true,
		.tables_limit = TABLES_LIMIT,
	};
	recording_raise_descriptors();
	return reel_new(&reel, &serve->reel, why);
}

static void say_recorder(void *context, struct server_recorder *recorder)
{
	struct serve *serve = context;
	struct reel_statistics statistics;

	reel_statistics(serve->reel, &statistics);
	*recorder = (struct server_recorder){
		.is_filming = statistics.is_writing,
		.samples = statistics.samples,
		.lost = statistics.lost,
		.cpu = (double)atomic_load(&serve->cpu) / 1e6,
		.frequency = statistics.frequency,
	};
}

/* The keeper: the store's housekeeping. */

static void measure_recorder(struct serve *serve)
{
	struct reel_statistics statistics;
	uint64_t now = clock_ns();

	if (!serve->reel)
		return;
	reel_statistics(serve->reel, &statistics);
	if (serve->last_cpu_time && now > serve->last_cpu_time)
		atomic_store(&serve->cpu,
			     (unsigned int)((statistics.cpu_seconds - serve->last_cpu_seconds) *
					    1e15 / (double)(now - serve->last_cpu_time)));
	serve->last_cpu_time = now;
	serve->last_cpu_seconds = statistics.cpu_seconds;
}

static void *keep(void *context)
{
	struct serve *serve = context;
	struct pollfd end = {.fd = serve->end, .events = POLLIN};
	bool is_ended = false;
	struct fail why;

	pthread_setname_np(pthread_self(), "keeper");
	do {
		why = (struct fail){0};
		if (store_tick(serve->store, clock_wall(), &why)) {
			if (!serve->tick_failed)
				cmd_say("%s; tried again until it works", why.what);
			serve->tick_failed = true;
		} else {
			if (serve->tick_failed)
				cmd_say("the store works again");
			serve->tick_failed = false;
		}
		measure_recorder(serve);
		for (int i = 0; !is_ended && i < FOLLOWS; i++) {
			is_ended = poll(&end, 1, TICK_MS / (FOLLOWS + 1)) > 0;
			/* what is wrong shows at the next tick */
			if (!is_ended)
				store_follow(serve->store, &why);
		}
	} while (!is_ended && poll(&end, 1, TICK_MS / (FOLLOWS + 1)) <= 0);
	return NULL;
}

/* The store */

static void tell_store(void *context, const char *words)
{
	(void)context;
	cmd_say("%s", words);
}

static void store_settings(const struct serve_options *options, struct store_options *settings)
{
	struct statvfs fs;

	*settings = (struct store_options){
		.path = options->store,
		.bytes_max = options->keep_bytes,
		.age_max = options->keep_age,
		.identity = options->common.identity,
		.tell = tell_store,
	};
	if (options->keep_bytes != SERVE_KEEP_DEFAULT)
		return;
	settings->bytes_max = KEEP_DEFAULT;
	if (!statvfs(options->store, &fs) && fs.f_frsize * fs.f_blocks / 10 < KEEP_DEFAULT)
		settings->bytes_max = fs.f_frsize * fs.f_blocks / 10;
}

static int open_store(struct serve *serve, struct fail *why)
{
	struct store_options settings;

	/* it must be there for its disk to be asked how large it is; why it cannot be, store_open() says */
	(void)!mkdir(serve->options.store, 0700);
	store_settings(&serve->options, &settings);
	return store_open(&settings, &serve->store, why);
}

/* The server */

/* Paths that settings point into. */
struct server_paths {
	char spool[PATH_MAX], tokens[PATH_MAX];
};

static void log_line(void *context, const char *words)
{
	(void)context;
	cmd_say("%s", words);
}

/* Where the tokens are: in the store, unless another file is named, or certificates say who is who. */
static const char *token_file(const struct serve_options *options, struct server_paths *paths)
{
	if (options->common.token_file || options->client_ca)
		return options->common.token_file;
	snprintf(paths->tokens, sizeof(paths->tokens), "%s/tokens", options->store);
	return paths->tokens;
}

static void server_settings(struct serve *serve, const struct serve_options *options,
			    struct server_paths *paths, struct server_options *settings)
{
	snprintf(paths->spool, sizeof(paths->spool), "%s/spool", options->store);
	*settings = (struct server_options){
		.address = options->address,
		.port = options->port,
		.token_file = token_file(options, paths),
		.read_open = options->read_open,
		.tls_certificate = options->tls_certificate,
		.tls_key = options->tls_key,
		.client_ca = options->client_ca,
		.store = serve->store,
		.spool = paths->spool,
		.host = serve->host,
		.recorder = serve->reel ? say_recorder : NULL,
		.say = log_line,
		.context = serve,
		.limits.sender_bytes = options->sender_bytes,
		.limits.sender_films = options->sender_bytes ? SENDER_FILMS : 0,
	};
}

static int start_server(struct serve *serve, struct fail *why)
{
	struct server_options settings;
	struct server_paths paths;
	int err = 0;

	server_settings(serve, &serve->options, &paths, &settings);
	if (settings.token_file == paths.tokens)
		err = tokens_make(paths.tokens, why);
	if (err && err != -EEXIST)
		return err;
	return server_start(&settings, &serve->server, why);
}

/* Privileges */

/* What root will no longer be able to: to write where another user's files are. */
static int check_owner(const struct serve_options *options, struct fail *why)
{
	struct passwd *owner;
	struct stat st;

	if (geteuid() || stat(options->store, &st) || !st.st_uid)
		return 0;
	owner = getpwuid(st.st_uid);
	return fail(why, -EACCES, "name that user with --user, or another folder with --store",
		    "the store '%s' belongs to user %s", options->store,
		    owner ? owner->pw_name : "of another system");
}

/* Becomes the user that the options name; what it will write to is made, and made that user's. */
static int become_user(const struct serve_options *options, struct fail *why)
{
	struct passwd *user;

	if (!options->common.user)
		return check_owner(options, why);
	user = getpwnam(options->common.user);
	if (!user)
		return fail(why, -EINVAL, "name one of this machine", "there is no user '%s'",
			    options->common.user);
	if (user->pw_uid == geteuid())
		return 0;
	if (!mkdir(options->store, 0700) && chown(options->store, user->pw_uid, user->pw_gid))
		return fail_errno(why, -errno, NULL, "cannot give the store '%s' to user '%s'",
				  options->store, options->common.user);
	return privileges_become(user->pw_uid, user->pw_gid, options->common.user, why);
}

/* What the socket needs. */
static uint64_t to_listen(const struct serve_options *options)
{
	return options->port && options->port < 1024 ? privilege(CAP_NET_BIND_SERVICE) : 0;
}

/* What the recorder's thread needs stays. */
static int drop_most(const struct serve *serve, struct fail *why)
{
	int err = become_user(&serve->options, why);

	if (!err)
		err = privileges_keep(RECORDER_PRIVILEGES | to_listen(&serve->options), why);
	return err ? err : privileges_filter_calls(why);
}

/* For what begins from now on, which is all but the recorder: it serves the network, and needs nothing. */
static int drop_rest(const struct serve *serve, struct fail *why)
{
	int err = privileges_write_below(serve->options.store, why);

	return err ? err : privileges_keep(to_listen(&serve->options), why);
}

/* From start to end */

static int start_thread(pthread_t *thread, void *(*run)(void *), struct serve *serve, bool *runs,
			struct fail *why)
{
	int err = pthread_create(thread, NULL, run, serve);

	*runs = !err;
	return err ? fail_errno(why, -err, NULL, "cannot start a thread") : 0;
}

static int start(struct serve *serve, struct fail *why)
{
	int nice = getpriority(PRIO_PROCESS, 0), err = 0;

	if (!serve->options.no_record) {
		err = load_camera(serve, why);
		/* the recorder will inherit it: by then nobody may raise it any more */
		camera_raise_priority();
	}
	if (!err)
		err = drop_most(serve, why);
	if (!err)
		err = open_store(serve, why);
	if (!err && serve->reel)
		err = start_thread(&serve->recorder, record, serve, &serve->recorder_runs, why);
	setpriority(PRIO_PROCESS, 0, nice);
	if (!err)
		err = drop_rest(serve, why);
	if (!err)
		err = start_thread(&serve->keeper, keep, serve, &serve->keeper_runs, why);
	return err ? err : start_server(serve, why);
}

static void stop(struct serve *serve)
{
	notify("STOPPING=1");
	if (serve->recorder_runs)
		reel_stop(serve->reel);
	eventfd_write(serve->end, 1);
	server_stop(serve->server);
	if (serve->recorder_runs)
		pthread_join(serve->recorder, NULL);
	if (serve->keeper_runs)
		pthread_join(serve->keeper, NULL);
	reel_free(serve->reel);
	store_free(serve->store);
}

/* Reads the configuration again. What is wrong is told, and all stays as it is. */
static void reload(struct serve *serve)
{
	struct serve_options options;
	struct server_options server;
	struct store_options settings;
	struct server_paths paths;
	struct fail why = {0};

	if (serve_options_read(serve->argc, serve->argv, &options)) {
		cmd_say("nothing is changed");
		serve_options_free(&options);
		return;
	}
	serve_options_say_kept(&serve->options, &options);
	server_settings(serve, &options, &paths, &server);
	store_settings(&options, &settings);
	if (server_configure(serve->server, &server, &why) ||
	    store_configure(serve->store, &settings, &why))
		fail_print(&why);
	else
		cmd_say("the configuration was read again");
	serve_options_free(&options);
}

/* The recorder's own time goes on if it lives: it looks at its rings some times a second. */
static void feed_watchdog(struct serve *serve)
{
	struct reel_statistics statistics;

	if (serve->reel) {
		reel_statistics(serve->reel, &statistics);
		if (statistics.cpu_seconds <= serve->pulse)
			return;
		serve->pulse = statistics.cpu_seconds;
	}
	notify("WATCHDOG=1");
}

/* Until a signal ends it, or the recorder cannot go on. */
static int wait_for_end(struct serve *serve, int signals)
{
	struct pollfd fds[] = {{.fd = signals, .events = POLLIN},
			       {.fd = serve->wake, .events = POLLIN}};
	uint64_t watchdog = notify_watchdog();
	int timeout = watchdog ? (int)(watchdog / 3000000) : -1;
	struct signalfd_siginfo signal;

	for (;;) {
		int n = poll(fds, 2, timeout);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (watchdog)
			feed_watchdog(serve);
		if (n > 0 && fds[1].revents)
			return serve->recorder_err;
		if (n <= 0 || read(signals, &signal, sizeof(signal)) != sizeof(signal))
			continue;
		if (signal.ssi_signo != SIGHUP)
			return 0;
		reload(serve);
	}
}

/* The token to read, for the one who opens the page; to be freed. Null: none is needed, or there is none. */
static char *token_to_read(const struct serve *serve)
{
	struct server_paths paths;
	const char *path = token_file(&serve->options, &paths);
	const struct token *token;
	struct tokens tokens = {0};
	char *text = NULL;

	if (!path || serve->options.read_open || tokens_read(path, &tokens, NULL))
		return NULL;
	token = tokens_to_read(&tokens);
	if (token)
		text = strdup(token->text);
	tokens_free(&tokens);
	return text;
}

/* As the part of an address that a browser keeps to itself. */
static void put_fragment(struct buf *to, const char *token)
{
	buf_put_text(to, "#token=");
	for (const char *c = token; *c; c++)
		if (isalnum((unsigned char)*c) || strchr("-._~", *c))
			buf_put_u8(to, (uint8_t)*c);
		else
			buf_printf(to, "%%%02X", (unsigned char)*c);
}

/*
 * Where the page is. The address opens it as it stands where a person sits before a terminal; a log may be read by
 * others, and says where the token is.
 */
static void say_ready(const struct serve *serve)
{
	char *token = token_to_read(serve), words[512];
	bool is_person = isatty(STDERR_FILENO);
	struct server_paths paths;
	struct buf fragment = {0};

	if (token && is_person)
		put_fragment(&fragment, token);
	buf_put_u8(&fragment, 0);
	cmd_say("%s; the page is at %s%s, the films are in %s",
		serve->reel ? "filming this machine" : "nothing is filmed here",
		server_address(serve->server), fragment.failed ? "" : (const char *)fragment.at,
		serve->options.store);
	if (token && !is_person)
		cmd_say("the page asks for a token: the one to read is in %s",
			token_file(&serve->options, &paths));
	if (token)
		explicit_bzero(token, strlen(token));
	free(token);
	buf_free(&fragment);
	/* everybody can read it */
	snprintf(words, sizeof(words), "READY=1\nSTATUS=%s", server_address(serve->server));
	notify(words);
}

static int run(struct serve *serve)
{
	struct fail why = {0};
	sigset_t stop_signals;
	int signals, err;

	sigemptyset(&stop_signals);
	sigaddset(&stop_signals, SIGINT);
	sigaddset(&stop_signals, SIGTERM);
	sigaddset(&stop_signals, SIGHUP);
	/* in this thread, and so in all: they are read from a descriptor */
	pthread_sigmask(SIG_BLOCK, &stop_signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	serve->wake = eventfd(0, EFD_CLOEXEC);
	serve->end = eventfd(0, EFD_CLOEXEC);
	signals = signalfd(-1, &stop_signals, SFD_CLOEXEC);
	if (serve->wake < 0 || serve->end < 0 || signals < 0)
		err = fail_errno(&why, -errno, NULL, "cannot wait for signals");
	else
		err = start(serve, &why);
	if (!err) {
		say_ready(serve);
		err = wait_for_end(serve, signals);
		/* whoever asks once more does not want to wait */
		sigdelset(&stop_signals, SIGHUP);
		pthread_sigmask(SIG_UNBLOCK, &stop_signals, NULL);
	}
	stop(serve);
	if (err && serve->recorder_err)
		why = serve->recorder_failed;
	if (err)
		fail_print(&why);
	return err ? fail_exit_status(&why) : 0;
}

int cmd_serve(int argc, char **argv)
{
	struct serve serve = {.argc = argc, .argv = argv, .wake = -1, .end = -1};
	int status = serve_options_read(argc, argv, &serve.options);

	if (status) {
		serve_options_free(&serve.options);
		return status < 0 ? 0 : status;
	}
	umask(077);
	/*
	 * With an arena for each thread, what is free in one is of no use to the others. And what a large answer
	 * took is given back behind it; by itself, malloc() would learn to keep it.
	 */
	mallopt(M_ARENA_MAX, 2);
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	mallopt(M_TRIM_THRESHOLD, 1 << 20);
	gethostname(serve.host, sizeof(serve.host) - 1);
	buf_put_text(&serve.command, "stackcam");
	for (int i = 0; i < argc; i++)
		buf_printf(&serve.command, " %s", argv[i]);
	buf_put_u8(&serve.command, 0);
	if (serve.command.failed)
		return EXIT_FAILURE;
	status = run(&serve);
	buf_free(&serve.command);
	serve_options_free(&serve.options);
	return status;
}
