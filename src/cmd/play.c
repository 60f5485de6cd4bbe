// SPDX-License-Identifier: Apache-2.0
#include "cmd/verb.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/temporary.h"
#include "base/text.h"
#include "base/tokens.h"
#include "film/reader.h"
#include "server/server.h"
#include "show/words.h"
#include "store/store.h"

/* How often a film that is being recorded is read again, and at most which part of the time. */
#define FOLLOW_NS   (2 * SECOND_NS)
#define FOLLOW_PART 10

enum {
	OPTION_PORT = 1,
	OPTION_OPEN
};

static const struct option long_options[] = {
	{"port", required_argument, NULL, OPTION_PORT},
	{"open", no_argument, NULL, OPTION_OPEN},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static const char help[] =
	"usage: stackcam play [OPTION…] [FILM]\n\n"
	"Opens a film (default: stackcam.film) in the web page. Prints the page's address, with a\n"
	"token that others on this machine do not have, and serves the page until Ctrl-C.\n\n"
	"      --port N          serve at that port (default: one that is free)\n"
	"      --open            open the page in the browser\n"
	"  -h, --help            this text\n\n"
	"Examples:\n"
	"  stackcam play --open server.film\n"
	"  stackcam play --port 7171 server.film      then, from another machine:\n"
	"                                             ssh -L 7171:localhost:7171 HOST\n"
	"                                             and open the printed address there\n";

struct arguments {
	const char *film;
	uint64_t port;
	bool open, help;
};

/* Returns 0 or an exit status. */
static int parse(struct arguments *a, int argc, char **argv)
{
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
		switch (option) {
		case OPTION_PORT:
			if (text_parse_u64(optarg, 0, UINT16_MAX, &a->port))
				return cmd_usage("play", "'%s' is not a port", optarg);
			break;
		case OPTION_OPEN:
			a->open = true;
			break;
		case 'h':
			a->help = true;
			break;
		default:
			return cmd_usage_option("play", argv, long_options);
		}
	}
	if (optind + 1 < argc)
		return cmd_usage("play", "one film at a time; '%s' is too many", argv[optind + 1]);
	if (optind < argc)
		a->film = argv[optind];
	return 0;
}

/* The browser is the desktop's own affair: it gets nothing of ours but the name of a file. */
static void start_browser(const char *file)
{
	extern char **environ;
	char command[] = "xdg-open", *argv[] = {command, (char *)file, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	pid_t pid;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	if (posix_spawnp(&pid, command, &actions, &attributes, argv, environ))
		fputs("stackcam: cannot start xdg-open: open the address above\n", stderr);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
}

/* Writes a page that leads to the address. */
static int write_lead(const char *path, const char *address)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), err = 0;

	if (fd < 0)
		return -errno;
	errno = EIO;
	if (dprintf(fd,
		    "<!DOCTYPE html><meta charset=\"utf-8\"><title>stackcam</title>"
		    "<meta http-equiv=\"refresh\" content=\"0;url=%s\">",
		    address) < 0)
		err = -errno;
	close(fd);
	return err;
}

/*
 * Opens the page in the browser. Every user can read the command line of a program, so that the
 * token must not stand there: the browser gets a file that leads to the address, and which only its
 * owner can read. *lead is to be removed later.
 */
static void open_page(const char *address, struct temporary *lead)
{
	struct fail why = {0};
	int err = temporary_make("stackcam.html", lead, &why);

	if (!err) {
		err = write_lead(lead->path, address);
		if (err)
			fail_errno(&why, err, "open the address above", "cannot write %s",
				   lead->path);
	}
	if (err)
		fail_print(&why);
	else
		start_browser(lead->path);
}

static bool is_growing(struct store *store)
{
	struct store_status status;

	store_status(store, &status);
	return status.is_growing;
}

/* Returns ns until the next time: a large film takes a while to read. */
static uint64_t follow(struct store *store, bool *has_failed)
{
	const uint64_t begun = clock_ns();
	struct fail why = {0};
	uint64_t took;

	if (store_tick(store, clock_wall(), &why) && !*has_failed) {
		fail_print(&why);
		*has_failed = true;
	}
	took = clock_ns() - begun;
	return took > FOLLOW_NS / FOLLOW_PART ? took * FOLLOW_PART : FOLLOW_NS;
}

/*
 * Until Ctrl-C; children that end meanwhile are not left as zombies. What is added to a film that
 * is being recorded is shown, too.
 */
static void wait_for_end(const sigset_t *signals, struct store *store)
{
	uint64_t pause = FOLLOW_NS;
	bool has_failed = false;
	int signal;

	do {
		const struct timespec most = {(time_t)(pause / SECOND_NS),
					      (long)(pause % SECOND_NS)};

		if (!is_growing(store)) {
			if (sigwait(signals, &signal))
				return;
		} else {
			signal = sigtimedwait(signals, NULL, &most);
			if (signal < 0 && errno == EAGAIN)
				pause = follow(store, &has_failed);
		}
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	} while (signal < 0 || signal == SIGCHLD);
}

/* What the page says of the film as a whole. */
struct look {
	char host[256]; /* where it was filmed */
	unsigned int cpus;
};

/* All whose signals wait_for_end() takes. */
static void block_signals(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGTERM);
	sigaddset(signals, SIGHUP);
	sigaddset(signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, signals, NULL);
}

/* Prints the address, and serves until the end. */
static int show(const struct arguments *a, const struct server *server, const char *token,
		const sigset_t *signals, struct store *store)
{
	struct temporary lead = {0};
	struct buf address = {0};
	int err = 0;

	buf_put_text(&address, server_address(server));
	token_put_fragment(&address, token);
	buf_put_u8(&address, 0);
	if (address.failed) {
		err = -ENOMEM;
	} else {
		printf("%s\n", (const char *)address.at);
		fflush(stdout);
		if (a->open)
			open_page((const char *)address.at, &lead);
		wait_for_end(signals, store);
	}
	temporary_remove(&lead);
	buf_free(&address);
	return err;
}

/*
 * A film may be its owner's alone, while each user of this machine can reach the socket: a token
 * that is made for this run opens the page.
 */
static int serve(const struct arguments *a, const struct look *look, struct store *store,
		 struct fail *why)
{
	char token[TOKEN_NEW_SIZE], tokens[TOKEN_NEW_SIZE + sizeof(" read")];
	const struct server_options options = {
		.port = (uint16_t)a->port,
		.tokens = tokens,
		.store = store,
		.host = look->host,
		.one_film = true,
		.cpus = look->cpus,
	};
	struct server *server;
	sigset_t signals;
	int err = token_new(token);

	if (err)
		return fail_errno(why, err, NULL, "cannot make a token");
	snprintf(tokens, sizeof(tokens), "%s read", token);
	block_signals(&signals);
	err = server_start(&options, &server, why);
	if (err)
		return err;
	err = show(a, server, token, &signals, store);
	server_stop(server);
	return err ? fail_errno(why, err, NULL, "cannot show the page's address") : 0;
}

/* Also says that the film was cut off. */
static int look_at(const char *path, struct look *look, struct fail *why)
{
	struct film *film = NULL;
	int err = film_open_info(path, &film, why);

	if (!err) {
		film_look_at_end(film);
		words_cut_off(film, NULL, stderr);
		snprintf(look->host, sizeof(look->host), "%s", film->info.hostname);
		look->cpus = film->info.cpus;
	}
	film_free(film);
	return err;
}

int cmd_play(int argc, char **argv)
{
	struct arguments a = {.film = "stackcam.film"};
	struct store *store = NULL;
	struct look look = {0};
	struct fail why = {0};
	int status = parse(&a, argc, argv), err;

	if (status)
		return status;
	if (a.help) {
		fputs(help, stdout);
		return 0;
	}
	err = look_at(a.film, &look, &why);
	if (!err)
		err = store_open_film(a.film, &store, &why);
	if (!err)
		err = serve(&a, &look, store, &why);
	store_free(store);
	if (!err)
		return 0;
	fail_print(&why);
	return fail_exit_status(&why);
}
