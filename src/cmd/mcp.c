// SPDX-License-Identifier: Apache-2.0
#include "cmd/verb.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/text.h"
#include "mcp/folder.h"
#include "mcp/lines.h"
#include "mcp/mcp.h"

enum {
	OPTION_ALLOW_RECORD = 1,
	DOCTOR_SECONDS = 60,
	START_SECONDS = 60, /* that a recording needs beside its own time */
};

static const struct option long_options[] = {
	{"allow-record", no_argument, NULL, OPTION_ALLOW_RECORD},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static const char help[] =
	"usage: stackcam mcp [OPTION…] [FOLDER|FILM]\n"
	"\n"
	"Answers agents about films by the Model Context Protocol: reads messages from standard\n"
	"input and writes answers to standard output, a line of JSON each, until the input ends.\n"
	"An agent's program starts it. Its tools read the films of a folder (default: the current\n"
	"one) and of the folders in it, or one film, and nothing else. Each answer is shorter "
	"than\n"
	"16 kB, about 4,000 tokens.\n"
	"\n"
	"      --allow-record  also a tool that records, for at most 60 s, a film into the folder\n"
	"  -h, --help          this text\n"
	"\n"
	"Examples:\n"
	"  stackcam mcp /var/tmp/films        the command that an agent's settings name\n"
	"  stackcam mcp --allow-record\n"
	"  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}' | stackcam mcp x.film\n";

struct server {
	struct mcp_films films;
	bool may_record;
	struct mcp_host host;
};

static int list(void *context, FILE *out, struct fail *why)
{
	struct server *s = context;

	return mcp_films_list(&s->films, out, why);
}

static int open_film(void *context, const char *name, struct film **film, struct fail *why)
{
	struct server *s = context;

	return mcp_films_open(&s->films, name, film, why);
}

#define SELF	    "/proc/self/exe"
#define PRINTED_MAX 8192 /* bytes */
#define GRACE_MS    5000 /* from an interrupt to the end of its film */

extern char **environ;

static int spawn(char *const argv[], int out, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int err = posix_spawn_file_actions_init(&actions);

	if (err)
		return -err;
	err = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, out, 1);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, out, 2);
	if (!err)
		err = posix_spawn(pid, SELF, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

/*
 * What a child prints, until it has closed its end: true; false: the time is over. *left_out: bytes
 * that there was no room for.
 */
static bool read_all(int fd, uint64_t until, char *to, size_t *count, size_t *left_out)
{
	char rest[512];

	for (;;) {
		uint64_t now = clock_ns();
		struct pollfd readable = {.fd = fd, .events = POLLIN};
		size_t room = PRINTED_MAX - *count;
		ssize_t n;

		if (now >= until)
			return false;
		if (poll(&readable, 1, (int)((until - now) / 1000000) + 1) <= 0)
			continue;
		n = room ? read(fd, to + *count, room) : read(fd, rest, sizeof(rest));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return true;
		*(room ? count : left_out) += (size_t)n;
	}
}

static void put(char *text, FILE *out)
{
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		text_print_safe(out, line);
		fputc('\n', out);
	}
}

/*
 * Runs this program with other arguments, as what records needs a process of its own, and writes
 * what it prints to out, at most some kB. After that many seconds it is interrupted, as by a user,
 * and killed if it goes on. *status becomes its exit status, 128 and more for a signal. 0 or a
 * negative errno with *why filled.
 */
static int mcp_child_run(char *const argv[], unsigned int seconds, FILE *out, int *status,
			 struct fail *why)
{
	char text[PRINTED_MAX + 1];
	uint64_t until = clock_ns() + seconds * 1000000000ull;
	size_t count = 0, left_out = 0;
	int ends[2], err, state = 0;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return fail_errno(why, -errno, NULL, "cannot run stackcam %s", argv[1]);
	err = spawn(argv, ends[1], &pid);
	close(ends[1]);
	if (err) {
		close(ends[0]);
		return fail_errno(why, err, NULL, "cannot run stackcam %s", argv[1]);
	}
	if (!read_all(ends[0], until, text, &count, &left_out)) {
		kill(pid, SIGINT);
		if (!read_all(ends[0], clock_ns() + GRACE_MS * 1000000ull, text, &count, &left_out))
			kill(pid, SIGKILL);
	}
	close(ends[0]);
	while (waitpid(pid, &state, 0) < 0 && errno == EINTR)
		;
	text[count] = 0;
	put(text, out);
	if (left_out)
		fprintf(out, "[cut: %zu bytes left out]\n", left_out);
	*status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
	return 0;
}

static int doctor(void *context, FILE *out, struct fail *why)
{
	char program[] = "stackcam", verb[] = "doctor";
	char *const argv[] = {program, verb, NULL};
	int status;

	(void)context;
	return mcp_child_run(argv, DOCTOR_SECONDS, out, &status, why);
}

/* A name that no film in the folder has. */
static void name_film(const char *folder, char *name, size_t size, char *path, size_t path_size)
{
	time_t now = time(NULL);
	unsigned int number = 1;
	char stamp[32];
	struct tm utc;

	if (!gmtime_r(&now, &utc) || !strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &utc))
		snprintf(stamp, sizeof(stamp), "%lld", (long long)now);
	do {
		snprintf(name, size, "mcp-%s-%u.film", stamp, number++);
		snprintf(path, path_size, "%s/%s", folder, name);
	} while (!access(path, F_OK));
}

/* Runs a recording that makes the film of that path and name, or fails with its last words. */
static int run_record(char *const argv[], unsigned int seconds, const char *path, const char *name,
		      FILE *out, struct fail *why)
{
	char *said = NULL, *last;
	size_t size = 0;
	FILE *to = open_memstream(&said, &size);
	int status = 0, err = to ? mcp_child_run(argv, seconds, to, &status, why) : -ENOMEM;

	if ((to && fclose(to)) || !to)
		err = fail_errno(why, -ENOMEM, NULL, "cannot record");
	if (!err && !access(path, F_OK)) {
		fprintf(out, "%sfilm: %s\n", said, name);
	} else if (!err) {
		if (size)
			said[size - 1] = 0;
		last = strrchr(said, '\n');
		err = fail(why, -EIO, "the tool doctor says what can be recorded here",
			   "stackcam record made no film, and ended with status %d: %s", status,
			   last ? last + 1 : said);
	}
	free(said);
	return err;
}

static int record(void *context, const struct mcp_recording *recording, FILE *out, struct fail *why)
{
	const struct server *s = context;
	char program[] = "stackcam", verb[] = "record", all[] = "--all";
	char event[300], seconds[32], target[128], output[PATH_MAX + 80], path[PATH_MAX + 64];
	char name[64];
	char *const argv[] = {program, verb, event, seconds, target, output, NULL};

	name_film(s->films.path, name, sizeof(name), path, sizeof(path));
	/* a value stands behind '=', so that it never is an option */
	snprintf(event, sizeof(event), "--event=%s", recording->events);
	snprintf(seconds, sizeof(seconds), "--duration=%u", recording->seconds);
	snprintf(output, sizeof(output), "--output=%s", path);
	snprintf(target, sizeof(target), "%s", all);
	if (recording->pid)
		snprintf(target, sizeof(target), "--pid=%llu", (unsigned long long)recording->pid);
	else if (recording->name)
		snprintf(target, sizeof(target), "--name=%s", recording->name);
	return run_record(argv, recording->seconds + START_SECONDS, path, name, out, why);
}

/* Returns 0 or an exit status. */
static int parse(struct server *s, bool *wants_help, int argc, char **argv)
{
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", long_options, NULL)) != -1) {
		switch (option) {
		case OPTION_ALLOW_RECORD:
			s->may_record = true;
			break;
		case 'h':
			*wants_help = true;
			return 0;
		default:
			return cmd_usage_option("mcp", argv, long_options);
		}
	}
	if (optind + 1 < argc)
		return cmd_usage("mcp", "one folder or film at a time; '%s' is too many",
				 argv[optind + 1]);
	return 0;
}

/* The folder or the film that the tools read. Returns 0 or an exit status. */
static int choose(struct server *s, const char *path)
{
	struct fail why = {0};
	struct stat st;

	if (stat(path, &st)) {
		fail_errno(&why, -errno, NULL, "cannot open '%s'", path);
		fail_print(&why);
		return EXIT_FAILURE;
	}
	s->films = (struct mcp_films){.path = path, .is_film = !S_ISDIR(st.st_mode)};
	if (s->films.is_film && s->may_record)
		return cmd_usage("mcp", "--allow-record needs a folder, not a film");
	return 0;
}

static int answer(void *context, const char *line, size_t size)
{
	const struct server *s = context;
	int err = 0;

	if (line)
		err = mcp_answer(&s->host, line, size, stdout);
	else
		mcp_refuse_length(stdout);
	return err ? err : fflush(stdout) ? -EPIPE : 0;
}

static int serve(struct server *s)
{
	struct mcp_lines lines = {0};
	struct fail why = {0};
	char bytes[16384];
	ssize_t n = 0;
	int err = 0;

	while (!err) {
		n = read(STDIN_FILENO, bytes, sizeof(bytes));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		err = mcp_lines_add(&lines, bytes, (size_t)n, answer, s);
	}
	mcp_lines_free(&lines);
	if (n < 0)
		err = fail_errno(&why, -errno, NULL, "cannot read standard input");
	else if (err)
		fail_errno(&why, err, NULL, "cannot answer");
	if (err)
		fail_print(&why);
	return err ? fail_exit_status(&why) : 0;
}

int cmd_mcp(int argc, char **argv)
{
	struct server s = {.may_record = false};
	bool wants_help = false;
	int status = parse(&s, &wants_help, argc, argv);

	if (!status && wants_help) {
		fputs(help, stdout);
		return 0;
	}
	if (!status)
		status = choose(&s, optind < argc ? argv[optind] : ".");
	if (status)
		return status;
	s.host = (struct mcp_host){
		.context = &s,
		.list = list,
		.open = open_film,
		.doctor = doctor,
		.record = s.may_record ? record : NULL,
	};
	return serve(&s);
}
