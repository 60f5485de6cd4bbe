// SPDX-License-Identifier: Apache-2.0
#include "cmd/verb.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <linux/capability.h>
#include <malloc.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/privileges.h"
#include "base/tokens.h"
#include "cmd/serve_figures.h"
#include "cmd/serve_options.h"
#include "host/archive.h"
#include "host/cost.h"
#include "host/drop.h"
#include "host/flight.h"
#include "host/keeper.h"
#include "host/namer.h"
#include "host/notify.h"
#include "host/recorder.h"
#include "host/say.h"
#include "host/sums.h"
#include "host/until.h"
#include "server/server.h"
#include "store/store.h"

/* Films become one when their hour is over; until then each is read again and again as it grows. */
#define FILM_NS 600000000000ull
/* That a token may send in an hour: those of 1000 agents that send every ten seconds. */
#define SENDER_FILMS 360000
#define KEEP_DEFAULT 10000000000ull

struct serve {
	int argc;
	char **argv;
	struct serve_options options;
	char host[HOST_NAME_MAX + 1];
	struct buf command; /* the command line, for the films */

	struct recorder *recorder; /* null: nothing is filmed */
	struct flight *flight;	   /* null: there is no flight recorder */
	struct cost *cost;
	struct archive *archive; /* null: there is no bucket */
	struct store *store;
	struct keeper *keeper;
	struct sums_sender *sums; /* null: none are sent */
	struct namer *namer;	  /* null: no folder of debug files */
	struct server *server;
};

/* The recorder */

static int next_film(void *context, uint64_t now, char *path, size_t size, struct fail *why)
{
	struct serve *serve = context;

	return store_film_path(serve->store, serve->host, now, path, size, why);
}

static void film_done(void *context, const char *path, int err, const struct fail *why)
{
	struct serve *serve = context;

	/* the recorder reports trouble itself */
	(void)err;
	(void)why;
	store_film_done(serve->store, path);
}

static int load_recorder(struct serve *serve, struct fail *why)
{
	const struct recorder_options options = {
		.events = &serve->options.common.events,
		.frequency = serve->options.common.frequency,
		.sample_cpu = serve->options.common.sample_cpu,
		.requests = serve->options.common.requests,
		.span_ns = FILM_NS,
		.aligned = true,
		.names_soon = true,
		.hostname = serve->host,
		.labels = serve->options.common.labels,
		.command = (const char *)serve->command.at,
		.next = next_film,
		.done = film_done,
		.context = serve,
	};

	return recorder_new(&options, &serve->recorder, why);
}

/* The flight recorder */

static int load_flight(struct serve *serve, struct fail *why)
{
	const struct camera_names names = {serve->host, serve->options.common.labels,
					   (const char *)serve->command.at};

	return camera_load_flight(&serve->options.camera, &serve->options.common.requests,
				  &serve->options.common.events, &names, &serve->flight, why);
}

static void say_flight_ended(void *context)
{
	struct serve *serve = context;

	camera_say_flight_ended(serve->flight);
}

static int keep_flight(void *context, const char *reason, struct server_kept *to, struct fail *why)
{
	struct serve *serve = context;
	struct flight_kept kept;
	int err = flight_keep(serve->flight, reason, &kept, why);

	if (!err) {
		snprintf(to->path, sizeof(to->path), "%s", kept.path);
		to->from = kept.from;
		to->to = kept.to;
	}
	return err;
}

static void say_flight(void *context, struct server_camera *camera)
{
	struct serve *serve = context;

	figures_of_flight(serve->flight, camera);
}

static void say_recorder(void *context, struct server_recorder *recorder)
{
	struct serve *serve = context;

	figures_of_recorder(serve->recorder, serve->cost, recorder);
}

/* The store */

static void log_store(void *context, const char *words)
{
	(void)context;
	host_say("%s", words);
}

static int fetch_film(void *context, const char *name, const struct store_object *object, int fd,
		      struct fail *why)
{
	struct serve *serve = context;

	return archive_fetch(serve->archive, name, object, fd, why);
}

static void store_settings(struct serve *serve, const struct serve_options *options,
			   struct store_options *settings)
{
	struct statvfs fs;

	*settings = (struct store_options){
		.path = options->store,
		.bytes_max = options->keep_bytes,
		.age_max = options->keep_age,
		.identity = options->common.identity,
		.sums = options->sums,
		.sums_cluster = options->sums_cluster,
		.sums_ca = options->sums_ca,
		.log = log_store,
		.fetch = serve->archive ? fetch_film : NULL,
		.cache_max = options->bucket_cache,
		.context = serve,
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

	/*
	 * it must be there for its disk to be asked how large it is; why it cannot be, store_open()
	 * says
	 */
	(void)!mkdir(serve->options.store, 0700);
	store_settings(serve, &serve->options, &settings);
	return store_open(&settings, &serve->store, why);
}

/* The bucket */

static int load_archive(struct serve *serve, struct fail *why)
{
	const struct archive_options options = {serve->options.bucket, serve->options.bucket_keys,
						serve->options.bucket_ca};

	return options.address ? archive_new(&options, &serve->archive, why) : 0;
}

static void say_bucket(void *context, struct server_bucket *bucket)
{
	struct serve *serve = context;

	figures_of_archive(serve->archive, bucket);
}

/* Names */

static int start_namer(struct serve *serve, struct fail *why)
{
	const struct serve_options *o = &serve->options;
	const struct namer_options options = {.store = serve->store,
					      .folder = o->debug_dir,
					      .cached_in = o->debuginfod ? o->store : NULL};

	return o->debug_dir || o->debuginfod ? namer_start(&options, &serve->namer, why) : 0;
}

static void say_names(void *context, struct server_names *names)
{
	struct serve *serve = context;

	figures_of_namer(serve->namer, names);
}

/* The server */

/* Paths that settings point into. */
struct server_paths {
	char spool[PATH_MAX], tokens[PATH_MAX];
};

static void log_line(void *context, const char *words)
{
	(void)context;
	host_say("%s", words);
}

/*
 * Where the tokens are: in the store, unless another file is named, or certificates say who is who.
 */
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
		.audit = options->audit,
		.user_header = options->user_header,
		.trusted_proxy = options->trusted_proxy,
		.store = serve->store,
		.spool = paths->spool,
		.host = serve->host,
		.cpus = serve->recorder ? (unsigned int)sysconf(_SC_NPROCESSORS_ONLN) : 0,
		.recorder = serve->recorder ? say_recorder : NULL,
		.camera = serve->flight ? say_flight : NULL,
		.bucket = serve->archive ? say_bucket : NULL,
		.names = options->debuginfod ? say_names : NULL,
		.keep = serve->flight ? keep_flight : NULL,
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
	const struct drop_folder store = {options->store, .only_new = true};

	if (!options->common.user)
		return check_owner(options, why);
	return drop_to_user(options->common.user, &store, 1, why);
}

/* What the socket needs. */
static uint64_t to_listen(const struct serve_options *options)
{
	return options->port && options->port < 1024 ? privilege(CAP_NET_BIND_SERVICE) : 0;
}

static int start_flight(struct serve *serve, struct fail *why)
{
	const struct flight_place place = flight_place_in_store(serve->store);

	return flight_start(serve->flight, &place, why);
}

/* What is started from now on writes to the store, and to the folder of the audit. */
static int confine(const struct serve_options *options, uint64_t also, struct fail *why)
{
	char *copy = options->audit ? strdup(options->audit) : NULL;
	int err = options->audit && !copy ? -ENOMEM : 0;

	if (err)
		return fail_errno(why, err, NULL, "cannot start");
	err = drop_to_others(options->store, copy ? dirname(copy) : NULL, also, why);
	free(copy);
	return err;
}

/* From start to end */

/* What begins behind the recorder serves the network, and needs nothing. */
static int start(struct serve *serve, struct fail *why)
{
	const uint64_t also = to_listen(&serve->options);
	int err = cost_new(&serve->cost, why);

	if (!err && !serve->options.no_record)
		err = load_recorder(serve, why);
	if (!err)
		err = load_flight(serve, why);
	/* the file of its keys may be root's */
	if (!err)
		err = load_archive(serve, why);
	if (!err)
		cost_of(serve->cost, serve->recorder, serve->flight);
	if (!err)
		err = become_user(&serve->options, why);
	if (!err)
		err = drop_to_recorder(also, why);
	if (!err)
		err = open_store(serve, why);
	/* the last that was loaded first, as each gives back the priority that it found */
	if (!err && serve->flight)
		err = start_flight(serve, why);
	if (!err && serve->recorder)
		err = recorder_start(serve->recorder, why);
	if (!err && serve->recorder)
		err = recorder_await(serve->recorder, why);
	if (!err)
		err = confine(&serve->options, also, why);
	if (!err)
		err = keeper_start(serve->store, serve->cost, &serve->keeper, why);
	if (!err)
		err = sums_sender_start(serve->store, &serve->sums, why);
	if (!err)
		err = start_namer(serve, why);
	if (!err && serve->archive)
		err = archive_start(serve->archive, serve->store, why);
	return err ? err : start_server(serve, why);
}

/* Returns 0, or with *why filled what ended the recorder. */
static int stop(struct serve *serve, struct fail *why)
{
	int err;

	notify("STOPPING=1");
	flight_stop(serve->flight);
	recorder_stop(serve->recorder);
	keeper_stop(serve->keeper);
	sums_sender_stop(serve->sums);
	archive_stop(serve->archive);
	server_stop(serve->server);
	err = recorder_join(serve->recorder, why);
	if (flight_join(serve->flight, err ? &(struct fail){0} : why) && !err)
		err = -EIO;
	keeper_free(serve->keeper);
	sums_sender_free(serve->sums);
	namer_free(serve->namer);
	archive_free(serve->archive);
	cost_free(serve->cost);
	flight_free(serve->flight);
	recorder_free(serve->recorder);
	store_free(serve->store);
	return err;
}

/* Reads the configuration again. It reports what is wrong, and then changes nothing. */
static void reload(void *context)
{
	struct serve *serve = context;
	struct serve_options options;
	struct server_options server;
	struct store_options settings;
	struct server_paths paths;
	struct fail why = {0};

	if (serve_options_read(serve->argc, serve->argv, &options)) {
		host_say("nothing is changed");
		serve_options_free(&options);
		return;
	}
	serve_options_say_kept(&serve->options, &options);
	server_settings(serve, &options, &paths, &server);
	store_settings(serve, &options, &settings);
	if (server_configure(serve->server, &server, &why) ||
	    store_configure(serve->store, &settings, &why))
		fail_print(&why);
	else
		host_say("the configuration was read again");
	serve_options_free(&options);
}

/*
 * The token to read, for the one who opens the page; to be freed. Null: none is needed, or there is
 * none.
 */
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

/*
 * Where the page is. The address opens it as it stands where a person sits before a terminal; a log
 * may be read by others, and says where the token is.
 */
static void say_ready(const struct serve *serve)
{
	char *token = token_to_read(serve), words[512];
	bool is_person = isatty(STDERR_FILENO);
	struct server_paths paths;
	struct buf fragment = {0};

	if (token && is_person)
		token_put_fragment(&fragment, token);
	buf_put_u8(&fragment, 0);
	host_say("%s; the page is at %s%s, the films are in %s",
		 serve->recorder ? "filming this machine" : "nothing is filmed here",
		 server_address(serve->server), fragment.failed ? "" : (const char *)fragment.at,
		 serve->options.store);
	if (token && !is_person)
		host_say("the page asks for a token: the one to read is in %s",
			 token_file(&serve->options, &paths));
	if (token)
		explicit_bzero(token, strlen(token));
	free(token);
	buf_free(&fragment);
	/* every user can read it */
	snprintf(words, sizeof(words), "READY=1\nSTATUS=%s", server_address(serve->server));
	notify(words);
}

static int run(struct serve *serve)
{
	struct until until = {.reload = reload, .beside_ended = say_flight_ended, .context = serve};
	struct fail why = {0}, ended = {0};
	int err = 0;

	until.signals = until_block_signals(&why);
	if (until.signals < 0)
		err = until.signals;
	if (!err && serve->options.debuginfod)
		err = debug_server_settings(serve->options.debuginfod, serve->options.store, &why);
	if (!err)
		err = start(serve, &why);
	if (!err) {
		say_ready(serve);
		until.recorder = serve->recorder;
		until.beside = flight_ended(serve->flight);
		err = until_end(&until);
		if (err)
			fail_errno(&why, err, NULL, "cannot wait for signals");
		until_let_signals_end();
	}
	if (stop(serve, &ended) && !err) {
		err = ended.err;
		why = ended;
	}
	if (until.signals >= 0)
		close(until.signals);
	if (err)
		fail_print(&why);
	return err ? fail_exit_status(&why) : 0;
}

enum {
	ARENAS = 16, /* threads: about that many run, and some for moments */
};

int cmd_serve(int argc, char **argv)
{
	struct serve serve = {.argc = argc, .argv = argv};
	int status = serve_options_read(argc, argv, &serve.options);

	if (status) {
		serve_options_free(&serve.options);
		return status < 0 ? 0 : status;
	}
	umask(077);
	/*
	 * Each thread that lives as long as the server has an arena of its own. Of one that is
	 * shared, a thread with questions, which gives way to all that is filmed, may hold the lock
	 * while it does not get the CPU, and a client that asks how things are waits with it. And
	 * what a large answer took is given back behind it; by itself, malloc() would learn to keep
	 * it.
	 */
	mallopt(M_ARENA_MAX, ARENAS);
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	mallopt(M_TRIM_THRESHOLD, 1 << 20);
	gethostname(serve.host, sizeof(serve.host) - 1);
	cmd_put_command(&serve.command, argc, argv);
	status = serve.command.failed ? EXIT_FAILURE : run(&serve);
	buf_free(&serve.command);
	serve_options_free(&serve.options);
	return status;
}
