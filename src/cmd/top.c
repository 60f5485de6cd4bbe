// SPDX-License-Identifier: Apache-2.0
/*
 * stackcam top: films of a few seconds, one after the other, in memory; each is summed up on the
 * screen and gone.
 *
 *	recorder's thread	records; its films are closed by a thread of its own: film_closed()
 *	the main thread		waits for films, keys and signals; draws
 *
 * A film that is closed while the one before was not drawn yet takes its place, and is counted.
 */
#include "cmd/verb.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/text.h"
#include "cmd/recording.h"
#include "cmd/top_keys.h"
#include "film/event_list.h"
#include "film/reader.h"
#include "host/recorder.h"
#include "host/until.h"
#include "query/report.h"
#include "query/summary.h"
#include "show/top.h"

/*
 * A terminal that is drawn on: its other screen, without a cursor, and keys as they are pressed.
 * terminal_end() puts all of that back; it is needed only after terminal_begin() returned true.
 */
struct terminal {
	struct termios before;
};

#define SECOND_NS  1000000000ull
#define SPAN_NS	   (2 * SECOND_NS)
#define SPAN_MIN   SECOND_NS
#define SPAN_MAX   (3600 * SECOND_NS)
#define FILM_BYTES 64000000u
/* Findings of a kind, where not the largest ones are shown first. */
#define FINDINGS_MOST 300u
#define SHOWN_KINDS \
	(1u << SUMMARY_FUNCTION | 1u << SUMMARY_WAIT | 1u << SUMMARY_LOCK | 1u << SUMMARY_GROWTH)

static const char help[] =
	"usage: stackcam top [OPTION…]\n"
	"\n"
	"Shows what took most in the last seconds, again and again: the functions that used the\n"
	"CPUs, what threads waited for, locks, memory that grows.\n"
	"\n"
	"What to film (the whole machine when nothing is named):\n"
	"  -a, --all               the whole machine\n"
	"  -p, --pid PID[,PID…]    these processes, their threads and new children\n"
	"  -t, --tid TID[,TID…]    these threads only\n"
	"  -n, --name GLOB         processes of this name, e.g. 'nginx*'; may be repeated\n"
	"      --cgroup PATH       processes of this control group; may be repeated\n"
	"      --no-children       not the children that they start from now on\n"
	"\n"
	"How:\n"
	"  -e, --event EVENT       what to film (default on-cpu,off-cpu; 'stackcam record --help'\n"
	"                          lists events)\n"
	"  -F, --frequency HZ      samples per second and CPU (default 99)\n"
	"  -d, --delay SECONDS     what a screen is about (default 2, at least 1)\n"
	"      --count N           end after N screens\n"
	"  -b, --batch             print screen after screen, as into a pipe or a file\n"
	"  -h, --help              this text\n"
	"\n"
	"Keys: h shows them all; q ends it, space stops the screen and lets it go on, tab shows\n"
	"the next event alone, < and > change the order, / chooses processes.\n"
	"\n"
	"Examples:\n"
	"  stackcam top                          the whole machine\n"
	"  stackcam top -e on-cpu,lock -n db     functions and locks of one program\n"
	"  stackcam top -b --count 1 -d 10       ten seconds, once, as text\n";

enum {
	OPT_COUNT = 256,
};

static const struct option long_options[] = {
	RECORDING_LONG_TARGETS,
	{"no-children", no_argument, NULL, RECORDING_OPT_NO_CHILDREN},
	{"event", required_argument, NULL, 'e'},
	{"frequency", required_argument, NULL, 'F'},
	{"delay", required_argument, NULL, 'd'},
	{"count", required_argument, NULL, OPT_COUNT},
	{"batch", no_argument, NULL, 'b'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

struct top {
	struct recording_options common;
	struct sources_settings sources;
	struct event_list events;
	uint64_t span, count; /* ns; screens, 0: any number */
	bool batch;

	struct recorder *recorder;
	pthread_mutex_t lock;
	struct film_bytes next; /* the film to be drawn; all zero: there is none */
	uint64_t passed_over;	/* films that were not drawn */
	struct fail failed;	/* why there was no film */
	int closed;		/* an eventfd: next or failed has changed */

	/* of the main thread */
	struct film *film;
	struct summary summary;
	bool has_summary;
	struct top_keys keys;
	uint64_t drawn;
};

/* Parses one option. Returns 0, or an exit status with all said. */
static int parse_option(int option, char **argv, struct top *top)
{
	struct fail why;
	/* -d is a delay here */
	int status = option == 'd' ? -1 : recording_parse_option("top", option, &top->common);

	if (status >= 0)
		return status;
	switch (option) {
	case 'e':
		if (event_list_parse_more(optarg, &top->events, &why))
			return cmd_usage("top", "%s", why.what);
		return 0;
	case 'F':
		return sources_set(&top->sources, "frequency", optarg, &why)
			       ? cmd_usage("top", "%s", why.what)
			       : 0;
	case 'd':
		if (text_parse_time(optarg, SECOND_NS, &top->span) || top->span < SPAN_MIN ||
		    top->span > SPAN_MAX)
			return cmd_usage("top", "--delay takes a time from 1s to 1h");
		return 0;
	case OPT_COUNT:
		if (!text_parse_u64(optarg, 1, UINT32_MAX, &top->count))
			return 0;
		return cmd_usage("top", "--count takes a number, at least 1");
	case 'b':
		top->batch = true;
		return 0;
	default:
		return cmd_usage_option("top", argv, long_options);
	}
}

static int parse(int argc, char **argv, struct top *top)
{
	int option, status;
	bool is_chosen;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":" RECORDING_SHORT_TARGETS "e:F:d:bh",
				     long_options, NULL)) != -1) {
		if (option == 'h') {
			cmd_print_help(help);
			exit(0);
		}
		status = parse_option(option, argv, top);
		if (status)
			return status;
	}
	if (optind < argc)
		return cmd_usage("top", "it starts no command; '%s' is too much", argv[optind]);
	is_chosen = top->events.count > 0;
	if (!is_chosen)
		top->events = event_list_usual();
	if (!is_chosen)
		event_list_add(&top->events, EVENT_OFF_CPU);
	sources_turn_on_list(&top->sources, &top->events);
	status = recording_check_options("top", &top->common);
	if (!status)
		recording_say_absent(&top->common, "shown");
	return status;
}

/* -- films ------------------------------------------------------------------------------------- */

/* By the thread that closes films. */
static void film_closed(void *context, const struct reel_closed_film *taken)
{
	struct top *top = context;

	pthread_mutex_lock(&top->lock);
	if (taken->why.err) {
		top->failed = taken->why;
	} else {
		top->passed_over += top->next.size != 0;
		film_bytes_free(&top->next);
		top->next = taken->film;
	}
	pthread_mutex_unlock(&top->lock);
	eventfd_write(top->closed, 1);
}

/* A reader needs a file: one that has no name once it is open. */
static int open_bytes(const struct film_bytes *bytes, struct film **film, struct fail *why)
{
	const char *folder = getenv("TMPDIR");
	char path[PATH_MAX];
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/stackcam-top-XXXXXX", folder && *folder ? folder : "/tmp");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return fail_errno(why, -errno, "TMPDIR names the folder", "cannot create %s", path);
	if (file_write_all(fd, bytes->at, bytes->size))
		err = fail_errno(why, -errno, "TMPDIR names the folder", "cannot write %s", path);
	close(fd);
	if (!err)
		err = film_open(path, film, why);
	unlink(path);
	return err;
}

static void free_summary(struct top *top)
{
	if (top->has_summary)
		summary_free(&top->summary);
	top->has_summary = false;
}

static void free_film(struct top *top)
{
	free_summary(top);
	film_free(top->film);
	top->film = NULL;
}

/* xterm's private modes, which all terminals of today know: the other screen, the cursor. */
#define OTHER_SCREEN "\033[?1049h\033[?25l"
#define USUAL_SCREEN "\033[?25h\033[?1049l"

/* Of standard input and output. False: one of them is not a terminal. */
static bool terminal_begin(struct terminal *terminal)
{
	struct termios keys;

	if (!isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &terminal->before))
		return false;
	keys = terminal->before;
	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &keys))
		return false;
	fputs(OTHER_SCREEN, stdout);
	fflush(stdout);
	return true;
}

static void terminal_end(const struct terminal *terminal)
{
	fputs(USUAL_SCREEN, stdout);
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &terminal->before);
}

/* 24 and 80 where the terminal does not say. */
static void terminal_size(unsigned int *rows, unsigned int *columns)
{
	struct winsize size = {0};

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		size = (struct winsize){0};
	*rows = size.ws_row ? size.ws_row : 24;
	*columns = size.ws_col ? size.ws_col : 80;
}

static void measure(const struct top *top, struct top_screen *screen)
{
	*screen = (struct top_screen){
		.event = top->keys.event,
		.help = top->keys.has_help ? top_keys_help : NULL,
	};
	if (!top->batch)
		terminal_size(&screen->rows, &screen->columns);
}

/* Of the film that is shown, in the order and of the processes that were chosen. */
static int sum_up(struct top *top, struct fail *why)
{
	const struct top_keys *keys = &top->keys;
	bool is_usual = keys->order == SUMMARY_BY_VALUE && !keys->is_reversed;
	struct summary_wanted wanted = {.kinds = SHOWN_KINDS, .most = FINDINGS_MOST};
	struct question question = {0};
	struct top_screen screen;
	int err;

	free_summary(top);
	if (!top->film)
		return 0;
	measure(top, &screen);
	if (is_usual)
		wanted.most = screen.rows;
	err = top_keys_filter(keys, &question);
	if (err) {
		fail_errno(why, err, NULL, "cannot sum up the film");
	} else {
		err = summary_make(top->film, &question, &wanted, &top->summary, why);
		top->has_summary = true;
	}
	if (!err && !is_usual)
		summary_sort(&top->summary, keys->order, keys->is_reversed);
	vec_free(&question.filter.pids);
	vec_free(&question.filter.comms);
	return err;
}

/* The film that was closed last. Returns 1, 0: there is none, or a negative errno. */
static int next_film(struct top *top, struct fail *why)
{
	struct film_bytes bytes;
	int err;

	pthread_mutex_lock(&top->lock);
	bytes = top->next;
	top->next = (struct film_bytes){0};
	err = top->failed.err;
	*why = top->failed;
	pthread_mutex_unlock(&top->lock);
	if (err || !bytes.size)
		return err;
	free_film(top);
	err = open_bytes(&bytes, &top->film, why);
	film_bytes_free(&bytes);
	if (!err)
		err = sum_up(top, why);
	return err ? err : 1;
}

/* -- the screen -------------------------------------------------------------------------------- */

/* "stackcam top, 14:03:22, 2.0 s, 396 samples, nothing lost, recorder at 0.9 % of a CPU" */
static void put_head(const struct top *top, char *to, size_t size)
{
	struct recorder_state state;
	char wall[64] = "", length[32] = "", samples[32], lost[64] = "nothing lost";
	uint64_t all = 0;

	recorder_state(top->recorder, &state);
	if (top->has_summary) {
		film_wall_time(top->film, top->summary.from, wall, sizeof(wall));
		text_duration(length, sizeof(length), top->summary.to - top->summary.from);
		vec_foreach (&top->summary.events, event)
			all += event->samples;
	}
	text_count(samples, sizeof(samples), all);
	if (state.lost)
		snprintf(lost, sizeof(lost), "%llu samples lost since the start",
			 (unsigned long long)state.lost);
	snprintf(to, size, "stackcam top%s%s, %s for %s, %s samples, %s%s",
		 top->keys.is_stopped ? " (stopped)" : "", top->batch ? "" : " (h: help)",
		 *wall ? wall : "beginning", *length ? length : "0 s", samples, lost,
		 top->passed_over ? ", some seconds were not shown" : "");
}

/* What keys have chosen; "": nothing. Processes are what a user typed. */
static void put_choice(const struct top_keys *keys, char *to, size_t size)
{
	const char *reversed = keys->is_reversed ? ", reversed" : "";
	char processes[256];

	*to = 0;
	text_make_safe(processes, sizeof(processes),
		       keys->is_typing ? keys->typed : keys->processes);
	if (keys->is_typing)
		snprintf(to, size, "Processes (a name, a pattern or a PID; none: all): %s_",
			 processes);
	else if (keys->order || keys->is_reversed || *processes)
		snprintf(to, size, "by %s%s%s%s", summary_order_name(keys->order), reversed,
			 *processes ? ", of processes " : "", processes);
}

static int draw(struct top *top, struct fail *why)
{
	struct top_screen screen;
	char head[256], choice[384];

	measure(top, &screen);
	put_head(top, head, sizeof(head));
	put_choice(&top->keys, choice, sizeof(choice));
	screen.head = head;
	screen.choice = choice;
	if (!top->batch)
		fputs("\033[H", stdout);
	if (show_top(top->has_summary ? &top->summary : NULL, &screen, stdout))
		return fail_errno(why, -ENOMEM, NULL, "cannot draw");
	fputs(top->batch ? "\n" : "\033[J", stdout);
	return fflush(stdout) ? fail_errno(why, -errno, NULL, "cannot write") : 0;
}

/* Returns 1: it goes on, 0: it ends, or a negative errno. The end of the input ends nothing. */
static int read_keys(struct top *top, struct pollfd *keyboard, struct fail *why)
{
	const struct summary *shown = top->has_summary ? &top->summary : NULL;
	enum top_action action;
	char keys[64];
	ssize_t count = read(STDIN_FILENO, keys, sizeof(keys));
	int err = 0;

	if (count <= 0) {
		keyboard->fd = -1;
		return 1;
	}
	action = top_keys_press(&top->keys, keys, (size_t)count, shown);
	if (action == TOP_END)
		return 0;
	if (action == TOP_SUM_UP)
		err = sum_up(top, why);
	if (!err)
		err = draw(top, why);
	return err ? err : 1;
}

static int show_next(struct top *top, struct fail *why)
{
	eventfd_t count;
	int err;

	eventfd_read(top->closed, &count);
	if (top->keys.is_stopped)
		return 0;
	err = next_film(top, why);
	if (err == 1) {
		top->drawn++;
		err = draw(top, why);
	}
	return err;
}

/* It must not be pending when signals are let through again. */
static bool read_signal(int signals)
{
	struct signalfd_siginfo signal;

	return read(signals, &signal, sizeof(signal)) == sizeof(signal);
}

/* Until a key, a signal, the last screen or the recorder ends it. */
static int run(struct top *top, int signals, struct fail *why)
{
	struct pollfd fds[] = {{.fd = signals, .events = POLLIN},
			       {.fd = recorder_ended(top->recorder), .events = POLLIN},
			       {.fd = top->closed, .events = POLLIN},
			       {.fd = top->batch ? -1 : STDIN_FILENO, .events = POLLIN}};
	int err = top->batch ? 0 : draw(top, why);

	while (!err && (!top->count || top->drawn < top->count)) {
		if (poll(fds, sizeof(fds) / sizeof(fds[0]), -1) < 0 && errno != EINTR)
			return fail_errno(why, -errno, NULL, "cannot wait for films");
		/* why the recorder has ended, recorder_join() says */
		if (fds[1].revents || (fds[0].revents && read_signal(signals)))
			return 0;
		if (fds[2].revents)
			err = show_next(top, why);
		if (!err && fds[3].revents) {
			int goes_on = read_keys(top, &fds[3], why);

			if (goes_on <= 0)
				return goes_on;
		}
	}
	return err;
}

/* -- from start to end ------------------------------------------------------------------------- */

static int load(struct top *top, const char *host, const char *command, struct fail *why)
{
	const struct recorder_options options = {
		.events = &top->events,
		.sources = &top->sources,
		.selection = &top->common.selection,
		.span_ns = top->span,
		.names_soon = true,
		.quiet = true,
		.hostname = host,
		.command = command,
		.in_memory = true,
		.bytes_max = FILM_BYTES,
		.taken = film_closed,
		.context = top,
	};

	return recorder_new(&options, &top->recorder, why);
}

/* With the recorder running. */
static int show(struct top *top, int signals, struct fail *why)
{
	struct terminal terminal;
	int err;

	top->batch |= !terminal_begin(&terminal);
	err = run(top, signals, why);
	if (!top->batch)
		terminal_end(&terminal);
	return err;
}

int cmd_top(int argc, char **argv)
{
	struct top top = {.sources = sources_settings_usual(),
			  .span = SPAN_NS,
			  .lock = PTHREAD_MUTEX_INITIALIZER,
			  .closed = -1};
	char host[HOST_NAME_MAX + 1] = "localhost";
	struct fail why = {0}, ended = {0};
	struct buf command = {0};
	int status = parse(argc, argv, &top), signals, err;

	if (status)
		goto out;
	gethostname(host, sizeof(host) - 1);
	cmd_put_command(&command, argc, argv);
	signals = until_block_signals(&why);
	err = signals < 0 ? signals : 0;
	top.closed = eventfd(0, EFD_CLOEXEC);
	if (!err && top.closed < 0)
		err = fail_errno(&why, -errno, NULL, "cannot wait for films");
	if (!err)
		err = load(&top, host, (const char *)command.at, &why);
	if (!err)
		err = recorder_start(top.recorder, &why);
	if (!err)
		err = show(&top, signals, &why);
	until_let_signals_end();
	recorder_stop(top.recorder);
	if (recorder_join(top.recorder, &ended) && !err) {
		err = ended.err;
		why = ended;
	}
	if (err) {
		fail_print(&why);
		status = fail_exit_status(&why);
	}
	recorder_free(top.recorder);
	free_film(&top);
	film_bytes_free(&top.next);
	buf_free(&command);
	if (top.closed >= 0)
		close(top.closed);
	if (signals >= 0)
		close(signals);
out:
	recording_options_free(&top.common);
	return status;
}
