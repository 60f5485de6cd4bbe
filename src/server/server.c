// SPDX-License-Identifier: Apache-2.0
#include "server/server.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "server/internal.h"
#include "server/spent.h"

/*
 * Connections that were ended, and are not yet closed, count as well: so libmicrohttpd, which
 * refuses clients beyond its limit, gets a larger one.
 */
#define ON_THEIR_WAY 256

/* TLS 1.2 and 1.3, of what GnuTLS thinks is safe. */
#define TLS_VERSIONS "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

#define SPOOL_PREFIX "sent-"

enum {
	PUSHERS = 2,	/* films that are taken at once */
	SEATS_PART = 6, /* of all connections, one in six is for those who have shown a token */
};

static const struct server_limits defaults = {
	.connections = 1200,
	.per_address = 300,
	.strangers = 64,
	.header_bytes = 16384,
	.first_seconds = 5,
	.head_seconds = 10,
	.idle_seconds = 30,
	.request_seconds = 120,
	.workers = 4,
	.queue = 256,
	.answer_bytes = 128 << 20,
};

static void fill(uint32_t *limit, uint32_t otherwise)
{
	if (!*limit)
		*limit = otherwise;
}

static struct server_limits limits_of(const struct server_options *options)
{
	struct server_limits limits = options->limits;

	fill(&limits.connections, defaults.connections);
	fill(&limits.per_address, defaults.per_address);
	fill(&limits.strangers, defaults.strangers);
	fill(&limits.header_bytes, defaults.header_bytes);
	fill(&limits.first_seconds, defaults.first_seconds);
	fill(&limits.head_seconds, defaults.head_seconds);
	fill(&limits.idle_seconds, defaults.idle_seconds);
	fill(&limits.request_seconds, defaults.request_seconds);
	fill(&limits.workers, defaults.workers);
	fill(&limits.queue, defaults.queue);
	fill(&limits.answer_bytes, defaults.answer_bytes);
	return limits;
}

void request_spool_name(const struct http_request *request, char *to, size_t size)
{
	snprintf(to, size, "%s/" SPOOL_PREFIX "%d-%" PRIu64, request->spool, (int)getpid(),
		 (uint64_t)atomic_fetch_add(&request->state->spooled, 1));
}

const char *request_parameter(const struct http_request *request, const char *name)
{
	return url_value(request->url, name);
}

/* What a server that was killed left half sent. */
static int open_spool(struct server *server, const char *path, struct fail *why)
{
	struct dirent *entry;
	DIR *folder;

	if (!path)
		return 0;
	server->state.spool = strdup(path);
	if (!server->state.spool)
		return fail_errno(why, -ENOMEM, NULL, "cannot start the server");
	if (mkdir(path, 0700) && errno != EEXIST)
		return fail_errno(why, -errno, NULL, "cannot make the folder %s", path);
	folder = opendir(path);
	if (!folder)
		return fail_errno(why, -errno, NULL, "cannot read the folder %s", path);
	while ((entry = readdir(folder)))
		if (!strncmp(entry->d_name, SPOOL_PREFIX, strlen(SPOOL_PREFIX)))
			unlinkat(dirfd(folder), entry->d_name, 0);
	closedir(folder);
	return 0;
}

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static int parse_address(const char *text, uint16_t port, union address *address, bool *is_loopback,
			 struct fail *why)
{
	*address = (union address){0};
	if (inet_pton(AF_INET, text, &address->v4.sin_addr) == 1) {
		address->v4.sin_family = AF_INET;
		address->v4.sin_port = htons(port);
		*is_loopback = ntohl(address->v4.sin_addr.s_addr) >> 24 == 127;
		return 0;
	}
	if (inet_pton(AF_INET6, text, &address->v6.sin6_addr) == 1) {
		address->v6.sin6_family = AF_INET6;
		address->v6.sin6_port = htons(port);
		*is_loopback = IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
		return 0;
	}
	return fail(why, -EINVAL,
		    "such as 127.0.0.1, 0.0.0.0 or ::", "'%s' is not an address to serve at", text);
}

/* A socket that listens, or a negative errno. */
/* One film gets a port that is free, unless one is named. */
static const char *another_address(const struct server_options *options, int err)
{
	if (options->one_film)
		return err == -EADDRINUSE || err == -EACCES ? "name another with --port" : NULL;
	return err == -EADDRINUSE
		       ? "is it served already? else name another with --listen ADDR:PORT"
		       : "name another with --listen ADDR:PORT";
}

static int listen_at(union address *address, const char *text, const struct server_options *options,
		     struct fail *why)
{
	/*
	 * what slow clients make the kernel hold, too, is bounded: else it lets megabytes come
	 * together for each
	 */
	int one = 1, send_buffer = 128 << 10, err;
	socklen_t size =
		address->any.sa_family == AF_INET ? sizeof(address->v4) : sizeof(address->v6);
	int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return fail_errno(why, -errno, NULL, "cannot make a socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof(send_buffer));
	if (!bind(fd, &address->any, size) && !listen(fd, 1024) &&
	    !getsockname(fd, &address->any, &size))
		return fd;
	err = -errno;
	close(fd);
	return fail_errno(why, err, another_address(options, err), "cannot serve at %s, port %u",
			  text, options->port);
}

/* Each connection is a file; by default a process may have 1024 of them. */
static void allow_files(uint32_t connections)
{
	struct rlimit limit;
	rlim_t wanted = connections + ON_THEIR_WAY + 512ull;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int read_tokens(const struct server_options *options, struct tokens *tokens,
		       struct fail *why)
{
	if (options->token_file)
		return tokens_read(options->token_file, tokens, why);
	return options->tokens ? tokens_parse(options->tokens, "the tokens", tokens, why) : 0;
}

static int open_audit(struct server *server, const struct server_options *options, struct fail *why)
{
	const char *proxies = options->trusted_proxy;
	int err = 0;

	if (proxies && !peers_parse(proxies, server->proxies, PROXIES_MAX, &server->proxy_count))
		return fail(why, -EINVAL, "such as 127.0.0.1 or ::1,192.0.2.7",
			    "'%.64s' does not name the addresses of at most %d trusted proxies",
			    proxies, PROXIES_MAX);
	if (options->user_header && !(server->user_header = strdup(options->user_header)))
		err = fail_errno(why, -ENOMEM, NULL, "cannot start the server");
	if (!err && options->audit)
		err = audit_open(options->audit, &server->state.audit, why);
	return err;
}

__attribute__((format(printf, 2, 3))) static void say(const struct server *server,
						      const char *format, ...)
{
	char words[1024];
	va_list arguments;

	if (!server->state.say)
		return;
	va_start(arguments, format);
	vsnprintf(words, sizeof(words), format, arguments);
	va_end(arguments);
	server->state.say(server->state.context, words);
}

/* What works, and is not safe. */
static void warn(const struct server *server, const struct server_options *options)
{
	unsigned int mode = options->token_file ? tokens_exposed(options->token_file) : 0;

	if (mode)
		say(server, "warning: others can read the tokens in %s (mode %04o): 'chmod 600 %s'",
		    options->token_file, mode, options->token_file);
	if (!server->loopback && !server->tls)
		say(server, "warning: without TLS, the tokens and all that is shown can be read on "
			    "their way: "
			    "use --tls-cert and --tls-key");
}

/* libmicrohttpd has no other way to tell why it does not start. */
static void keep_words(void *context, const char *format, va_list arguments)
{
	struct server *server = context;

	if (!server->words[0])
		vsnprintf(server->words, sizeof(server->words), format, arguments);
}

struct start {
	struct server_limits limits;
	int socket;
};

static struct MHD_Daemon *start_daemon(struct server *server, const struct start *start)
{
	unsigned int flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
			     MHD_USE_ERROR_LOG | (server->is_v6 ? MHD_USE_IPv6 : 0) |
			     (server->tls ? MHD_USE_TLS : 0);
	/* on loopback all clients have one address */
	unsigned int per_address = server->loopback ? 0 : start->limits.per_address;
	struct MHD_OptionItem tls[5] = {{MHD_OPTION_END, 0, NULL}};
	size_t count = 0;

	if (server->tls) {
		tls[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0,
						       (void *)tls_certificate(server->tls)};
		tls[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0,
						       (void *)tls_key(server->tls)};
		tls[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0,
						       (void *)TLS_VERSIONS};
		if (tls_client_ca(server->tls))
			tls[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_TRUST, 0,
							       (void *)tls_client_ca(server->tls)};
		tls[count] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
	}
	return MHD_start_daemon(
		flags, 0, NULL, NULL, handle_request, server, MHD_OPTION_EXTERNAL_LOGGER,
		keep_words, server, MHD_OPTION_LISTEN_SOCKET, start->socket,
		MHD_OPTION_CONNECTION_LIMIT, start->limits.connections + ON_THEIR_WAY,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT, per_address, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)start->limits.header_bytes, MHD_OPTION_CONNECTION_TIMEOUT,
		start->limits.idle_seconds, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_URI_LOG_CALLBACK, handle_address, server, MHD_OPTION_NOTIFY_COMPLETED,
		handle_end, server, MHD_OPTION_NOTIFY_CONNECTION, handle_connection, server,
		MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
}

/* Signals are for the thread that started the server. */
static struct MHD_Daemon *start_daemon_without_signals(struct server *server,
						       const struct start *start)
{
	struct MHD_Daemon *daemon;
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	daemon = start_daemon(server, start);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return daemon;
}

static void describe_address(struct server *server, const char *text, const union address *address)
{
	bool is_v6 = address->any.sa_family == AF_INET6;
	uint16_t port = ntohs(is_v6 ? address->v6.sin6_port : address->v4.sin_port);

	snprintf(server->address, sizeof(server->address),
		 is_v6 ? "http%s://[%s]:%u/" : "http%s://%s:%u/", server->tls ? "s" : "", text,
		 port);
}

static int cannot_start(const struct server *server, struct fail *why)
{
	return fail(why, -EINVAL, NULL, "cannot start the web server: %.*s",
		    (int)strcspn(server->words, "\n"), server->words);
}

static int open_connections(struct server *server, const struct server_options *options,
			    struct fail *why)
{
	const char *text = options->address ? options->address : "127.0.0.1";
	struct start start = {.limits = limits_of(options), .socket = -1};
	union address address;
	bool is_loopback = false;
	int err = parse_address(text, options->port, &address, &is_loopback, why);

	if (err)
		return err;
	if (!is_loopback && server->read_open)
		return fail(why, -EINVAL, "leave it out, or serve at 127.0.0.1",
			    "at %s, --read-open would show everything to every client that reaches "
			    "this machine",
			    text);
	if (!is_loopback && !server->state.tokens.all.count && !server->needs_certificate)
		return fail(why, -EINVAL,
			    "give a file with a token (--token-file), or the CA of its clients' "
			    "certificates (--tls-client-ca)",
			    "at %s every client that reaches this machine could ask", text);
	if (is_loopback && !(server->loopback = strdup(text)))
		return fail_errno(why, -ENOMEM, NULL, "cannot start the server");
	server->is_v6 = address.any.sa_family == AF_INET6;
	start.socket = listen_at(&address, text, options, why);
	if (start.socket < 0)
		return start.socket;
	describe_address(server, text, &address);
	allow_files(start.limits.connections);
	server->daemon = start_daemon_without_signals(server, &start);
	if (server->daemon)
		return 0;
	close(start.socket);
	return cannot_start(server, why);
}

/* Ends those whose connections have all ended. Where a new one goes; null: none has. */
static struct MHD_Daemon **tidy_old(struct server *server)
{
	struct MHD_Daemon **place = NULL;

	for (size_t i = 0; i < OLD_DAEMONS_MAX; i++) {
		const union MHD_DaemonInfo *info =
			server->old[i] ? MHD_get_daemon_info(server->old[i],
							     MHD_DAEMON_INFO_CURRENT_CONNECTIONS)
				       : NULL;

		if (info && !info->num_connections) {
			MHD_stop_daemon(server->old[i]);
			server->old[i] = NULL;
		}
		if (!server->old[i])
			place = &server->old[i];
	}
	return place;
}

/*
 * With other certificates at the same socket; connections that are open keep theirs until they end.
 */
static int change_certificates(struct server *server, const struct server_options *options,
			       struct fail *why)
{
	struct tls_files *files = NULL, *before = server->tls;
	struct start start = {.limits = limits_of(options), .socket = -1};
	struct MHD_Daemon **place, *daemon = NULL;
	const union MHD_DaemonInfo *info;
	int err = tls_load(options, &files, why), old_socket;

	/*
	 * whether there is TLS at all, and with certificates of clients, is a matter of the start
	 */
	if (err || tls_same(files, before) || !files || !before ||
	    !tls_client_ca(files) != !tls_client_ca(before)) {
		tls_free(files);
		return err;
	}
	place = tidy_old(server);
	if (!place) {
		tls_free(files);
		return fail(why, -EBUSY, "try again later, or start anew",
			    "connections of %d certificates before are still open",
			    OLD_DAEMONS_MAX);
	}
	info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_LISTEN_FD);
	start.socket = info ? fcntl(info->listen_fd, F_DUPFD_CLOEXEC, 0) : -1;
	server->tls = files;
	server->words[0] = 0;
	if (start.socket >= 0)
		daemon = start_daemon_without_signals(server, &start);
	if (!daemon) {
		server->tls = before;
		tls_free(files);
		if (start.socket >= 0)
			close(start.socket);
		return cannot_start(server, why);
	}
	old_socket = MHD_quiesce_daemon(server->daemon);
	if (old_socket >= 0)
		close(old_socket);
	*place = server->daemon;
	server->daemon = daemon;
	tls_free(before);
	return 0;
}

static int start_watch(struct server *server, const struct server_limits *limits, struct fail *why)
{
	const struct watch_options options = {
		.first_byte_max = limits->first_seconds * SECOND_NS,
		.head_max = limits->head_seconds * SECOND_NS,
		.request_max = limits->request_seconds * SECOND_NS,
		.connections = limits->connections,
		.strangers = limits->connections - limits->connections / SEATS_PART,
		.strangers_of_one = limits->strangers,
	};

	return watch_start(&options, &server->watch, why);
}

static int start_workers(struct server *server, const struct server_limits *limits,
			 struct fail *why)
{
	const struct workers_options lanes[LANES] = {
		[LANE_QUESTION] = {.count = limits->workers,
				   .name = "question",
				   .is_patient = true},
		[LANE_PUSH] = {.count = PUSHERS, .name = "push"},
	};
	int err = 0;

	for (size_t i = 0; !err && i < LANES; i++) {
		struct workers_options options = lanes[i];

		options.queue = limits->queue;
		options.work = handle_work;
		options.context = server;
		err = workers_start(&options, &server->lanes[i], why);
	}
	return err;
}

static int start_threads(struct server *server, const struct server_options *options,
			 struct fail *why)
{
	const struct server_limits limits = limits_of(options);
	int err;

	server->answer_max = limits.answer_bytes;
	server->logins = logins_new();
	if (!server->logins)
		return fail_errno(why, -ENOMEM, NULL, "cannot start the server");
	err = start_watch(server, &limits, why);
	if (!err)
		err = spent_start(server, why);
	return err ? err : start_workers(server, &limits, why);
}

static struct quota_limits quota_of(const struct server_options *options)
{
	return (struct quota_limits){options->limits.sender_bytes, options->limits.sender_films};
}

static int fill_state(struct server_state *state, const struct server_options *options,
		      struct fail *why)
{
	const struct quota_limits quota = quota_of(options);

	state->started = clock_wall();
	state->store = options->store;
	state->one_film = options->one_film;
	state->cpus = options->cpus;
	state->recorder = options->recorder;
	state->camera = options->camera;
	state->bucket = options->bucket;
	state->names = options->names;
	state->keep = options->keep;
	state->say = options->say;
	state->context = options->context;
	state->host = strdup(options->host ? options->host : "");
	state->quota = quota_new(&quota);
	state->backlogs = backlogs_new();
	return state->host && state->quota && state->backlogs
		       ? 0
		       : fail_errno(why, -ENOMEM, NULL, "cannot start the server");
}

int server_start(const struct server_options *options, struct server **to, struct fail *why)
{
	struct server *server = calloc(1, sizeof(*server));
	int err;

	if (!server)
		return fail_errno(why, -ENOMEM, NULL, "cannot start the server");
	pthread_mutex_init(&server->state.lock, NULL);
	server->needs_certificate = options->client_ca;
	server->read_open = options->read_open;
	err = fill_state(&server->state, options, why);
	if (!err)
		err = read_tokens(options, &server->state.tokens, why);
	if (!err)
		err = open_audit(server, options, why);
	if (!err)
		err = tls_load(options, &server->tls, why);
	if (!err)
		err = open_spool(server, options->spool, why);
	if (!err)
		err = start_threads(server, options, why);
	if (!err)
		err = open_connections(server, options, why);
	if (err) {
		server_stop(server);
		return err;
	}
	warn(server, options);
	*to = server;
	return 0;
}

int server_configure(struct server *server, const struct server_options *options, struct fail *why)
{
	const struct quota_limits quota = quota_of(options);
	struct tokens tokens = {0}, before;
	int err = read_tokens(options, &tokens, why);

	if (err)
		return err;
	if (!tokens.all.count && !server->loopback && !server->needs_certificate)
		return fail(why, -EINVAL, NULL, "beyond this machine, the server needs its tokens");
	err = server->state.audit ? audit_reopen(server->state.audit, why) : 0;
	if (!err)
		err = change_certificates(server, options, why);
	if (err) {
		tokens_free(&tokens);
		return err;
	}
	quota_configure(server->state.quota, &quota);
	pthread_mutex_lock(&server->state.lock);
	before = server->state.tokens;
	server->state.tokens = tokens;
	pthread_mutex_unlock(&server->state.lock);
	tokens_free(&before);
	warn(server, options);
	return 0;
}

const char *server_address(const struct server *server)
{
	return server->address;
}

/* The workers give suspended connections back: libmicrohttpd cannot end before they go on. */
void server_stop(struct server *server)
{
	if (!server)
		return;
	server->is_ending = true;
	for (size_t i = 0; i < LANES; i++)
		workers_end(server->lanes[i]);
	watch_stop(server->watch);
	spent_stop(server);
	/* takes the socket with it */
	if (server->daemon)
		MHD_stop_daemon(server->daemon);
	for (size_t i = 0; i < OLD_DAEMONS_MAX; i++)
		if (server->old[i])
			MHD_stop_daemon(server->old[i]);
	for (size_t i = 0; i < LANES; i++)
		workers_free(server->lanes[i]);
	spent_free(server);
	watch_free(server->watch);
	tls_free(server->tls);
	logins_free(server->logins);
	audit_close(server->state.audit);
	tokens_free(&server->state.tokens);
	quota_free(server->state.quota);
	backlogs_free(server->state.backlogs);
	free(server->loopback);
	free(server->user_header);
	free(server->state.spool);
	free(server->state.host);
	pthread_mutex_destroy(&server->state.lock);
	free(server);
}
