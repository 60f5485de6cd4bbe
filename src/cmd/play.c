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
#include "base/text.h"
#include "film/reader.h"
#include "server/server.h"
#include "show/words.h"
#include "store/store.h"

/* How often a film that is being recorded is read again, and at most which part of the time. */
#define SECOND_NS   1000000000ull
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
	"Opens a film (default: stackcam.film) in the web page, which this machine alone can see.\n"
	"Prints the page's address and serves it until Ctrl-C.\n\n"
	"      --port N          serve at that port (default: one that is free)\n"
	"      --open            open the page in the browser\n"
	"  -h, --help            this text\n\n"
	"Examples:\n"
	"  stackcam play --open server.film\n"
	"  stackcam play --port 7171 server.film      then, from another machine:\n"
	"                                             ssh -L 7171:localhost:7171 HOST\n";

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

/* The browser is the desktop's own affair: it gets nothing of ours but the address. */
static void open_page(const char *address)
{
	extern char **environ;
	char command[] = "xdg-open", *argv[] = {command, (char *)address, NULL};
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
};

static int serve(const struct arguments *a, const struct look *look, struct store *store,
		 struct fail *why)
{
	struct server_options options = {
		.port = (uint16_t)a->port,
		.store = store,
		.host = look->host,
		.one_film = true,
		.read_open = true,
	};
	struct server *server;
	sigset_t signals;
	int err;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	err = server_start(&options, &server, why);
	if (err)
		return err;
	printf("%s\n", server_address(server));
	fflush(stdout);
	if (a->open)
		open_page(server_address(server));
	wait_for_end(&signals, store);
	server_stop(server);
	return 0;
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
